package import VaultSystem

/// A file system in memory with the rules of Linux, as far as the protocols tell of them.
///
/// Permission bits are kept but not enforced. Everything is under one lock, so it is as consistent as a real one.
package final class InMemoryFileSystem: FileSystem {
    let tree: Locked<InMemoryTree>
    let clock: any Clock
    let umask: UInt32

    package init(
        clock: any Clock = TestClock(stepNs: 1), umask: UInt32 = 0o022, capacity: Int64 = .max,
        foldsNames: Bool = false
    ) {
        self.clock = clock
        self.umask = umask
        var tree = InMemoryTree(nowNs: clock.nowNs)
        tree.capacity = capacity
        tree.foldsNames = foldsNames
        self.tree = Locked(tree)
    }

    private init(_ tree: consuming InMemoryTree, like other: InMemoryFileSystem) {
        self.clock = other.clock
        self.umask = other.umask
        self.tree = Locked(tree)
    }

    // MARK: FileSystem

    package func openDirectory(_ path: FilePath) throws(Errno) -> any Directory {
        let inode = try tree.withLock { tree throws(Errno) in
            let inode = try Self.resolve(path, in: tree, followLast: true)
            guard try tree.node(inode).kind == .directory else { throw .notADirectory }
            tree.nodes[inode]?.handles += 1
            return inode
        }
        return InMemoryDirectory(self, inode)
    }

    package func createDirectory(_ path: FilePath, mode: UInt32) throws(Errno) {
        try makeNode(at: path, .directory([:]), mode: mode & ~umask)
    }

    package func status(of path: FilePath, followLinks: Bool) throws(Errno) -> FileStatus {
        try tree.withLock { tree throws(Errno) in
            try tree.status(try Self.resolve(path, in: tree, followLast: followLinks))
        }
    }

    package func canonicalPath(_ path: FilePath) throws(Errno) -> FilePath {
        try tree.withLock { tree throws(Errno) in
            let inode = try Self.resolve(path, in: tree, followLast: true)
            guard let found = Self.path(of: inode, from: InMemoryTree.root, in: tree, behind: []) else {
                throw .noSuchFile
            }
            return FilePath(bytes: found.isEmpty ? [0x2F] : found)
        }
    }

    package func currentDirectory() throws(Errno) -> FilePath { FilePath("/") }

    package func readFile(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        let node = try tree.withLock { tree throws(Errno) in
            try tree.node(try Self.resolve(path, in: tree, followLast: true))
        }
        guard case .file(let bytes) = node.content else { throw .isADirectory }
        if bytes.count > limit { throw .fileTooLarge }
        return bytes
    }

    // MARK: For tests

    /// Gives a file or folder to another user.
    package func setOwner(_ owner: UInt32, of path: FilePath) throws(Errno) {
        try tree.withLock { tree throws(Errno) in
            tree.nodes[try Self.resolve(path, in: tree, followLast: true)]?.owner = owner
        }
    }

    /// Plants a symbolic link.
    package func createLink(_ path: FilePath, to target: FilePath) throws(Errno) {
        try makeNode(at: path, .link(target.bytes), mode: 0o777)
    }

    /// Creates or replaces a file.
    package func writeFile(_ path: FilePath, _ bytes: [UInt8], mode: UInt32 = 0o644) throws(Errno) {
        let now = clock.nowNs
        try tree.withLock { tree throws(Errno) in
            guard let inode = try? Self.resolve(path, in: tree, followLast: true) else { return }
            guard try tree.node(inode).kind == .regular else { throw .isADirectory }
            try tree.truncate(inode, to: 0, nowNs: now)
            _ = try tree.write(bytes, to: inode, at: 0, nowNs: now)
        }
        guard (try? status(of: path, followLinks: true)) == nil else { return }
        try makeNode(at: path, .file(bytes), mode: mode)
    }

    /// Every file's path and content, directories without entries as nil; for comparing states.
    package var contents: [String: [UInt8]?] {
        tree.withLock { tree in
            var found: [String: [UInt8]?] = [:]
            Self.collect(InMemoryTree.root, in: tree, path: "", into: &found)
            return found
        }
    }

    /// A separate file system in this one's state, all handles and locks gone: what the next process finds after
    /// this one was killed.
    package func afterKill() -> InMemoryFileSystem {
        InMemoryFileSystem(tree.withLock { Self.withoutHandles($0, nodes: $0.nodes) }, like: self)
    }

    /// A separate file system that holds only what was made durable: the harshest power cut.
    package func afterPowerCut() -> InMemoryFileSystem {
        InMemoryFileSystem(
            tree.withLock { tree in
                var nodes = tree.durable
                for (inode, node) in tree.durable {
                    // A durable name whose file was never synced leads to an empty file.
                    for child in node.entries.values where nodes[child] == nil {
                        guard var lost = tree.nodes[child] else { continue }
                        switch lost.content {
                        case .file: lost.content = .file([])
                        case .directory: lost.content = .directory([:])
                        case .link: break
                        }
                        nodes[child] = lost
                    }
                    nodes[inode]?.handles = 0
                }
                return Self.withoutHandles(tree, nodes: nodes)
            }, like: self)
    }

    /// Sets how many bytes fit into all files together.
    package func setCapacity(_ bytes: Int64) {
        tree.withLock { $0.capacity = bytes }
    }

    package var usedBytes: Int64 { tree.withLock { $0.usedBytes } }

    // MARK: Paths

    private func makeNode(at path: FilePath, _ content: InMemoryTree.Node.Content, mode: UInt32) throws(Errno) {
        let now = clock.nowNs
        try tree.withLock { tree throws(Errno) in
            guard let name = path.lastComponent else { throw .fileExists }
            let parent = try Self.resolve(path.parent, in: tree, followLast: true)
            guard try tree.node(parent).kind == .directory else { throw .notADirectory }
            if name == [0x2E] || name == [0x2E, 0x2E] { throw .fileExists }
            try InMemoryTree.check(name)
            if try tree.node(parent).entries[name] != nil { throw .fileExists }
            let inode = tree.add(content, mode: mode, nowNs: now)
            if case .file(let bytes) = content { tree.usedBytes += Int64(bytes.count) }
            tree.setEntry(name, in: parent, to: inode, nowNs: now)
        }
    }

    private static func resolve(
        _ path: FilePath, in tree: InMemoryTree, followLast: Bool
    ) throws(Errno) -> UInt64 {
        guard !path.bytes.isEmpty else { throw .noSuchFile }
        guard !path.bytes.contains(0) else { throw .invalidArgument }
        var pending = Array(path.components.reversed())
        var trail = [InMemoryTree.root]
        var links = 0
        let mustBeDirectory = path.bytes.last == 0x2F
        while let component = pending.popLast() {
            guard let here = trail.last else { throw .noSuchFile }
            guard try tree.node(here).kind == .directory else { throw .notADirectory }
            if component == [0x2E] { continue }
            if component == [0x2E, 0x2E] {
                if trail.count > 1 { trail.removeLast() }
                continue
            }
            let next = try tree.entry(component, in: here)
            if case .link(let target) = try tree.node(next).content,
                followLast || !pending.isEmpty || mustBeDirectory
            {
                links += 1
                if links > 40 { throw .tooManyLinks }
                let targetPath = FilePath(bytes: target)
                if targetPath.isAbsolute { trail = [InMemoryTree.root] }
                pending.append(contentsOf: targetPath.components.reversed())
                continue
            }
            trail.append(next)
        }
        guard let found = trail.last else { throw .noSuchFile }
        if mustBeDirectory, try tree.node(found).kind != .directory { throw .notADirectory }
        return found
    }

    private static func path(of inode: UInt64, from directory: UInt64, in tree: InMemoryTree, behind: [UInt8])
        -> [UInt8]?
    {
        if inode == directory { return behind }
        for (name, child) in tree.nodes[directory]?.entries ?? [:] {
            let path = behind + [0x2F] + name
            if child == inode { return path }
            guard tree.nodes[child]?.kind == .directory else { continue }
            if let found = Self.path(of: inode, from: child, in: tree, behind: path) { return found }
        }
        return nil
    }

    private static func collect(
        _ directory: UInt64, in tree: InMemoryTree, path: String, into found: inout [String: [UInt8]?]
    ) {
        for (name, child) in tree.nodes[directory]?.entries ?? [:] {
            guard let node = tree.nodes[child] else { continue }
            let childPath = path + "/" + String(decoding: name, as: UTF8.self)
            switch node.content {
            case .file(let bytes): found[childPath] = bytes
            case .link(let target): found[childPath + "@"] = target
            case .directory(let entries):
                if entries.isEmpty {
                    found.updateValue(nil, forKey: childPath + "/")
                } else {
                    collect(child, in: tree, path: childPath, into: &found)
                }
            }
        }
    }

    private static func withoutHandles(_ tree: InMemoryTree, nodes: [UInt64: InMemoryTree.Node]) -> InMemoryTree {
        var copy = tree
        copy.nodes = nodes
        copy.locks = [:]
        for inode in nodes.keys {
            copy.nodes[inode]?.handles = inode == InMemoryTree.root ? 1 : 0
            copy.nodes[inode]?.names = 0
        }
        copy.nodes[InMemoryTree.root]?.names = 1
        for node in nodes.values {
            for child in node.entries.values { copy.nodes[child]?.names += 1 }
        }
        for inode in nodes.keys { copy.release(inode) }
        copy.usedBytes = copy.nodes.values.reduce(0) { $0 + Int64($1.bytes.count) }
        copy.durable = copy.nodes
        return copy
    }
}
