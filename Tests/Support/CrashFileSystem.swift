package import VaultSystem

/// A file system that remembers what has not reached the disk, write by write and name by name, so that a crash can
/// lose any part of it.
///
/// It runs on an `InMemoryFileSystem`, to which everything is done at once; beside it the last durable state and the
/// list of changes since are kept. What a crash leaves is the durable state and any choice of the changes, which is
/// what writing back in any order comes to:
/// * A write may be lost, kept, cut in half, or leave zeros of its length.
/// * A name may be lost or kept. A rename is one change, as on every journaling file system.
/// * Syncing a file makes its content durable and no name; syncing a folder the changes of its names, with both ends
///   of a rename, but no content.
package final class CrashFileSystem: FileSystem {
    package let memory: InMemoryFileSystem
    private let state: Locked<CrashState>
    private let onStep: @Sendable (CrashState) -> Void

    /// * `start`: All of it durable.
    /// * `onStep`: Called before every change with what a crash at that moment can leave.
    package init(_ start: InMemoryFileSystem, onStep: @escaping @Sendable (CrashState) -> Void = { _ in }) {
        memory = start
        state = Locked(CrashState(start))
        self.onStep = onStep
    }

    /// What a crash now can leave.
    package var now: CrashState { state.withLock { $0 } }

    /// Announces a change about to be made.
    func step() {
        onStep(now)
    }

    func record(_ change: CrashState.Change) {
        state.withLock { $0.pending.append(change) }
    }

    func syncContent(_ inode: UInt64) {
        state.withLock { $0.makeDurable { $0.content == inode } }
    }

    func syncNames(_ directory: UInt64) {
        state.withLock { $0.makeDurable { $0.directories.contains(directory) } }
    }

    func syncAll() {
        state.withLock { $0.makeDurable { _ in true } }
    }

    /// The number of the file or folder at a name; nil when there is none.
    func inode(_ directory: any Directory, _ name: [UInt8]) -> UInt64? {
        (try? directory.status(of: name))?.inode
    }

    // MARK: FileSystem

    package func openDirectory(_ path: FilePath) throws(Errno) -> any Directory {
        try CrashDirectory(memory.openDirectory(path), self)
    }

    package func createDirectory(_ path: FilePath, mode: UInt32) throws(Errno) {
        guard let name = path.lastComponent else { throw .fileExists }
        try openDirectory(path.parent).createDirectory(name, mode: mode)
    }

    package func status(of path: FilePath, followLinks: Bool) throws(Errno) -> FileStatus {
        try memory.status(of: path, followLinks: followLinks)
    }

    package func canonicalPath(_ path: FilePath) throws(Errno) -> FilePath { try memory.canonicalPath(path) }

    package func currentDirectory() throws(Errno) -> FilePath { try memory.currentDirectory() }

    package func readFile(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        try memory.readFile(path, limit: limit)
    }
}

/// An open directory of a `CrashFileSystem`.
final class CrashDirectory: Directory {
    let inner: any Directory
    private let plan: CrashFileSystem
    private let inode: UInt64

    init(_ inner: any Directory, _ plan: CrashFileSystem) throws(Errno) {
        self.inner = inner
        self.plan = plan
        inode = try inner.status().inode
    }

    func entries() throws(Errno) -> [DirectoryEntry] { try inner.entries() }
    func status() throws(Errno) -> FileStatus { try inner.status() }
    func status(of name: [UInt8]) throws(Errno) -> FileStatus { try inner.status(of: name) }

    func openDirectory(_ name: [UInt8]) throws(Errno) -> any Directory {
        try CrashDirectory(inner.openDirectory(name), plan)
    }

    func openFile(_ name: [UInt8]) throws(Errno) -> any File {
        try CrashFile(inner.openFile(name), plan)
    }

    func createFile(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        plan.step()
        let file = try inner.createFile(name, mode: mode)
        recordNew(name, .file(mode: try file.status().mode))
        return try CrashFile(file, plan)
    }

    func createUnnamedFile(mode: UInt32) throws(Errno) -> any File {
        plan.step()
        let file = try inner.createUnnamedFile(mode: mode)
        let status = try file.status()
        plan.record(.create(status.inode, .file(mode: status.mode)))
        return try CrashFile(file, plan)
    }

    func link(_ file: any File, as name: [UInt8]) throws(Errno) {
        guard let file = file as? CrashFile else { throw .invalidArgument }
        plan.step()
        try inner.link(file.inner, as: name)
        plan.record(.names([.init(directory: inode, name: name, target: file.inode)]))
    }

    func openForAppending(_ name: [UInt8], mode: UInt32) throws(Errno) -> any File {
        let isNew = plan.inode(inner, name) == nil
        if isNew { plan.step() }
        let file = try inner.openForAppending(name, mode: mode)
        if isNew { recordNew(name, .file(mode: try file.status().mode)) }
        return try CrashFile(file, plan, appends: true)
    }

    func rename(_ name: [UInt8], to target: any Directory, as newName: [UInt8], replacing: Bool) throws(Errno) {
        guard let target = target as? CrashDirectory else { throw .crossDevice }
        plan.step()
        let moved = plan.inode(inner, name)
        try inner.rename(name, to: target.inner, as: newName, replacing: replacing)
        plan.record(
            .names([
                .init(directory: target.inode, name: newName, target: moved),
                .init(directory: inode, name: name, target: nil),
            ]))
    }

    func createDirectory(_ name: [UInt8], mode: UInt32) throws(Errno) {
        plan.step()
        try inner.createDirectory(name, mode: mode)
        recordNew(name, .directory(mode: try inner.status(of: name).mode))
    }

    func removeFile(_ name: [UInt8]) throws(Errno) {
        plan.step()
        try inner.removeFile(name)
        plan.record(.names([.init(directory: inode, name: name, target: nil)]))
    }

    func removeDirectory(_ name: [UInt8]) throws(Errno) {
        plan.step()
        try inner.removeDirectory(name)
        plan.record(.names([.init(directory: inode, name: name, target: nil)]))
    }

    func sync() throws(Errno) {
        plan.step()
        try inner.sync()
        plan.syncNames(inode)
    }

    func syncFileSystem() throws(Errno) {
        plan.step()
        try inner.syncFileSystem()
        plan.syncAll()
    }

    func availableSpace() throws(Errno) -> (bytes: Int64, inodes: Int64) { try inner.availableSpace() }

    /// A new file or folder and its name: the one without the other is nothing.
    private func recordNew(_ name: [UInt8], _ kind: CrashState.NewNode) {
        guard let made = plan.inode(inner, name) else { return }
        plan.record(.create(made, kind))
        plan.record(.names([.init(directory: inode, name: name, target: made)]))
    }
}

/// An open file of a `CrashFileSystem`.
final class CrashFile: File {
    let inner: any File
    let inode: UInt64
    private let plan: CrashFileSystem
    private let position: Locked<Int>
    private let appends: Bool

    init(_ inner: any File, _ plan: CrashFileSystem, appends: Bool = false) throws(Errno) {
        self.inner = inner
        self.plan = plan
        self.appends = appends
        inode = try inner.status().inode
        position = Locked(0)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        // The buffer is handed on as it came.
        let count = try unsafe inner.read(into: buffer)
        position.withLock { $0 += count }
        return count
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        // The buffer is handed on as it came.
        try unsafe inner.read(into: buffer, at: offset)
    }

    func write(_ bytes: Span<UInt8>) throws(Errno) {
        plan.step()
        let start = appends ? Int(try inner.status().size) : position.withLock { $0 }
        try inner.write(bytes)
        plan.record(.write(inode, offset: start, bytes: bytes.indices.map { bytes[$0] }))
        position.withLock { $0 = start + bytes.count }
    }

    func sync() throws(Errno) {
        plan.step()
        try inner.sync()
        plan.syncContent(inode)
    }

    func status() throws(Errno) -> FileStatus { try inner.status() }

    func setMode(_ mode: UInt32) throws(Errno) { try inner.setMode(mode) }

    func truncate(to size: Int64) throws(Errno) {
        plan.step()
        try inner.truncate(to: size)
        plan.record(.truncate(inode, size: Int(clamping: size)))
    }

    func seek(to offset: Int64) throws(Errno) {
        try inner.seek(to: offset)
        position.withLock { $0 = Int(clamping: offset) }
    }

    func lock(wait: Bool) throws(Errno) -> Bool { try inner.lock(wait: wait) }
    func unlock() throws(Errno) { try inner.unlock() }
}
