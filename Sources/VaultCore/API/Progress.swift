/// How far a long operation has come.
public struct Progress: Sendable, Equatable {
    /// What is being done.
    public enum Phase: String, Sendable {
        /// Looking at the working copy.
        case scan
        /// Storing files.
        case encrypt
        /// Sending objects.
        case upload
        /// Fetching objects.
        case download
        /// Writing files.
        case checkout
        /// Checking objects.
        case verify
        /// Copying.
        case copy
    }

    /// What is being done.
    public var phase: Phase
    /// Items done.
    public var done: Int
    /// Items in all, when known.
    public var total: Int?
    /// Bytes done.
    public var bytes: Int64
    /// Bytes in all, when known.
    public var totalBytes: Int64?

    /// Makes one from its parts.
    public init(phase: Phase, done: Int, total: Int? = nil, bytes: Int64 = 0, totalBytes: Int64? = nil) {
        self.phase = phase
        self.done = done
        self.total = total
        self.bytes = bytes
        self.totalBytes = totalBytes
    }
}

/// Who is told about progress and notes while an operation runs.
///
/// Called from several threads.
public protocol Observer: Sendable {
    /// A long operation moved on.
    ///
    /// Called often; keep it cheap.
    func progress(_ progress: Progress)
    /// Something worth telling a person that does not end the operation.
    func warning(_ text: String)
}

/// An observer that ignores everything.
public struct SilentObserver: Observer {
    /// Makes one.
    public init() {}
    public func progress(_ progress: Progress) {}
    public func warning(_ text: String) {}
}
