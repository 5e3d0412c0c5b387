internal import VaultSystem

/// An open file of an `InMemoryFileSystem`.
final class InMemoryFile: File {
    enum Access { case read, readAndWrite, append }

    let inode: UInt64
    private let fileSystem: InMemoryFileSystem
    private let handle: UInt64
    private let access: Access
    private let position = Locked<Int>(0)

    /// Takes over one count of the node's `handles`.
    init(_ fileSystem: InMemoryFileSystem, _ inode: UInt64, handle: UInt64, access: Access) {
        self.fileSystem = fileSystem
        self.inode = inode
        self.handle = handle
        self.access = access
    }

    deinit {
        releaseLock()
        fileSystem.tree.withLock { tree in
            tree.nodes[inode]?.handles -= 1
            tree.release(inode)
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        // The buffer is handed on as it came.
        let count = try unsafe read(into: buffer, at: Int64(position.withLock { $0 }))
        position.withLock { $0 += count }
        return count
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        let node = try fileSystem.tree.withLock { tree throws(Errno) in try tree.node(inode) }
        guard case .file(let bytes) = node.content else { throw .isADirectory }
        guard offset >= 0 else { throw .invalidArgument }
        let start = min(Int(clamping: offset), bytes.count)
        let part = bytes[start..<min(bytes.count, start + buffer.count)]
        // Exactly as many bytes as the buffer holds, or fewer.
        unsafe buffer.copyBytes(from: part)
        return part.count
    }

    func write(_ bytes: Span<UInt8>) throws(Errno) {
        guard access != .read else { throw .badDescriptor }
        let copy = bytes.indices.map { bytes[$0] }
        let now = fileSystem.clock.nowNs
        let start = position.withLock { $0 }
        let (offset, written) = try fileSystem.tree.withLock { tree throws(Errno) in
            let offset = access == .append ? try tree.node(inode).bytes.count : start
            return (offset, try tree.write(copy, to: inode, at: offset, nowNs: now))
        }
        position.withLock { $0 = offset + written }
        // The next write of the rest would fail, as it does on a full disk.
        if written < copy.count { throw .noSpace }
    }

    func sync() throws(Errno) {
        try fileSystem.tree.withLock { tree throws(Errno) in tree.durable[inode] = try tree.node(inode) }
    }

    func status() throws(Errno) -> FileStatus {
        try fileSystem.tree.withLock { tree throws(Errno) in try tree.status(inode) }
    }

    func setMode(_ mode: UInt32) throws(Errno) {
        let now = fileSystem.clock.nowNs
        fileSystem.tree.withLock { tree in
            tree.nodes[inode]?.mode = mode & 0o7777
            tree.nodes[inode]?.changedNs = now
        }
    }

    func truncate(to size: Int64) throws(Errno) {
        guard access != .read, size >= 0 else { throw .invalidArgument }
        let now = fileSystem.clock.nowNs
        try fileSystem.tree.withLock { tree throws(Errno) in
            try tree.truncate(inode, to: Int(clamping: size), nowNs: now)
        }
    }

    func seek(to offset: Int64) throws(Errno) {
        guard offset >= 0 else { throw .invalidArgument }
        position.withLock { $0 = Int(clamping: offset) }
    }

    func lock(wait: Bool) throws(Errno) -> Bool {
        let turn = Channel<Void>(capacity: 1)
        let answer: Bool? = fileSystem.tree.withLock { tree in
            guard var lock = tree.locks[inode] else {
                tree.locks[inode] = (owner: handle, waiting: [])
                return true
            }
            if lock.owner == handle { return true }
            guard wait else { return false }
            lock.waiting.append((handle: handle, wake: turn))
            tree.locks[inode] = lock
            return nil
        }
        if let answer { return answer }
        // Whoever unlocks makes this handle the owner before waking it.
        _ = turn.receive()
        return true
    }

    func unlock() throws(Errno) {
        releaseLock()
    }

    private func releaseLock() {
        let next: Channel<Void>? = fileSystem.tree.withLock { tree in
            guard var lock = tree.locks[inode], lock.owner == handle else { return nil }
            guard !lock.waiting.isEmpty else {
                tree.locks[inode] = nil
                return nil
            }
            let next = lock.waiting.removeFirst()
            lock.owner = next.handle
            tree.locks[inode] = lock
            return next.wake
        }
        _ = next?.send(())
    }
}
