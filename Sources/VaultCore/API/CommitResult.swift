public import VaultFormat

/// What `Vault.commit` records and how.
public struct CommitOptions: Sendable {
    /// The message; nil or empty means the automatic one (spec 02 §5.4).
    ///
    /// At most 740 bytes.
    public var message: String?
    /// Replace the last commit, which must not have been published.
    public var amend: Bool
    /// Make a commit even when nothing changed.
    public var allowEmpty: Bool
    /// Only changes at or below these; empty means all.
    public var paths: [VaultPath]
    /// Files that may be committed although they hold a vault's secrets (spec 03 §7).
    public var allowSecret: [VaultPath]
    /// Sign with the clone's key.
    public var sign: Bool
    /// Refuse when something had to be left out.
    public var strict: Bool

    /// Makes one from its parts.
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
    /// The id of the commit object.
    public var id: ObjectID
    /// The parents: own previous head first, then what was merged.
    public var parents: [ObjectID]
    /// The root tree.
    public var tree: ObjectID
    /// The decrypted message; empty when there is none.
    public var message: String
    /// Milliseconds since 1970.
    public var timeMs: Int64
    /// The clone branch that wrote it, as the commit tells it.
    public var branchID: String?
    /// The name of the branch that wrote it, when the index knows it.
    public var authorName: String?
    /// The key that signed it; nil when unsigned.
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
    /// The signature verifies with a key of the vault.
    case verified
    /// The signature does not verify.
    case bad
    /// There is no signature.
    case unsigned
    /// The signing key is not known.
    case noKey = "no-key"
    /// The commit object is not held.
    case missing
}

/// The answer of `Vault.commit`.
public struct CommitResult: Sendable {
    /// Nil when there was nothing to commit.
    public var commit: CommitInfo?
    /// The named branch.
    public var branch: String
    /// What the commit changed.
    public var changes: Changes
    /// Entries of the working copy that were left out.
    public var skipped: [SkippedEntry]
    /// False when the commit was made without a signature although one was wanted.
    public var signed: Bool
}

/// Content for `Vault.write`.
public struct WriteRequest: Sendable {
    /// What to store, and where.
    public var files: [(path: VaultPath, content: ContentSource)]
    /// The message; nil means `write` and the first path.
    public var message: String?
    /// Write only when the (first) path holds this blob now; `remoteMoved` otherwise.
    public var expectedBlob: ObjectID?

    /// Makes one from its parts.
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
    /// Content held in memory.
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
    /// Committed paths that this platform could not store in the working copy.
    public var notWritten: [SkippedEntry]
    /// True when every path held the given content already.
    public var unchanged: Bool { commit == nil }
}
