import Testing
import VaultCrypto
import VaultFormat
@testable import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("A remote that lies")
final class HostileRemoteTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        setting = try TwoClones()
        first = try setting.create("a")
        try setting.write("content one", to: "one.txt", in: "a")
        try setting.write("content two", to: "sub/two.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
    }

    private func clone(from remote: any Remote, _ name: String = "b") async throws -> CloneResult {
        try await Vault.clone(
            from: remote, key: try setting.cloneKey(CloneOptions()), to: setting.folder.appending(name),
            options: CloneOptions(), environment: setting.environment, observer: SilentObserver())
    }

    private func names() throws -> [String] {
        try setting.folder.open().entries().map { String(decoding: $0.name, as: UTF8.self) }.sorted()
    }

    @Test func `no object that is not what was asked for survives a clone`() async throws {
        let remote = try setting.remote()
        let objects = try await remote.list(.objects)
        for (position, id) in objects.enumerated() {
            let other = objects[(position + 1) % objects.count]
            for lie in [LyingRemote.Lie.flipBit, .truncate, .swapWith(other), .answer([])] {
                let liar = LyingRemote(remote, lies: [id: lie])
                await #expect(throws: VaultError.coded(.objectCorrupt)) { try await clone(from: liar) }
                #expect(try names() == ["a", "remote"])
            }
        }
    }

    @Test func `an object that is not there fails the clone and leaves nothing`() async throws {
        let remote = try setting.remote()
        for id in try await remote.list(.objects) {
            await #expect(throws: VaultError.coded(.objectMissing)) {
                try await clone(from: LyingRemote(remote, lies: [id: .absent]))
            }
            #expect(try names() == ["a", "remote"])
        }
    }

    @Test func `an object of an old version that is not there fails the clone too`() async throws {
        let old = try #require(try first.list(recursive: true).first { $0.kind == .file })
        _ = try first.write(WriteRequest(files: [(old.path, .bytes(Array("another content".utf8)))]))
        let remote = try setting.remote()
        _ = try await first.push(to: remote)
        let liar = LyingRemote(remote, lies: [.object(old.objectID): .absent])
        await #expect(throws: VaultError.coded(.objectMissing)) { try await clone(from: liar) }
        #expect(try names() == ["a", "remote"])
    }

    @Test func `a damaged index or ref is refused, never taken for absent`() async throws {
        let remote = try setting.remote()
        let index = FileID.index(first.ids.index)
        let ref = FileID.ref(first.ids.headRef)
        for id in [index, ref] {
            for lie in [LyingRemote.Lie.flipBit, .truncate, .answer([]), .swapWith(id == ref ? index : ref)] {
                await #expect(throws: VaultError.coded(.refUnreadable)) {
                    try await clone(from: LyingRemote(remote, lies: [id: lie]))
                }
                await #expect(throws: VaultError.coded(.refUnreadable)) {
                    try await first.pull(from: LyingRemote(remote, lies: [id: lie]))
                }
                await #expect(throws: VaultError.coded(.refUnreadable)) {
                    try await first.push(to: LyingRemote(remote, lies: [id: lie]))
                }
            }
        }
        #expect(try names() == ["a", "remote"])
        #expect(try first.status().isClean)
    }

    @Test func `ids that a listing makes up are no reason to trust or to fail`() async throws {
        let made = try (0..<50).map { FileID.object(try ObjectID("obj-cas-imm-\(100_000_000_000 + $0)")) }
        let keys = [FileID.key(try KeyID("key-rnd-imm-0123456789abcdef"))]
        let liar = LyingRemote(
            try setting.remote(), lies: [keys[0]: .answer(Array("-----BEGIN PUBLIC KEY-----".utf8))],
            alsoListing: made + keys)
        let result = try await clone(from: liar)
        #expect(result.files == 2)
        let held = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/bare/keys".utf8)))
        #expect(try !held.entries().contains { $0.name == Array("key-rnd-imm-0123456789abcdef".utf8) })
    }

    @Test func `a ref rolled back to an older state is refused`() async throws {
        let remote = try setting.remote()
        let ref = FileID.ref(first.ids.headRef)
        guard case .content(let old)? = try await remote.readAll([ref])[ref] else { throw Errno.ioError }
        _ = try await clone(from: remote)
        let second = try setting.open("b")
        try setting.write("three", to: "three.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: remote)
        _ = try await second.pull(from: remote)
        let liar = LyingRemote(remote, lies: [ref: .answer(old)])
        await #expect(throws: VaultError.coded(.refRewound)) { try await second.pull(from: liar) }
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.pull(from: liar) }
        let gone = LyingRemote(remote, lies: [ref: .absent])
        await #expect(throws: VaultError.coded(.refRewound)) { try await second.pull(from: gone) }
        #expect(setting.read("three.txt", in: "b") == "three")
    }

    @Test func `a corrupt object is never sent`() async throws {
        try setting.write("new", to: "new.txt", in: "a")
        _ = try first.commit()
        let blob = try #require(try first.list(recursive: true).first { $0.path.description == "new.txt" }).objectID
        let data = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/bare/data".utf8)))
        var bytes = try #require(try data.readFileIfPresent(Array(blob.text.utf8), limit: 1 << 20))
        bytes[20] ^= 1
        try data.removeFile(Array(blob.text.utf8))
        try data.createFile(Array(blob.text.utf8), mode: 0o644).write(bytes.span)
        let before = try await setting.remote().list(.all)
        let error = await #expect(throws: VaultError.coded(.objectCorrupt)) {
            try await first.push(to: try setting.remote())
        }
        #expect(error?.object == blob.text)
        #expect(try await setting.remote().list(.all) == before)
    }

    @Test func `fsck fetches what is missing and replaces what is corrupt`() async throws {
        let remote = try setting.remote()
        _ = try await clone(from: remote)
        let second = try setting.open("b")
        let data = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/bare/data".utf8)))
        for (position, entry) in try data.entries().enumerated() {
            try data.removeFile(entry.name)
            if position.isMultiple(of: 2) { try data.createFile(entry.name, mode: 0o644).write([1, 2, 3].span) }
        }
        #expect(try await !second.fsck().isClean)
        let repaired = try await setting.open("b").fsck(FsckOptions(repair: true), repairFrom: remote)
        #expect(repaired.isClean)
        #expect(!repaired.repaired.isEmpty)
        #expect(try await setting.open("b").fsck().isClean)
        #expect(try setting.open("b").status().isClean)
    }

    @Test func `a pull with nothing new asks once, for index and ref only`() async throws {
        _ = try await clone(from: try setting.remote())
        let second = try setting.open("b")
        let counting = CountingRemote(try setting.remote())
        #expect(try await second.pull(from: counting).outcome == .upToDate)
        let asked: [FileID] = [.ref(second.ids.headRef), .index(second.ids.index)]
        #expect(counting.counted.reads == 1)
        #expect(counting.counted.asked == asked)
        #expect(counting.counted.lists == 0 && counting.counted.applies == 0)
        counting.reset()
        #expect(try await second.push(to: counting).outcome == .upToDate)
        #expect(counting.counted.reads == 1 && counting.counted.applies == 0)
    }

    @Test func `what is held and verified is never asked for again, and refs always are`() async throws {
        _ = try await clone(from: try setting.remote())
        let second = try setting.open("b")
        try setting.write("x", to: "x.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let counting = CountingRemote(try setting.remote())
        _ = try await second.fetch(from: counting)
        let objects = counting.counted.asked.filter { if case .object = $0 { true } else { false } }
        // One commit, the root tree, one blob: the folder `sub` is the one held already.
        #expect(objects.count == 3)
        counting.reset()
        _ = try await second.fetch(from: counting)
        #expect(counting.counted.asked == [.ref(second.ids.headRef), .index(second.ids.index)])
    }
}

@Suite("What a remote says about the vault as a whole")
final class RemotePolicyTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        setting = try TwoClones()
        first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
    }

    /// Replaces the remote's index by a changed one, as another client with the write key does.
    private func changeIndex(_ change: (inout BranchIndex) -> Void) async throws {
        let remote = try setting.remote()
        let snapshot = try await first.snapshot(of: remote, ref: first.ids.headRef)
        var index = try #require(snapshot.index)
        change(&index)
        let bytes = try first.refs.encodeIndex(index, random: SecureRandom())
        let swap = WriteOperation.swap(.index(first.ids.index), expected: snapshot.expectedIndex, new: bytes)
        let outcome = try await remote.apply(
            WriteBatch([swap]), authorization: try first.keys.authorization())
        #expect(outcome == .applied)
    }

    @Test func `the remote's signature policy holds for a clone that has not seen it`() async throws {
        try await changeIndex { $0.features = ["signatures-required"] }
        try setting.write("x", to: "x", in: "a")
        _ = try first.commit(CommitOptions(message: "unsigned", sign: false))
        await #expect(throws: VaultError.coded(.signatureBad)) { try await first.push(to: try setting.remote()) }
    }

    @Test func `a vault of a newer format is neither written nor lowered`() async throws {
        try await changeIndex { $0.format = 3 }
        try setting.write("x", to: "x", in: "a")
        _ = try first.commit()
        await #expect(throws: VaultError.coded(.formatUnsupported)) {
            try await first.push(to: try setting.remote())
        }
        let now = try await first.snapshot(of: try setting.remote(), ref: first.ids.headRef)
        #expect(now.index?.format == 3)
        _ = try await first.fetch(from: try setting.remote())
        #expect(try first.loadState().index.format == 3)
    }

    @Test func `a dry run pulls nothing`() async throws {
        let second = try await setting.clone("b")
        try setting.write("a", to: "a.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        try setting.write("b", to: "b.txt", in: "b")
        let head = try second.commit().commit?.id
        await #expect(throws: VaultError.coded(.remoteMoved)) {
            try await second.push(to: try setting.remote(), PushOptions(pullFirst: true, dryRun: true))
        }
        #expect(try second.status().head == head)
        #expect(setting.read("a.txt", in: "b") == nil)
    }

    @Test func `an object that nothing needs may be junk`() async throws {
        let junk = FileID.object(try ObjectID("obj-cas-imm-0123456789ab"))
        let liar = LyingRemote(try setting.remote(), lies: [junk: .answer([1, 2, 3])], alsoListing: [junk])
        let result = try await Vault.clone(
            from: liar, key: try setting.cloneKey(CloneOptions()), to: setting.folder.appending("b"),
            options: CloneOptions(), environment: setting.environment, observer: SilentObserver())
        #expect(result.commits == 1)
        #expect(try await setting.open("b").fsck().isClean)
    }

    @Test func `a lost ref of the clone is told, and put back by a repair`() async throws {
        try setting.write("work", to: "work.txt", in: "a")
        let head = try #require(try first.commit().commit?.id)
        let refs = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/bare/refs".utf8)))
        try refs.removeFile(Array(try first.loadState().headRef.text.utf8))
        #expect(throws: VaultError.coded(.refUnreadable)) { try first.status() }
        #expect(throws: VaultError.coded(.refUnreadable)) { try first.commit() }
        await #expect(throws: VaultError.coded(.refUnreadable)) { try await first.pull(from: try setting.remote()) }
        #expect(try await !first.fsck().isClean)
        #expect(try await first.fsck(FsckOptions(repair: true), repairFrom: try setting.remote()).isClean)
        #expect(try first.status().head == head)
        #expect(try first.status().isClean)
    }
}

@Suite("Content from outside")
final class ContentTests {
    private let setting: TwoClones
    private let vault: Vault

    init() throws {
        setting = try TwoClones()
        vault = try setting.create("a")
    }

    private func write(_ path: String, _ bytes: [UInt8] = [1]) throws -> WriteResult {
        try vault.write(WriteRequest(files: [(try VaultPath(path), .bytes(bytes))]))
    }

    @Test func `a zip with a key is refused from memory and from a pipe, whatever its size`() throws {
        let zip = setting.folder.appending("b.zip").text
        let large = setting.folder.appending("large.zip").text
        try Shell.run(
            """
            python3 -c "
            import os, zipfile
            for name, size in (('\(zip)', 1), ('\(large)', 9 << 20)):
                with zipfile.ZipFile(name, 'w') as z:
                    z.writestr('content', os.urandom(size))
                    z.writestr('VAULT-KEY', 'x')
            "
            """)
        for name in [zip, large] {
            let bytes = try setting.environment.fileSystem.readFile(FilePath(name), limit: 64 << 20)
            #expect(throws: VaultError.coded(.secretInCommit)) { try write("x.zip", bytes) }
            let folder = try setting.folder.open()
            let file = try folder.openFile(FilePath(name).lastComponent ?? [])
            let linux = try #require(file as? LinuxFile)
            #expect(throws: VaultError.coded(.secretInCommit)) {
                try vault.write(
                    WriteRequest(files: [(try VaultPath("x.zip"), .descriptor(linux.descriptor))]))
            }
        }
        #expect(try vault.list().isEmpty)
    }

    @Test func `a path that can not be written is the caller's error`() throws {
        _ = try write("file")
        _ = try write("folder/inside")
        #expect(throws: VaultError.coded(.refused)) { try write("file/below") }
        #expect(throws: VaultError.coded(.refused)) { try write("folder") }
        #expect(throws: VaultError.coded(.usage)) { try write(String(repeating: "n", count: 741)) }
        let deep = Array(repeating: "d", count: 600).joined(separator: "/")
        #expect(throws: VaultError.coded(.refused)) { try write(deep) }
        #expect(try vault.list(recursive: true).map(\.path.description) == ["file", "folder/inside"])
    }

    @Test func `entries of absurd size are refused by name, not by a trap`() throws {
        let blob = try write("f").blobs[0].blob
        let entries = ["one", "two"].map { name in
            TreeEntry(
                name: Array(name.utf8),
                target: .file(
                    FileEntry(
                        blobID: blob, size: .max, contentHash: nil, contentType: "", isLarge: false)))
        }
        try Forger(vault: vault).head(entries)
        #expect(try vault.status().changes.deleted.count == 2)
    }

    @Test(.timeLimit(.minutes(10))) func `trees that double at every level are refused`() async throws {
        let blob = try write("f").blobs[0].blob
        do {
            let lock = try vault.lock()
            let batch = vault.newBatch(width: .short, scratch: lock.scratch)
            let forger = Forger(vault: vault)
            let leaf = TreeEntry(
                name: [0x66],
                target: .file(
                    FileEntry(blobID: blob, size: 1, contentHash: nil, contentType: "", isLarge: false)))
            var id = try forger.tree([leaf], batch: batch)
            for _ in 0..<40 {
                id = try forger.tree(
                    [
                        TreeEntry(name: [0x61], target: .folder(id)), TreeEntry(name: [0x62], target: .folder(id)),
                    ], batch: batch)
            }
            _ = try forger.commit(id, batch: batch, scratch: lock.scratch)
        }
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.status() }
        // What does not flatten the tree still works.
        #expect(try vault.list().count == 2)
        #expect(try await vault.fsck(FsckOptions(quick: true)).missing.isEmpty)
    }
}
