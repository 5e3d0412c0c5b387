public import VaultFormat

/// How a clone may be used.
public enum CloneMode: String, Sendable {
    /// Reads and writes.
    case full
    /// Holds the read key only.
    case readOnly = "read-only"
    /// Holds no key and no working copy; the key comes with every command.
    case bare
}

/// Paths that differ between a commit and the working copy, each list sorted by bytes.
public struct Changes: Sendable, Equatable {
    public var added: [VaultPath]
    public var modified: [VaultPath]
    public var deleted: [VaultPath]

    public init(added: [VaultPath] = [], modified: [VaultPath] = [], deleted: [VaultPath] = []) {
        self.added = added
        self.modified = modified
        self.deleted = deleted
    }

    public var isEmpty: Bool { added.isEmpty && modified.isEmpty && deleted.isEmpty }
    public var count: Int { added.count + modified.count + deleted.count }
}

/// An entry of the working copy that a commit leaves out.
public struct SkippedEntry: Sendable, Equatable {
    /// Why it is left out.
    public enum Reason: String, Sendable {
        case symbolicLink = "symbolic_link"
        case specialFile = "special_file"
        case unreadable
        case nameNotUTF8 = "name_not_utf8"
        case nameTooLong = "name_too_long"
        case unsafeName = "unsafe_name"
    }

    /// The path below the vault root, as bytes (it may not be valid UTF-8).
    public let path: [UInt8]
    public let reason: Reason

    public init(path: [UInt8], reason: Reason) {
        self.path = path
        self.reason = reason
    }
}

/// What this clone knows of its remote, without asking it.
public struct RemoteState: Sendable, Equatable {
    /// How the clone's head relates to the last known remote head.
    public enum Relation: String, Sendable {
        case unknown
        case neverRead = "never_read"
        case absent
        case upToDate = "up_to_date"
        case ahead, behind, diverged, rewound
    }

    public var name: String
    public var url: String?
    public var head: ObjectID?
    /// When the head was read, milliseconds since 1970.
    public var seenMs: Int64?
    public var relation: Relation
    /// Commits here that the remote lacks, and the reverse; nil when not known.
    public var ahead: Int?
    public var behind: Int?
    /// True when `behind` counts only the commits whose objects are held.
    public var behindIsLowerBound: Bool
}

/// The answer of `Vault.status`.
public struct StatusReport: Sendable {
    public var directory: String
    public var vaultID: VaultID
    public var mode: CloneMode
    /// The named branch this clone works on.
    public var branch: String
    public var head: ObjectID?
    public var remote: RemoteState
    public var mergeInProgress: Bool
    public var conflicts: [VaultPath]
    public var changes: Changes
    public var unreadable: [SkippedEntry]
    public var skipped: [SkippedEntry]
    /// Untracked paths that an ignore rule covers; filled only when asked for.
    ///
    /// Folders end in `/`.
    public var ignored: [[UInt8]]
    public var stashCount: Int
    /// Set when an interrupted operation was found that the next writing verb will finish or undo.
    public var interrupted: String?
    /// Set when another program moved this clone's head since the last command here: the commit that is no longer
    /// reachable from it.
    public var overwrittenHead: ObjectID?

    public var isClean: Bool { changes.isEmpty && unreadable.isEmpty && !mergeInProgress }
}

/// What `Vault.status` looks at.
public struct StatusOptions: Sendable {
    /// Only paths at or below these; empty means all.
    public var paths: [VaultPath]
    public var includeIgnored: Bool

    public init(paths: [VaultPath] = [], includeIgnored: Bool = false) {
        self.paths = paths
        self.includeIgnored = includeIgnored
    }
}
