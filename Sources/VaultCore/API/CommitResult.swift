public import VaultFormat

/// What `Vault.commit` records and how.
public struct CommitOptions: Sendable {
    /// The message; nil or empty means the automatic one (spec 02 §5.4).
    ///
    /// At most 740 bytes.
    public var message: String?
    public var amend: Bool
    public var allowEmpty: Bool
    /// Only changes at or below these; empty means all.
    public var paths: [VaultPath]
    /// Files that may be committed although they hold a vault's secrets (spec 03 §7).
    public var allowSecret: [VaultPath]
    public var sign: Bool
    /// Refuse when something had to be left out.
    public var strict: Bool

    public init(
        message: String? = nil, amend: Bool = false, allowEmpty: Bool = false, paths: [VaultPath] = [],
        allowSecret: [VaultPath] = [], sign: Bool = true, strict: Bool = false
    ) {
        self.message = message
        self.amend = amend
        self.allowEmpty = allowEmpty
        self.paths = paths
        self.allowSecret = allowSecret
        self.sign = sign
        self.strict = strict
    }
}

/// A commit as `log`, `show` and `commit` tell it.
public struct CommitInfo: Sendable, Equatable {
    public var id: ObjectID
    public var parents: [ObjectID]
    public var tree: ObjectID
    public var message: String
    /// Milliseconds since 1970.
    public var timeMs: Int64
    public var branchID: String?
    /// The name of the branch that wrote it, when the index knows it.
    public var authorName: String?
    public var authorKeyID: String?
    /// Nil when it was not asked for.
    public var signature: SignatureStatus?

    /// The first line of the message.
    public var subject: String {
        String(message.prefix { !$0.isNewline })
    }
}

/// What checking a commit's signature gave (spec 06 §7.2).
public enum SignatureStatus: String, Sendable {
    case verified, bad, unsigned
    case noKey = "no-key"
    case missing
}

/// The answer of `Vault.commit`.
public struct CommitResult: Sendable {
    /// Nil when there was nothing to commit.
    public var commit: CommitInfo?
    /// The named branch.
    public var branch: String
    public var changes: Changes
    public var skipped: [SkippedEntry]
    /// False when the commit was made without a signature although one was wanted.
    public var signed: Bool
}

/// Content for `Vault.write`.
public struct WriteRequest: Sendable {
    public var files: [(path: VaultPath, content: ContentSource)]
    public var message: String?
    /// Write only when the (first) path holds this blob now; `remoteMoved` otherwise.
    public var expectedBlob: ObjectID?

    public init(
        files: [(path: VaultPath, content: ContentSource)], message: String? = nil, expectedBlob: ObjectID? = nil
    ) {
        self.files = files
        self.message = message
        self.expectedBlob = expectedBlob
    }
}

/// Where the bytes of a file to be stored come from.
public enum ContentSource: Sendable {
    case bytes([UInt8])
    /// A local file, read as a stream.
    case file(path: String)
    /// An open descriptor (standard input), read to its end as a stream.
    case descriptor(Int32)
}

/// The answer of `Vault.write`.
public struct WriteResult: Sendable {
    /// The blob of each path, in the order of the request.
    public var blobs: [(path: VaultPath, blob: ObjectID)]
    /// Nil when nothing changed.
    public var commit: CommitInfo?
    public var unchanged: Bool { commit == nil }
}
