public import VaultFormat

/// Which commits `Vault.log` gives.
public struct LogOptions: Sendable {
    /// Where to start, or `A..B`; nil means the head.
    public var revision: String?
    /// Only commits that change something at or below these paths.
    public var paths: [VaultPath]
    public var limit: Int?
    public var firstParent: Bool
    public var reverse: Bool
    public var checkSignatures: Bool
    /// Fill `LogEntry.changes`.
    public var includeChanges: Bool

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
    public var commit: CommitInfo
    /// Against the first parent; nil unless asked for.
    public var changes: Changes?
}

/// The answer of `Vault.show`.
public enum ShowResult: Sendable {
    case commit(LogEntry, files: [ChangedFile])
    /// The revision named a file or folder (`REV:PATH`); its bytes or listing are read with `read`/`list`.
    case file(VaultPath, commit: ObjectID)
    case folder(VaultPath?, commit: ObjectID)
}

/// One path that a commit changed.
public struct ChangedFile: Sendable, Equatable {
    public enum Status: String, Sendable { case added, modified, deleted }
    public var path: VaultPath
    public var status: Status
    public var sizeBefore: Int64?
    public var sizeAfter: Int64?
}

/// One entry of `Vault.list`.
public struct ListEntry: Sendable, Equatable {
    public enum Kind: String, Sendable { case file, folder }
    public var path: VaultPath
    public var kind: Kind
    /// Plaintext bytes; nil for a folder.
    public var size: Int64?
    /// The blob of a file, the tree of a folder.
    public var objectID: ObjectID
    public var contentType: String?
    /// The object is held in this clone.
    public var isLocal: Bool
    public var isLarge: Bool
}

/// What `Vault.read` tells of the file it gave.
public struct FileInfo: Sendable, Equatable {
    public var path: VaultPath
    public var blobID: ObjectID
    public var size: Int64
    public var contentType: String
    /// Lower-case hex of the plaintext's SHA-256.
    public var sha256: String
}
