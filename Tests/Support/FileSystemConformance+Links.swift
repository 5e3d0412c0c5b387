internal import Testing
internal import VaultSystem

extension FileSystemConformance {
    static let links: [FileSystemConformance] = [
        FileSystemConformance("below an opened directory no link is followed") { subject in
            let root = try subject.open()
            _ = try root.createFile(name("file"), mode: 0o600)
            try root.createDirectory(name("folder"), mode: 0o700)
            try subject.link(subject.root.appending(component: "to-file"), FilePath("file"))
            try subject.link(subject.root.appending(component: "to-folder"), FilePath("folder"))
            try subject.link(subject.root.appending(component: "dangling"), FilePath("nowhere"))
            for link in ["to-file", "to-folder", "dangling"].map(name) {
                #expect(try root.status(of: link).kind == .symbolicLink)
                #expect(throws: Errno.tooManyLinks) { try root.openFile(link) }
                #expect(throws: Errno.tooManyLinks) { try root.openForAppending(link, mode: 0o600) }
                #expect(throws: Errno.fileExists) { try root.createFile(link, mode: 0o600) }
                #expect(throws: Errno.fileExists) { try root.createDirectory(link, mode: 0o700) }
                let refusal = #expect(throws: Errno.self) { try root.openDirectory(link) }
                #expect(refusal == .notADirectory || refusal == .tooManyLinks)
            }
            #expect(try root.statusIfPresent(of: name("nowhere")) == nil)
            #expect(try root.entries().filter { $0.kind == .symbolicLink }.count == 3)
        },
        FileSystemConformance("removing a link leaves its target") { subject in
            let root = try subject.open()
            _ = try root.createFile(name("file"), mode: 0o600)
            try subject.link(subject.root.appending(component: "link"), FilePath("file"))
            try root.removeFile(name("link"))
            #expect(try root.entries().map(\.name) == [name("file")])
        },
        FileSystemConformance("renaming over a link replaces the link") { subject in
            let root = try subject.open()
            try root.createFile(name("outside"), mode: 0o600).write(text: "old")
            try subject.link(subject.root.appending(component: "link"), FilePath("outside"))
            try root.createFile(name("new"), mode: 0o600).write(text: "new")
            try root.rename(name("new"), to: root, as: name("link"), replacing: true)
            #expect(try root.readFileIfPresent(name("link"), limit: 9) == Array("new".utf8))
            #expect(try root.readFileIfPresent(name("outside"), limit: 9) == Array("old".utf8))
        },
        FileSystemConformance("paths of the user follow links") { subject in
            let root = try subject.open()
            try root.createDirectory(name("folder"), mode: 0o700)
            let folder = try root.openDirectory(name("folder"))
            try folder.createFile(name("f"), mode: 0o600).write(text: "x")
            let link = subject.root.appending(component: "link")
            try subject.link(link, FilePath("folder"))
            #expect(try subject.fileSystem.openDirectory(link).entries().map(\.name) == [name("f")])
            #expect(try subject.fileSystem.readFile(link.appending(component: "f"), limit: 1) == [0x78])
            #expect(try subject.fileSystem.status(of: link, followLinks: true).kind == .directory)
            #expect(try subject.fileSystem.status(of: link, followLinks: false).kind == .symbolicLink)
            let canonical = try subject.fileSystem.canonicalPath(subject.root)
            #expect(
                try subject.fileSystem.canonicalPath(link.appending(relative: name("../folder/./f")))
                    == canonical.appending(relative: name("folder/f")))
        },
        FileSystemConformance("links in a circle are refused") { subject in
            try subject.link(subject.root.appending(component: "a"), FilePath("b"))
            try subject.link(subject.root.appending(component: "b"), FilePath("a"))
            let path = subject.root.appending(component: "a")
            #expect(throws: Errno.tooManyLinks) { try subject.fileSystem.openDirectory(path) }
            #expect(throws: Errno.tooManyLinks) { try subject.fileSystem.canonicalPath(path) }
        },
        FileSystemConformance("a path with NUL or without bytes is refused") { subject in
            #expect(throws: Errno.invalidArgument) { try subject.fileSystem.openDirectory(FilePath(bytes: [0x2F, 0])) }
            #expect(throws: Errno.noSuchFile) { try subject.fileSystem.openDirectory(FilePath(bytes: [])) }
        },
    ]

    static let renames: [FileSystemConformance] = [
        FileSystemConformance("a rename replaces a file when asked and refuses otherwise") { subject in
            let root = try subject.open()
            try root.createFile(name("a"), mode: 0o600).write(text: "new")
            try root.createFile(name("b"), mode: 0o600).write(text: "old")
            #expect(throws: Errno.fileExists) { try root.rename(name("a"), to: root, as: name("b"), replacing: false) }
            #expect(try root.readFileIfPresent(name("b"), limit: 9) == Array("old".utf8))
            try root.rename(name("a"), to: root, as: name("b"), replacing: true)
            #expect(try root.readFileIfPresent(name("b"), limit: 9) == Array("new".utf8))
            #expect(try root.entries().count == 1)
            try root.rename(name("b"), to: root, as: name("c"), replacing: false)
            #expect(try root.entries().map(\.name) == [name("c")])
        },
        FileSystemConformance("a rename moves between directories and keeps inode and content time") { subject in
            let root = try subject.open()
            try root.createDirectory(name("d"), mode: 0o700)
            let target = try root.openDirectory(name("d"))
            try root.createFile(name("a"), mode: 0o640).write(text: "x")
            let before = try root.status(of: name("a"))
            try root.rename(name("a"), to: target, as: name("b"), replacing: true)
            let after = try target.status(of: name("b"))
            #expect(after.inode == before.inode)
            #expect(after.modifiedNs == before.modifiedNs)
            #expect(after.mode == before.mode)
            #expect(try root.entries().map(\.name) == [name("d")])
        },
        FileSystemConformance("files and directories do not replace each other") { subject in
            let root = try subject.open()
            _ = try root.createFile(name("f"), mode: 0o600)
            try root.createDirectory(name("d"), mode: 0o700)
            try root.createDirectory(name("full"), mode: 0o700)
            _ = try root.openDirectory(name("full")).createFile(name("x"), mode: 0o600)
            #expect(throws: Errno.isADirectory) { try root.rename(name("f"), to: root, as: name("d"), replacing: true) }
            #expect(throws: Errno.notADirectory) {
                try root.rename(name("d"), to: root, as: name("f"), replacing: true)
            }
            #expect(throws: Errno.directoryNotEmpty) {
                try root.rename(name("d"), to: root, as: name("full"), replacing: true)
            }
            try root.rename(name("full"), to: root, as: name("d"), replacing: true)
            #expect(try root.openDirectory(name("d")).entries().map(\.name) == [name("x")])
        },
        FileSystemConformance("a directory does not move into itself") { subject in
            let root = try subject.open()
            try root.createDirectory(name("d"), mode: 0o700)
            let inner = try root.openDirectory(name("d"))
            #expect(throws: Errno.invalidArgument) {
                try root.rename(name("d"), to: inner, as: name("e"), replacing: true)
            }
        },
        FileSystemConformance("a directory is renamed with what it holds, without replacing too") { subject in
            let root = try subject.open()
            try root.createDirectory(name("d"), mode: 0o700)
            _ = try root.openDirectory(name("d")).createFile(name("x"), mode: 0o600)
            try root.createDirectory(name("taken"), mode: 0o700)
            #expect(throws: Errno.fileExists) {
                try root.rename(name("d"), to: root, as: name("taken"), replacing: false)
            }
            try root.rename(name("d"), to: root, as: name("e"), replacing: false)
            #expect(try root.openDirectory(name("e")).entries().map(\.name) == [name("x")])
        },
    ]

    static let handles: [FileSystemConformance] = [
        FileSystemConformance("an unnamed file appears complete under its name, or not at all") { subject in
            let root = try subject.open()
            let file: any File
            do throws(Errno) {
                file = try root.createUnnamedFile(mode: 0o600)
            } catch {
                // The file system behind the temporary folder may have none.
                #expect(error == .notSupported)
                return
            }
            try file.write(text: "whole")
            #expect(try root.entries() == [])
            #expect(try file.status().linkCount == 0)
            try root.link(file, as: name("a"))
            #expect(try root.readFileIfPresent(name("a"), limit: 9) == Array("whole".utf8))
            #expect(try file.status().linkCount == 1)
            let second = try root.createUnnamedFile(mode: 0o600)
            #expect(throws: Errno.fileExists) { try root.link(second, as: name("a")) }
        },
        FileSystemConformance("an open file outlives its name") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o600)
            try file.write(text: "x")
            try root.removeFile(name("a"))
            try file.write(text: "y")
            try file.seek(to: 0)
            #expect(try file.read(upTo: 9) == Array("xy".utf8))
            #expect(try file.status().linkCount == 0)
        },
        FileSystemConformance("a new file at an old name has another inode while the old one is open") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o600)
            try root.createFile(name("b"), mode: 0o600).write(text: "b")
            try root.rename(name("b"), to: root, as: name("a"), replacing: true)
            #expect(try file.status().inode != root.status(of: name("a")).inode)
            #expect(try file.status().device == root.status().device)
        },
        FileSystemConformance("a write moves the change time") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o600)
            let before = try file.status()
            #expect(before.kind == .regular)
            #expect(before.modifiedNs > 1_000_000_000_000_000_000)
            try file.write(text: "x")
            #expect(try file.status().changedNs >= before.changedNs)
            #expect(try file.status().modifiedNs >= before.modifiedNs)
        },
        FileSystemConformance("a lock is one handle's until it is given back or the handle goes") { subject in
            let root = try subject.open()
            let first = try root.openForAppending(name("lock"), mode: 0o600)
            let second = try root.openForAppending(name("lock"), mode: 0o600)
            #expect(try first.lock(wait: false))
            #expect(try first.lock(wait: false))
            #expect(try !second.lock(wait: false))
            try first.unlock()
            #expect(try second.lock(wait: true))
            #expect(try !first.lock(wait: false))
            do {
                let third = try root.openForAppending(name("other"), mode: 0o600)
                #expect(try third.lock(wait: true))
            }
            #expect(try root.openForAppending(name("other"), mode: 0o600).lock(wait: false))
        },
        FileSystemConformance("a waiting lock gets its turn") { subject in
            let root = try subject.open()
            let order = Locked<[Int]>([])
            try WorkerPool(threads: 4).forEach(count: 4) { number in
                let file = try root.openForAppending(name("lock"), mode: 0o600)
                #expect(try file.lock(wait: true))
                order.withLock { $0.append(number) }
                try file.unlock()
            }
            #expect(order.withLock { $0.sorted() } == [0, 1, 2, 3])
        },
        FileSystemConformance("one exclusive creation of a name succeeds, whatever races") { subject in
            let root = try subject.open()
            for round in 0..<20 {
                let wins = Locked(0)
                try WorkerPool(threads: 4).forEach(count: 4) { number in
                    let temporary = name("t\(number)")
                    try root.createFile(temporary, mode: 0o600).write(text: "\(number)")
                    do throws(Errno) {
                        try root.rename(temporary, to: root, as: name("r\(round)"), replacing: false)
                        wins.withLock { $0 += 1 }
                    } catch {
                        #expect(error == .fileExists)
                        try root.removeFile(temporary)
                    }
                }
                #expect(wins.withLock { $0 } == 1)
            }
        },
        FileSystemConformance("syncing works on files, directories and the whole") { subject in
            let root = try subject.open()
            let file = try root.createFile(name("a"), mode: 0o600)
            try file.write(text: "x")
            try file.sync()
            try root.sync()
            try root.syncFileSystem()
            #expect(try root.availableSpace().bytes > 0)
            #expect(try root.availableSpace().inodes > 0)
        },
    ]
}
