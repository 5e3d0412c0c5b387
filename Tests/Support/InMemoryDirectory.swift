internal import VaultSystem

/// An open directory of an `InMemoryFileSystem`.
final class InMemoryDirectory: Directory {
    private let fileSystem: InMemoryFileSystem
    private let inode: UInt64

    /// Takes over one count of the node's `handles`.
    init(_ fileSystem: InMemoryFileSystem, _ inode: UInt64) {
        self.fileSystem = fileSystem
        self.inode = inode
    }

    deinit {
        fileSystem.tree.withLock { tree in
            tree.nodes[inode]?.handles -= 1
            tree.release(inode)
        }
    }

    func entries() throws(Errno) -> [DirectoryEntry] {
        try fileSystem.tree.withLock { tree throws(Errno) in
            try tree.node(inode).entries.map { name, child in
                DirectoryEntry(name: name, kind: tree.nodes[child]?.kind ?? .unknown)
            }
        }
    }

    func status() throws(Errno) -> FileStatus {
        try fileSystem.tree.withLock { tree throws(Errno) in try tree.status(inode) }
    }

    func status(of name: [UInt8]) throws(Errno) -> FileStatus {
        try fileSystem.tree.withLock { tree throws(Errno) in try tree.status(tree.entry(name, in: inode)) }
    }

    func openDirectory(_ name: [UInt8]) throws(Errno) -> any Directory {
        let found = try fileSystem.tree.withLock { tree throws(Errno) in
            let found = try tree.entry(name, in: inode)
            guard try tree.node(found).kind == .directory else { throw .notADirectory }
            tree.nodes[found]?.handles += 1
            return found
        }
        return InMemoryDirectory(fileSystem, found)
    }

    func openFile(_ name: [UInt8]) throws(Errno) -> any File {
        let (found, handle) = try fileSystem.tree.withLock { tree throws(Errno) in
            let found = try tree.entry(name, in: inode)
            guard try tree.node(found).kind != .symbolicLink else { throw .tooManyLinks }
            return (found, Self.open(found, in: &tree))
        }
        return InMemoryFile(fileSystem, found, handle: handle, access: .read)
    }

    func createFile(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        let now = fileSystem.clock.nowNs
        let (made, handle) = try fileSystem.tree.withLock { tree throws(Errno) in
            try checkFree(name, in: tree)
            return makeFile(name, mode: mode, in: &tree, nowNs: now)
        }
        return InMemoryFile(fileSystem, made, handle: handle, access: .readAndWrite)
    }

    func createUnnamedFile(mode: UInt32) throws(Errno) -> any File {
        let now = fileSystem.clock.nowNs
        let (made, handle) = fileSystem.tree.withLock { tree in
            let made = tree.add(.file([]), mode: mode & ~fileSystem.umask, nowNs: now)
            return (made, Self.open(made, in: &tree))
        }
        return InMemoryFile(fileSystem, made, handle: handle, access: .readAndWrite)
    }

    func link(_ file: any File, as name: [UInt8]) throws(Errno) {
        guard let file = file as? InMemoryFile else { throw .invalidArgument }
        let now = fileSystem.clock.nowNs
        try fileSystem.tree.withLock { tree throws(Errno) in
            try checkFree(name, in: tree)
            tree.setEntry(name, in: inode, to: file.inode, nowNs: now)
        }
    }

    func openForAppending(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        let now = fileSystem.clock.nowNs
        let (found, handle) = try fileSystem.tree.withLock { tree throws(Errno) in
            try InMemoryTree.check(name)
            guard let found = tree.standing(name, in: try tree.node(inode)) else {
                try checkFree(name, in: tree)
                return makeFile(name, mode: mode, in: &tree, nowNs: now)
            }
            switch try tree.node(found).kind {
            case .symbolicLink: throw .tooManyLinks
            case .directory: throw .isADirectory
            default: return (found, Self.open(found, in: &tree))
            }
        }
        return InMemoryFile(fileSystem, found, handle: handle, access: .append)
    }

    func rename(
        _ name: [UInt8], to target: any Directory, as newName: [UInt8], replacing: Bool
    ) throws(Errno) {
        guard let target = target as? InMemoryDirectory, target.fileSystem === fileSystem else { throw .crossDevice }
        let now = fileSystem.clock.nowNs
        try fileSystem.tree.withLock { tree throws(Errno) in
            try tree.rename(name, in: inode, to: newName, in: target.inode, replacing: replacing, nowNs: now)
        }
    }

    func createDirectory(_ name: [UInt8], mode: UInt32) throws(Errno) {
        let now = fileSystem.clock.nowNs
        try fileSystem.tree.withLock { tree throws(Errno) in
            try checkFree(name, in: tree)
            let made = tree.add(.directory([:]), mode: mode & ~fileSystem.umask, nowNs: now)
            tree.setEntry(name, in: inode, to: made, nowNs: now)
        }
    }

    func removeFile(_ name: [UInt8]) throws(Errno) {
        let now = fileSystem.clock.nowNs
        try fileSystem.tree.withLock { tree throws(Errno) in
            let found = try tree.entry(name, in: inode)
            guard try tree.node(found).kind != .directory else { throw .isADirectory }
            tree.setEntry(name, in: inode, to: nil, nowNs: now)
            tree.release(found)
        }
    }

    func removeDirectory(_ name: [UInt8]) throws(Errno) {
        let now = fileSystem.clock.nowNs
        try fileSystem.tree.withLock { tree throws(Errno) in
            let found = try tree.entry(name, in: inode)
            let node = try tree.node(found)
            guard node.kind == .directory else { throw .notADirectory }
            guard node.entries.isEmpty else { throw .directoryNotEmpty }
            tree.setEntry(name, in: inode, to: nil, nowNs: now)
            tree.release(found)
        }
    }

    func sync() throws(Errno) {
        try fileSystem.tree.withLock { tree throws(Errno) in tree.durable[inode] = try tree.node(inode) }
    }

    func syncFileSystem() throws(Errno) {
        fileSystem.tree.withLock { $0.durable = $0.nodes }
    }

    func availableSpace() throws(Errno) -> (bytes: Int64, inodes: Int64) {
        fileSystem.tree.withLock { ($0.capacity - $0.usedBytes, Int64.max) }
    }

    /// Refuses a taken name, and any name in a directory that was removed.
    private func checkFree(_ name: [UInt8], in tree: InMemoryTree) throws(Errno) {
        try InMemoryTree.check(name)
        let node = try tree.node(inode)
        guard node.names > 0 else { throw .noSuchFile }
        guard tree.standing(name, in: node) == nil else { throw .fileExists }
    }

    private func makeFile(_ name: [UInt8], mode: UInt32, in tree: inout InMemoryTree, nowNs: Int64) -> (UInt64, UInt64)
    {
        let made = tree.add(.file([]), mode: mode & ~fileSystem.umask, nowNs: nowNs)
        tree.setEntry(name, in: inode, to: made, nowNs: nowNs)
        return (made, Self.open(made, in: &tree))
    }

    /// Counts a new handle and gives its number, which owns locks.
    private static func open(_ inode: UInt64, in tree: inout InMemoryTree) -> UInt64 {
        tree.nodes[inode]?.handles += 1
        tree.nextHandle += 1
        return tree.nextHandle
    }
}
