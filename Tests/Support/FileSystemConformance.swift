internal import Testing
package import VaultSystem

/// What every `FileSystem` must do alike: run on the real one and on the one in memory.
package struct FileSystemConformance: Sendable, CustomStringConvertible {
    /// A file system with an empty folder to work in.
    package struct Subject: Sendable {
        package let fileSystem: any FileSystem
        package let root: FilePath
        /// Plants a symbolic link; not part of the protocol, because production code never makes one.
        package let link: @Sendable (_ at: FilePath, _ to: FilePath) throws -> Void

        package init(
            fileSystem: any FileSystem, root: FilePath, link: @escaping @Sendable (FilePath, FilePath) throws -> Void
        ) {
            self.fileSystem = fileSystem
            self.root = root
            self.link = link
        }

        func open() throws -> any Directory { try fileSystem.openDirectory(root) }
    }

    package let description: String
    package let check: @Sendable (Subject) throws -> Void

    init(_ description: String, _ check: @escaping @Sendable (Subject) throws -> Void) {
        self.description = description
        self.check = check
    }

    package static let all: [FileSystemConformance] = contents + names + links + renames + handles

    private static let contents: [FileSystemConformance] = [
        FileSystemConformance("written bytes are read back, at the position and at offsets") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o644)
            try file.write(text: "hello ")
            try file.write(text: "world")
            try file.seek(to: 6)
            #expect(try file.read(upTo: 3) == Array("wor".utf8))
            #expect(try file.read(upTo: 30) == Array("ld".utf8))
            #expect(try file.read(upTo: 30) == [])
            #expect(try root.readFileIfPresent(name("a"), limit: 11) == Array("hello world".utf8))
            #expect(try subject.fileSystem.readFile(subject.root.appending(component: "a"), limit: 11).count == 11)
            #expect(try file.status().size == 11)
        },
        FileSystemConformance("a read beyond its limit is refused") { subject in
            let root = try subject.open()
            try root.createFile(name("a"), mode: 0o644).write(text: "12345")
            #expect(throws: Errno.fileTooLarge) { try root.readFileIfPresent(name("a"), limit: 4) }
            #expect(throws: Errno.fileTooLarge) {
                try subject.fileSystem.readFile(subject.root.appending(component: "a"), limit: 4)
            }
            #expect(throws: Errno.fileTooLarge) { try root.openFile(name("a")).readToEnd(limit: 4) }
            #expect(try root.openFile(name("a")).readToEnd(limit: 5).count == 5)
        },
        FileSystemConformance("truncating cuts and extends with zeros") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o644)
            try file.write(text: "12345")
            try file.truncate(to: 2)
            try file.truncate(to: 4)
            #expect(try root.readFileIfPresent(name("a"), limit: 9) == [0x31, 0x32, 0, 0])
        },
        FileSystemConformance("writing past the end leaves zeros between") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o644)
            try file.seek(to: 2)
            try file.write(text: "x")
            #expect(try root.readFileIfPresent(name("a"), limit: 9) == [0, 0, 0x78])
        },
        FileSystemConformance("appending goes to the end, whoever else wrote") { subject in
            let root = try subject.open()
            let first = try root.openForAppending(name("log"), mode: 0o600)
            let second = try root.openForAppending(name("log"), mode: 0o600)
            try first.write(text: "a")
            try second.write(text: "b")
            try first.write(text: "c")
            #expect(try root.readFileIfPresent(name("log"), limit: 9) == Array("abc".utf8))
        },
        FileSystemConformance("a file opened for reading takes no bytes") { subject in
            let root = try subject.open()
            _ = try root.createFile(name("a"), mode: 0o644)
            #expect(throws: Errno.badDescriptor) { try root.openFile(name("a")).write(text: "x") }
        },
        FileSystemConformance("modes are subject to the umask, and set exactly by setMode") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o600)
            #expect(try file.status().mode == 0o600)
            try file.setMode(0o664)
            #expect(try root.status(of: name("a")).mode == 0o664)
            try root.createDirectory(name("d"), mode: 0o700)
            #expect(try root.status(of: name("d")).mode == 0o700)
        },
    ]

    private static let names: [FileSystemConformance] = [
        FileSystemConformance("a name that is not one component is refused") { subject in
            let root = try subject.open()
            for bad: [UInt8] in [[], [0x2E], [0x2E, 0x2E], Array("a/b".utf8), [0x61, 0, 0x62], [0x2F], [0]] {
                #expect(throws: Errno.invalidArgument) { try root.openFile(bad) }
                #expect(throws: Errno.invalidArgument) { try root.status(of: bad) }
                #expect(throws: Errno.invalidArgument) { try root.openDirectory(bad) }
                #expect(throws: Errno.invalidArgument) { try root.createFile(bad, mode: 0o600) }
                #expect(throws: Errno.invalidArgument) { try root.createDirectory(bad, mode: 0o700) }
                #expect(throws: Errno.invalidArgument) { try root.removeFile(bad) }
                #expect(throws: Errno.invalidArgument) { try root.removeDirectory(bad) }
                #expect(throws: Errno.invalidArgument) { try root.openForAppending(bad, mode: 0o600) }
            }
        },
        FileSystemConformance("names of 255 bytes work, of 256 do not") { subject in
            let root = try subject.open()
            _ = try root.createFile([UInt8](repeating: 0x61, count: 255), mode: 0o600)
            #expect(try root.entries().map(\.name.count) == [255])
            #expect(throws: Errno.nameTooLong) {
                try root.createFile([UInt8](repeating: 0x61, count: 256), mode: 0o600)
            }
        },
        FileSystemConformance("names are bytes: no encoding, no normalisation, dots first allowed") { subject in
            let root = try subject.open()
            let wanted: [[UInt8]] = [
                [0xFF, 0xFE], Array("e\u{301}".utf8), Array("\u{E9}".utf8), Array("...".utf8), Array("..a".utf8),
                Array(".a".utf8), Array("a\nb".utf8),
            ]
            for name in wanted { _ = try root.createFile(name, mode: 0o600) }
            let found = try root.entries()
            #expect(Set(found.map(\.name)) == Set(wanted))
            #expect(found.count == wanted.count)
            #expect(found.allSatisfy { $0.kind == .regular })
        },
        FileSystemConformance("an absent name is noSuchFile") { subject in
            let root = try subject.open()
            #expect(throws: Errno.noSuchFile) { try root.openFile(name("a")) }
            #expect(throws: Errno.noSuchFile) { try root.openDirectory(name("a")) }
            #expect(throws: Errno.noSuchFile) { try root.status(of: name("a")) }
            #expect(throws: Errno.noSuchFile) { try root.removeFile(name("a")) }
            #expect(throws: Errno.noSuchFile) { try root.removeDirectory(name("a")) }
            #expect(throws: Errno.noSuchFile) { try root.rename(name("a"), to: root, as: name("b"), replacing: true) }
            #expect(try root.readFileIfPresent(name("a"), limit: 1) == nil)
            #expect(try root.statusIfPresent(of: name("a")) == nil)
            let path = subject.root.appending(component: "a")
            #expect(throws: Errno.noSuchFile) { try subject.fileSystem.openDirectory(path) }
            #expect(throws: Errno.noSuchFile) { try subject.fileSystem.status(of: path, followLinks: true) }
            #expect(throws: Errno.noSuchFile) { try subject.fileSystem.canonicalPath(path) }
        },
        FileSystemConformance("a taken name is fileExists") { subject in
            let root = try subject.open()
            _ = try root.createFile(name("f"), mode: 0o600)
            try root.createDirectory(name("d"), mode: 0o700)
            for taken in [name("f"), name("d")] {
                #expect(throws: Errno.fileExists) { try root.createFile(taken, mode: 0o600) }
                #expect(throws: Errno.fileExists) { try root.createDirectory(taken, mode: 0o700) }
            }
        },
        FileSystemConformance("a file is no directory and a directory is no file") { subject in
            let root = try subject.open()
            _ = try root.createFile(name("f"), mode: 0o600)
            try root.createDirectory(name("d"), mode: 0o700)
            #expect(throws: Errno.notADirectory) { try root.openDirectory(name("f")) }
            #expect(throws: Errno.notADirectory) { try root.removeDirectory(name("f")) }
            #expect(throws: Errno.isADirectory) { try root.removeFile(name("d")) }
            #expect(throws: Errno.isADirectory) { try root.openForAppending(name("d"), mode: 0o600) }
            #expect(throws: Errno.isADirectory) { try root.openFile(name("d")).read(upTo: 1) }
            #expect(throws: Errno.isADirectory) { try root.readFileIfPresent(name("d"), limit: 1) }
            #expect(try root.openFile(name("d")).status().kind == .directory)
        },
        FileSystemConformance("only an empty directory is removed") { subject in
            let root = try subject.open()
            try root.createDirectory(name("d"), mode: 0o700)
            let inner = try root.openDirectory(name("d"))
            _ = try inner.createFile(name("f"), mode: 0o600)
            #expect(throws: Errno.directoryNotEmpty) { try root.removeDirectory(name("d")) }
            try inner.removeFile(name("f"))
            try root.removeDirectory(name("d"))
            #expect(try root.entries() == [])
            // The open handle outlives the name, but takes nothing new.
            #expect(throws: Errno.noSuchFile) { try inner.createFile(name("f"), mode: 0o600) }
        },
        FileSystemConformance("createDirectories makes what is missing and accepts what is there") { subject in
            let path = subject.root.appending(relative: name("a/b/c"))
            try subject.fileSystem.createDirectories(path, mode: 0o755)
            try subject.fileSystem.createDirectories(path, mode: 0o755)
            #expect(try subject.fileSystem.status(of: path, followLinks: false).kind == .directory)
            _ = try subject.open().createFile(name("f"), mode: 0o600)
            #expect(throws: Errno.notADirectory) {
                try subject.fileSystem.createDirectories(subject.root.appending(relative: name("f/x")), mode: 0o755)
            }
            #expect(throws: Errno.notADirectory) {
                try subject.fileSystem.createDirectories(subject.root.appending(relative: name("f")), mode: 0o755)
            }
        },
        FileSystemConformance("removeTree removes everything below and follows no link") { subject in
            let root = try subject.open()
            try subject.fileSystem.createDirectories(subject.root.appending(relative: name("t/u/v")), mode: 0o755)
            _ = try root.openDirectory(name("t")).createFile(name("f"), mode: 0o600)
            try root.createDirectory(name("kept"), mode: 0o700)
            _ = try root.openDirectory(name("kept")).createFile(name("f"), mode: 0o600)
            try subject.link(
                subject.root.appending(relative: name("t/u/l")), subject.root.appending(component: "kept"))
            try root.removeTree(name("t"))
            try root.removeTree(name("t"))
            #expect(try root.entries().map(\.name) == [name("kept")])
            #expect(try root.openDirectory(name("kept")).entries().count == 1)
        },
        FileSystemConformance("removeTree removes folders of any depth") { subject in
            let root = try subject.open()
            try root.createDirectory(name("deep"), mode: 0o700)
            var current = try root.openDirectory(name("deep"))
            for level in 0..<2000 {
                _ = try current.createFile(name("f\(level)"), mode: 0o600)
                try current.createDirectory(name("d"), mode: 0o700)
                current = try current.openDirectory(name("d"))
            }
            try root.removeTree(name("deep"))
            #expect(try root.statusIfPresent(of: name("deep")) == nil)
        },
    ]

    static func name(_ text: String) -> [UInt8] { Array(text.utf8) }
}

extension File {
    /// Writes text at the position.
    package func write(text: String) throws(Errno) {
        try write(Array(text.utf8).span)
    }
}
