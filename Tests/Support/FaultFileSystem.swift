package import VaultSystem

/// The kinds of calls that a `FaultFileSystem` counts and can make fail.
package enum FileSystemCall: String, CaseIterable, Sendable {
    case openDirectory, createDirectory, status, canonicalPath, readFile
    case entries, openFile, createFile, createUnnamedFile, link, openForAppending, rename, removeFile
    case removeDirectory, syncDirectory, syncFileSystem, availableSpace
    case read, write, syncFile, setMode, truncate, seek, lock, unlock

    /// The calls that make something durable.
    package static let syncs: Set<FileSystemCall> = [.syncDirectory, .syncFileSystem, .syncFile]
    /// The calls that change what is stored.
    package static let changes: Set<FileSystemCall> = [
        .createDirectory, .createFile, .createUnnamedFile, .link, .openForAppending, .rename, .removeFile,
        .removeDirectory, .write, .setMode, .truncate,
    ]
}

/// A file system that counts its calls and makes one of them, or all from one on, fail.
package final class FaultFileSystem: FileSystem {
    /// Which call fails and how.
    package struct Fault: Sendable {
        /// 1 is the first of `kinds` after the fault was set.
        package var atCall: Int
        package var error: Errno
        /// All later calls fail too: what happens after the process died is as if it had not been asked for.
        package var isSticky: Bool
        package var kinds: Set<FileSystemCall>
        /// A failing write stores the first half of its bytes.
        package var writesHalf: Bool

        package init(
            atCall: Int, error: Errno = .ioError, isSticky: Bool = false,
            kinds: Set<FileSystemCall> = Set(FileSystemCall.allCases), writesHalf: Bool = false
        ) {
            self.atCall = atCall
            self.error = error
            self.isSticky = isSticky
            self.kinds = kinds
            self.writesHalf = writesHalf
        }
    }

    private struct State {
        var counts: [FileSystemCall: Int] = [:]
        var fault: Fault?
        var matched = 0
        var fired = 0
        var closedNames: Set<[UInt8]> = []
        var hidesKinds = false
        var before: (name: [UInt8], action: @Sendable () -> Void)?
        var calls = 0
        var intervention: (atCall: Int, body: @Sendable () -> Void)?
    }

    /// The file system behind it, where nothing fails.
    package let unfaulted: any FileSystem
    private let state = Locked(State())

    package init(_ inner: any FileSystem) {
        unfaulted = inner
    }

    /// Sets or clears what fails next, and counts anew.
    package func set(_ fault: Fault?) {
        state.withLock { state in
            state.fault = fault
            state.matched = 0
            state.fired = 0
            state.counts = [:]
        }
    }

    /// Lets something happen between two calls, as another process would: right before the n-th call from now.
    package func intervene(atCall: Int, _ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.calls = 0
            state.intervention = (atCall, body)
        }
    }

    /// Makes files and folders of these names refuse to be opened, as they do to whoever lacks the permission.
    package func close(_ names: Set<[UInt8]>) {
        state.withLock { $0.closedNames = names }
    }

    /// Makes directories tell nothing but names, as some file systems do.
    package func hideKinds() {
        state.withLock { $0.hidesKinds = true }
    }

    func shown(_ entries: [DirectoryEntry]) -> [DirectoryEntry] {
        guard state.withLock({ $0.hidesKinds }) else { return entries }
        return entries.map { DirectoryEntry(name: $0.name, kind: .unknown) }
    }

    /// Runs something, once, when a file of this name is about to be opened.
    package func beforeOpening(_ name: [UInt8], _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.before = (name, action) }
    }

    func checkOpening(_ name: [UInt8], _ call: FileSystemCall = .openFile) throws(Errno) {
        try check(call)
        let action = state.withLock { state in
            guard let before = state.before, before.name == name else { return nil as (@Sendable () -> Void)? }
            state.before = nil
            return before.action
        }
        action?()
        if state.withLock({ $0.closedNames.contains(name) }) { throw .permissionDenied }
    }

    /// Calls since the last `set`, by kind.
    package var counts: [FileSystemCall: Int] { state.withLock { $0.counts } }

    package func count(_ kinds: Set<FileSystemCall> = Set(FileSystemCall.allCases)) -> Int {
        counts.reduce(0) { kinds.contains($1.key) ? $0 + $1.value : $0 }
    }

    /// Whether the fault has happened.
    package var hasFired: Bool { state.withLock { $0.fired > 0 } }

    /// Counts a call and tells whether it must fail.
    func fault(at call: FileSystemCall) -> Fault? {
        let intervention = state.withLock { state -> (@Sendable () -> Void)? in
            state.calls += 1
            guard let intervention = state.intervention, intervention.atCall == state.calls else { return nil }
            state.intervention = nil
            return intervention.body
        }
        intervention?()
        return state.withLock { state in
            state.counts[call, default: 0] += 1
            guard let fault = state.fault, fault.kinds.contains(call) else { return nil }
            state.matched += 1
            guard state.matched == fault.atCall || (fault.isSticky && state.matched > fault.atCall) else { return nil }
            state.fired += 1
            return fault
        }
    }

    func check(_ call: FileSystemCall) throws(Errno) {
        if let fault = fault(at: call) { throw fault.error }
    }

    // MARK: FileSystem

    package func openDirectory(_ path: FilePath) throws(Errno) -> any Directory {
        try check(.openDirectory)
        return FaultDirectory(try unfaulted.openDirectory(path), self)
    }

    package func createDirectory(_ path: FilePath, mode: UInt32) throws(Errno) {
        try check(.createDirectory)
        try unfaulted.createDirectory(path, mode: mode)
    }

    package func status(of path: FilePath, followLinks: Bool) throws(Errno) -> FileStatus {
        try check(.status)
        return try unfaulted.status(of: path, followLinks: followLinks)
    }

    package func canonicalPath(_ path: FilePath) throws(Errno) -> FilePath {
        try check(.canonicalPath)
        return try unfaulted.canonicalPath(path)
    }

    package func currentDirectory() throws(Errno) -> FilePath {
        try unfaulted.currentDirectory()
    }

    package func readFile(_ path: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        try check(.readFile)
        return try unfaulted.readFile(path, limit: limit)
    }
}
