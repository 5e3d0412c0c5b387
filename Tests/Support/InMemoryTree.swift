internal import VaultSystem

/// The state of an `InMemoryFileSystem`: files by inode number, as values, so that a copy is a snapshot.
struct InMemoryTree: Sendable {
    /// One file, directory or link.
    struct Node: Sendable {
        enum Content: Sendable {
            case file([UInt8])
            case directory([[UInt8]: UInt64])
            case link([UInt8])
        }

        var content: Content
        var mode: UInt32
        var owner = ProcessContext.effectiveUserID
        var modifiedNs: Int64
        var changedNs: Int64
        /// Names that point here.
        var names: UInt64 = 0
        /// Handles that are open; a node without names goes with its last handle.
        var handles = 0

        var kind: FileKind {
            switch content {
            case .file: .regular
            case .directory: .directory
            case .link: .symbolicLink
            }
        }

        var bytes: [UInt8] {
            if case .file(let bytes) = content { bytes } else { [] }
        }

        var entries: [[UInt8]: UInt64] {
            if case .directory(let entries) = content { entries } else { [:] }
        }
    }

    static let root: UInt64 = 2
    /// Names that differ in the case of ASCII letters are one name, as on a file system with `casefold`.
    var foldsNames = false

    var nodes: [UInt64: Node] = [:]
    /// What of each node has reached the disk.
    ///
    /// Contents by `File.sync`, names by `Directory.sync`, all by `syncFileSystem`. A crash that keeps nothing else leaves exactly this.
    var durable: [UInt64: Node] = [:]
    var nextInode: UInt64 = 3
    /// Bytes that fit into all files together.
    var capacity = Int64.max
    var usedBytes: Int64 = 0
    /// Who holds the lock of an inode, and the open files that wait for it in their order.
    var locks: [UInt64: (owner: UInt64, waiting: [(handle: UInt64, wake: Channel<Void>)])] = [:]
    var nextHandle: UInt64 = 1

    init(nowNs: Int64) {
        nodes[Self.root] = Node(
            content: .directory([:]), mode: 0o755, modifiedNs: nowNs, changedNs: nowNs, names: 1, handles: 1)
        durable = nodes
    }

    mutating func add(_ content: Node.Content, mode: UInt32, nowNs: Int64) -> UInt64 {
        let inode = nextInode
        nextInode += 1
        nodes[inode] = Node(content: content, mode: mode, modifiedNs: nowNs, changedNs: nowNs)
        return inode
    }

    func node(_ inode: UInt64) throws(Errno) -> Node {
        guard let node = nodes[inode] else { throw .noSuchFile }
        return node
    }

    func entry(_ name: [UInt8], in directory: UInt64) throws(Errno) -> UInt64 {
        try Self.check(name)
        guard let inode = standing(name, in: try node(directory)) else { throw .noSuchFile }
        return inode
    }

    /// What stands at a name of a directory.
    func standing(_ name: [UInt8], in node: Node) -> UInt64? {
        if let found = node.entries[name] { return found }
        guard foldsNames else { return nil }
        func folded(_ name: [UInt8]) -> [UInt8] { name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
        return node.entries.first { folded($0.key) == folded(name) }?.value
    }

    /// Refuses what is not exactly one name.
    static func check(_ name: [UInt8]) throws(Errno) {
        if name.count > 255 { throw .nameTooLong }
        if name.isEmpty || name == [0x2E] || name == [0x2E, 0x2E] { throw .invalidArgument }
        if name.contains(0) || name.contains(0x2F) { throw .invalidArgument }
    }

    mutating func setEntry(_ name: [UInt8], in directory: UInt64, to inode: UInt64?, nowNs: Int64) {
        guard var node = nodes[directory] else { return }
        var entries = node.entries
        if let old = entries[name] { nodes[old]?.names -= 1 }
        entries[name] = inode
        if let inode {
            nodes[inode]?.names += 1
            nodes[inode]?.changedNs = nowNs
        }
        node.content = .directory(entries)
        node.modifiedNs = nowNs
        node.changedNs = nowNs
        nodes[directory] = node
    }

    /// Forgets a node that nothing refers to any more.
    mutating func release(_ inode: UInt64) {
        guard let node = nodes[inode], node.names == 0, node.handles <= 0 else { return }
        usedBytes -= Int64(node.bytes.count)
        nodes[inode] = nil
    }

    func status(_ inode: UInt64) throws(Errno) -> FileStatus {
        let node = try node(inode)
        let size: Int
        switch node.content {
        case .file(let bytes): size = bytes.count
        case .directory: size = 4096
        case .link(let target): size = target.count
        }
        let folders = node.entries.values.filter { nodes[$0]?.kind == .directory }.count
        let links = node.kind == .directory ? UInt64(folders) + (node.names > 0 ? 2 : 0) : node.names
        return FileStatus(
            kind: node.kind, mode: node.mode, size: Int64(size), modifiedNs: node.modifiedNs,
            changedNs: node.changedNs, inode: inode, device: 1, linkCount: links,
            owner: node.owner)
    }

    /// Whether `inode` is `directory` or stands somewhere below it.
    func isInside(_ inode: UInt64, _ directory: UInt64) -> Bool {
        if inode == directory { return true }
        return nodes[directory]?.entries.values.contains { child in
            nodes[child]?.kind == .directory && isInside(inode, child)
        } ?? false
    }

    mutating func rename(
        _ name: [UInt8], in from: UInt64, to newName: [UInt8], in target: UInt64, replacing: Bool, nowNs: Int64
    ) throws(Errno) {
        let moved = try entry(name, in: from)
        try Self.check(newName)
        let targetNode = try node(target)
        guard targetNode.names > 0 else { throw .noSuchFile }
        let movedIsDirectory = try node(moved).kind == .directory
        if let standing = standing(newName, in: targetNode) {
            guard replacing else { throw .fileExists }
            if standing == moved { return }
            let old = try node(standing)
            switch (movedIsDirectory, old.kind == .directory) {
            case (true, false): throw .notADirectory
            case (false, true): throw .isADirectory
            case (true, true): if !old.entries.isEmpty { throw .directoryNotEmpty }
            case (false, false): break
            }
            if movedIsDirectory, isInside(target, moved) { throw .invalidArgument }
            setEntry(newName, in: target, to: moved, nowNs: nowNs)
            setEntry(name, in: from, to: nil, nowNs: nowNs)
            release(standing)
            return
        }
        if movedIsDirectory, isInside(target, moved) { throw .invalidArgument }
        setEntry(newName, in: target, to: moved, nowNs: nowNs)
        setEntry(name, in: from, to: nil, nowNs: nowNs)
    }

    mutating func write(_ bytes: [UInt8], to inode: UInt64, at offset: Int, nowNs: Int64) throws(Errno) -> Int {
        var node = try node(inode)
        var content = node.bytes
        let room = capacity - usedBytes
        let growth = Int64(max(0, offset + bytes.count - content.count))
        let fitting = growth > room ? max(0, bytes.count - Int(growth - room)) : bytes.count
        if fitting == 0, !bytes.isEmpty { throw .noSpace }
        node.content = .file([])
        nodes[inode] = node
        let before = content.count
        if content.count < offset { content.append(contentsOf: [UInt8](repeating: 0, count: offset - content.count)) }
        let overlap = min(content.count - offset, fitting)
        content.replaceSubrange(offset..<offset + overlap, with: bytes[..<overlap])
        content.append(contentsOf: bytes[overlap..<fitting])
        usedBytes += Int64(content.count - before)
        node.content = .file(content)
        node.modifiedNs = nowNs
        node.changedNs = nowNs
        nodes[inode] = node
        return fitting
    }

    mutating func truncate(_ inode: UInt64, to size: Int, nowNs: Int64) throws(Errno) {
        var node = try node(inode)
        var content = node.bytes
        if size < content.count {
            content.removeLast(content.count - size)
        } else {
            guard Int64(size - content.count) <= capacity - usedBytes else { throw .noSpace }
            content.append(contentsOf: [UInt8](repeating: 0, count: size - content.count))
        }
        usedBytes += Int64(content.count - node.bytes.count)
        node.content = .file(content)
        node.modifiedNs = nowNs
        node.changedNs = nowNs
        nodes[inode] = node
    }
}
