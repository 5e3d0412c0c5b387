import Testing
import VaultSystem
import VaultTestSupport

@Suite("An atomic write leaves the old file or the new one")
struct AtomicFileTests {
    private let memory = InMemoryFileSystem()

    private func prepare() throws {
        try memory.createDirectories("/store/tmp", mode: 0o700)
        try memory.writeFile("/store/file", Array("old".utf8))
        try memory.openDirectory("/store").syncFileSystem()
    }

    private func replace(
        on fileSystem: any FileSystem, durability: AtomicFile.Durability = .contentAndName, replacing: Bool = true
    ) throws {
        let target = try fileSystem.openDirectory("/store")
        try AtomicFile.write(
            Array("new bytes".utf8).span, as: Array("file".utf8), in: target,
            staging: try target.openDirectory(Array("tmp".utf8)), temporaryName: Array("t".utf8), mode: 0o640,
            replacing: replacing, durability: durability)
    }

    @Test("with the exact mode, and nothing left behind")
    func success() throws {
        try prepare()
        try replace(on: memory)
        #expect(memory.contents == ["/store/file": Array("new bytes".utf8), "/store/tmp/": nil])
        #expect(try memory.status(of: "/store/file", followLinks: false).mode == 0o640)
    }

    @Test("a taken name is refused when nothing may be replaced")
    func exclusive() throws {
        try prepare()
        #expect(throws: Errno.fileExists) { try replace(on: memory, replacing: false) }
        #expect(memory.contents == ["/store/file": Array("old".utf8), "/store/tmp/": nil])
    }

    @Test("and a new file has no other name before its own")
    func new() throws {
        try prepare()
        func make(_ name: String, on fileSystem: any FileSystem) throws {
            try AtomicFile.writeNew(
                Array("key".utf8).span, as: Array(name.utf8), in: try fileSystem.openDirectory("/store"),
                temporaryName: Array("t".utf8), mode: 0o600)
        }
        try make("key", on: memory)
        #expect(memory.contents["/store/key"] == Array("key".utf8))
        #expect(try memory.status(of: "/store/key", followLinks: false).mode == 0o600)
        #expect(throws: Errno.fileExists) { try make("file", on: memory) }
        // Stopped anywhere, as by a kill: no call that would clean up works either.
        let faults = FaultFileSystem(memory)
        var atCall = 0
        repeat {
            atCall += 1
            faults.set(FaultFileSystem.Fault(atCall: atCall, isSticky: true, writesHalf: true))
            _ = Result { try make("second", on: faults) }
            let found = memory.contents.keys.filter { !["/store/file", "/store/key", "/store/tmp/"].contains($0) }
            #expect(found.isEmpty || (found == ["/store/second"] && memory.contents[found[0]] == Array("key".utf8)))
            if !found.isEmpty { try memory.openDirectory("/store").removeFile(Array("second".utf8)) }
        } while faults.hasFired
        #expect(memory.contents["/store/file"] == Array("old".utf8))
    }

    @Test("whichever call fails", arguments: [false, true])
    func faults(isSticky: Bool) throws {
        let faults = FaultFileSystem(memory)
        var atCall = 0
        while true {
            atCall += 1
            try prepare()
            faults.set(FaultFileSystem.Fault(atCall: atCall, isSticky: isSticky, writesHalf: true))
            let result = Result { try replace(on: faults) }
            guard faults.hasFired else { break }
            #expect(throws: Errno.ioError) { try result.get() }
            let content = memory.contents["/store/file"]
            #expect(content == Array("old".utf8) || content == Array("new bytes".utf8))
            if !isSticky, content == Array("old".utf8) {
                #expect(memory.contents.keys.contains("/store/tmp/"), "something was left in tmp")
            }
            try memory.openDirectory("/store/tmp").removeContents()
        }
        // open, open, create, write, mode, sync, rename, sync
        #expect(atCall == 9)
    }

    @Test("after a power cut as far as the durability promises")
    func powerCut() throws {
        try prepare()
        try replace(on: memory, durability: .contentAndName)
        #expect(memory.afterPowerCut().contents["/store/file"] == Array("new bytes".utf8))
        try prepare()
        try replace(on: memory, durability: .content)
        #expect(memory.afterPowerCut().contents["/store/file"] == Array("old".utf8))
    }
}

@Suite("Fault file systems fail when told")
struct FaultFileSystemTests {
    @Test("once, at the n-th call of the kinds named")
    func once() throws {
        let faults = FaultFileSystem(InMemoryFileSystem())
        let root = try faults.openDirectory("/")
        faults.set(FaultFileSystem.Fault(atCall: 2, error: .noSpace, kinds: [.createFile]))
        _ = try root.createFile(Array("a".utf8), mode: 0o600)
        #expect(throws: Errno.noSpace) { try root.createFile(Array("b".utf8), mode: 0o600) }
        _ = try root.createFile(Array("c".utf8), mode: 0o600)
        try root.sync()
        #expect(faults.counts == [.createFile: 3, .syncDirectory: 1])
        #expect(faults.count(FileSystemCall.syncs) == 1)
        #expect(try root.entries().count == 2)
    }

    @Test("for ever from the n-th call on when sticky")
    func sticky() throws {
        let faults = FaultFileSystem(InMemoryFileSystem())
        let root = try faults.openDirectory("/")
        faults.set(FaultFileSystem.Fault(atCall: 1, isSticky: true))
        #expect(throws: Errno.ioError) { try root.createFile(Array("a".utf8), mode: 0o600) }
        #expect(throws: Errno.ioError) { try root.sync() }
        faults.set(nil)
        try root.sync()
    }

    @Test("a full disk takes what fits, and frees what is removed")
    func fullDisk() throws {
        let memory = InMemoryFileSystem(capacity: 10)
        let root = try memory.openDirectory("/")
        do {
            let file = try root.createFile(Array("a".utf8), mode: 0o600)
            try file.write(text: "123456")
            #expect(throws: Errno.noSpace) { try file.write(text: "123456") }
            #expect(try file.status().size == 10)
            #expect(try root.availableSpace().bytes == 0)
            try root.removeFile(Array("a".utf8))
            #expect(memory.usedBytes == 10)
        }
        #expect(memory.usedBytes == 0)
    }

    @Test("a power cut loses names and contents that were not synced")
    func powerCut() throws {
        let memory = InMemoryFileSystem()
        let root = try memory.openDirectory("/")
        try root.createFile(Array("no-sync".utf8), mode: 0o600).write(text: "x")
        #expect(memory.afterPowerCut().contents == [:])
        try root.sync()
        #expect(memory.afterPowerCut().contents == ["/no-sync": []])
        #expect(memory.afterKill().contents == ["/no-sync": [0x78]])
        let file = try root.createFile(Array("content".utf8), mode: 0o600)
        try file.write(text: "y")
        try file.sync()
        #expect(memory.afterPowerCut().contents == ["/no-sync": []])
        try root.syncFileSystem()
        try file.write(text: "z")
        #expect(memory.afterPowerCut().contents == ["/no-sync": [0x78], "/content": [0x79]])
    }

    @Test("a file that passes through a name has none in the end, whoever removes that name", arguments: 1...3)
    func passedName(call: Int) throws {
        let memory = InMemoryFileSystem()
        let faults = FaultFileSystem(memory)
        faults.set(.init(atCall: 1, error: .notSupported, kinds: [.createUnnamedFile]))
        let name = Array("t".utf8)
        faults.intervene(atCall: call + 1) { try? memory.openDirectory("/").removeTree(name) }
        let file = try faults.openDirectory("/").createUnnamedFile(passing: name, mode: 0o600)
        try file.write(text: "kept")
        try file.seek(to: 0)
        #expect(try file.read(upTo: 8) == Array("kept".utf8))
        #expect(memory.contents == [:])
    }
}
