public import VaultFormat

/// Which commits `Vault.log` gives.
public struct LogOptions: Sendable {
    /// Where to start, or `A..B`; nil means the head.
    public var revision: String?
    /// Only commits that change something at or below these paths.
    public var paths: [VaultPath]
    /// At most this many commits.
    public var limit: Int?
    /// Follow the first parent only.
    public var firstParent: Bool
    /// Oldest first.
    public var reverse: Bool
    /// Fill `CommitInfo.signature`.
    public var checkSignatures: Bool
    /// Fill `LogEntry.changes`.
    public var includeChanges: Bool

    /// Makes one from its parts.
    public init(
        revision: String? = nil, paths: [VaultPath] = [], limit: Int? = nil, firstParent: Bool = false,
        reverse: Bool = false, checkSignatures: Bool = false, includeChanges: Bool = false
    ) {
        self.revision = revision
        self.paths = paths
        self.limit = limit
        self.firstParent = firstParent
        self.reverse = reverse
        self.checkSignatures = checkSignatures
        self.includeChanges = includeChanges
    }
}

/// One commit of a log.
public struct LogEntry: Sendable {
    /// The commit.
    public var commit: CommitInfo
    /// Against the first parent; nil unless asked for.
    public var changes: Changes?
}

/// The answer of `Vault.show`.
public enum ShowResult: Sendable {
    /// A commit and the files it changed.
    case commit(LogEntry, files: [ChangedFile])
    /// The revision named a file or folder (`REV:PATH`); its bytes or listing are read with `read`/`list`.
    case file(VaultPath, commit: ObjectID)
    /// The revision named a folder, or the root.
    case folder(VaultPath?, commit: ObjectID)
}

/// One path that a commit changed.
public struct ChangedFile: Sendable, Equatable {
    /// How a path changed.
    public enum Status: String, Sendable {
        /// It is new.
        case added
        /// It has other content.
        case modified
        /// It is gone.
        case deleted
    }
    /// The path.
    public var path: VaultPath
    /// How it changed.
    public var status: Status
    /// Plaintext bytes before; nil when it was added.
    public var sizeBefore: Int64?
    /// Plaintext bytes after; nil when it was deleted.
    public var sizeAfter: Int64?
}

/// One entry of `Vault.list`.
public struct ListEntry: Sendable, Equatable {
    /// What an entry is.
    public enum Kind: String, Sendable {
        /// A file.
        case file
        /// A folder.
        case folder
    }
    /// The path from the vault root.
    public var path: VaultPath
    /// File or folder.
    public var kind: Kind
    /// Plaintext bytes; nil for a folder.
    public var size: Int64?
    /// The blob of a file, the tree of a folder.
    public var objectID: ObjectID
    /// The recorded MIME type; nil for a folder.
    public var contentType: String?
    /// The object is held in this clone.
    public var isLocal: Bool
    /// The stored blob is larger than 4 MiB.
    public var isLarge: Bool
}

/// What `Vault.read` tells of the file it gave.
public struct FileInfo: Sendable, Equatable {
    /// The path from the vault root.
    public var path: VaultPath
    /// The stored blob.
    public var blobID: ObjectID
    /// Plaintext bytes.
    public var size: Int64
    /// The recorded MIME type.
    public var contentType: String
    /// Lower-case hex of the plaintext's SHA-256.
    public var sha256: String
}
