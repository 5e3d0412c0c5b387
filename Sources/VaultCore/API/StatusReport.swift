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
    /// Paths that are new.
    public var added: [VaultPath]
    /// Paths with other content.
    public var modified: [VaultPath]
    /// Paths that are gone.
    public var deleted: [VaultPath]

    /// Makes one from its parts.
    public init(added: [VaultPath] = [], modified: [VaultPath] = [], deleted: [VaultPath] = []) {
        self.added = added
        self.modified = modified
        self.deleted = deleted
    }

    /// Nothing changed.
    public var isEmpty: Bool { added.isEmpty && modified.isEmpty && deleted.isEmpty }
    /// The number of paths.
    public var count: Int { added.count + modified.count + deleted.count }
    /// All of them, sorted.
    public var paths: [VaultPath] { (added + modified + deleted).sorted() }
}

/// An entry of the working copy that a commit leaves out.
public struct SkippedEntry: Sendable, Equatable {
    /// Why it is left out.
    public enum Reason: String, Sendable {
        /// A symbolic link.
        case symbolicLink = "symbolic_link"
        /// A pipe, a socket or a device.
        case specialFile = "special_file"
        /// It could not be read.
        case unreadable
        /// The name is not valid UTF-8.
        case nameNotUTF8 = "name_not_utf8"
        /// The name is longer than the format or the file system holds.
        case nameTooLong = "name_too_long"
        /// More folders lie above it than this version writes (512).
        case tooDeep = "too_deep"
        /// The file system takes the name for that of another file.
        case nameTaken = "name_taken"
        /// The file system refuses the name.
        case nameRefused = "name_refused"
        /// The name could not be checked out safely elsewhere.
        case unsafeName = "unsafe_name"
    }

    /// The path below the vault root, as bytes (it may not be valid UTF-8).
    public let path: [UInt8]
    /// Why it is left out.
    public let reason: Reason

    /// Makes one from its parts.
    public init(path: [UInt8], reason: Reason) {
        self.path = path
        self.reason = reason
    }
}

/// What this clone knows of its remote, without asking it.
public struct RemoteState: Sendable, Equatable {
    /// How the clone's head relates to the last known remote head.
    public enum Relation: String, Sendable {
        /// No remote is recorded.
        case unknown
        /// The remote was never read.
        case neverRead = "never_read"
        /// The remote did not have the branch.
        case absent
        /// Both have the same head.
        case upToDate = "up_to_date"
        /// This clone has commits that the remote lacks.
        case ahead
        /// The remote has commits that this clone lacks.
        case behind
        /// Both have commits of their own.
        case diverged
        /// The remote went back.
        case rewound
    }

    /// The remote's name; `origin` when only an address is recorded.
    public var name: String
    /// The address.
    public var url: String?
    /// The last known head there.
    public var head: ObjectID?
    /// When the head was read, milliseconds since 1970.
    public var seenMs: Int64?
    /// The head that was last accepted from there, by a pull or a push of either tool; nil when none was.
    public var accepted: ObjectID?
    /// How the two heads relate.
    public var relation: Relation
    /// Commits here that the remote lacks, and the reverse; nil when not known.
    public var ahead: Int?
    /// Commits there that this clone lacks; nil when not known.
    public var behind: Int?
    /// True when `behind` counts only the commits whose objects are held.
    public var behindIsLowerBound: Bool
}

/// The answer of `Vault.status`.
public struct StatusReport: Sendable {
    /// The vault root, for showing.
    public var directory: String
    /// The vault.
    public var vaultID: VaultID
    /// How the clone may be used.
    public var mode: CloneMode
    /// The named branch this clone works on.
    public var branch: String
    /// The clone's head; nil for a branch without commits.
    public var head: ObjectID?
    /// What is known of the remote.
    public var remote: RemoteState
    /// A merge waits to be finished.
    public var mergeInProgress: Bool
    /// The paths that keep it from being finished.
    public var conflicts: [VaultPath]
    /// The working copy against the head.
    public var changes: Changes
    /// What could not be read, and so not be compared.
    public var unreadable: [SkippedEntry]
    /// What a commit would leave out.
    public var skipped: [SkippedEntry]
    /// Untracked paths that an ignore rule covers; filled only when asked for.
    ///
    /// Folders end in `/`.
    public var ignored: [[UInt8]]
    /// Stashes of either tool.
    public var stashCount: Int
    /// Set when an interrupted operation was found that the next writing verb will finish or undo.
    public var interrupted: String?
    /// A rekey that was begun in this clone and waits to be gone on with or given up.
    public var rekey: PendingRekey?
    /// Set when another program moved this clone's head since the last command here: the commit that is no longer
    /// reachable from it.
    public var overwrittenHead: ObjectID?

    /// Nothing changed, nothing unreadable, no merge under way.
    public var isClean: Bool { changes.isEmpty && unreadable.isEmpty && !mergeInProgress }
}

/// What `Vault.status` looks at.
public struct StatusOptions: Sendable {
    /// Only paths at or below these; empty means all.
    public var paths: [VaultPath]
    /// Fill `StatusReport.ignored`.
    public var includeIgnored: Bool
    /// Compare with what is known of this address instead of with the recorded remote.
    public var remoteURL: String?

    /// Makes one from its parts.
    public init(paths: [VaultPath] = [], includeIgnored: Bool = false, remoteURL: String? = nil) {
        self.remoteURL = remoteURL
        self.paths = paths
        self.includeIgnored = includeIgnored
    }
}
