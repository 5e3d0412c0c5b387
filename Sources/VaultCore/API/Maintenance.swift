public import VaultFormat

/// How `Vault.collectGarbage` prunes.
public struct GarbageOptions: Sendable {
    /// Unreachable objects that are younger are kept, in seconds; at least an hour.
    public var olderThanSeconds: Int64
    /// Only tell what would be removed.
    public var dryRun: Bool

    /// Two weeks.
    public static let standardAge: Int64 = 14 * 86_400
    /// The least age, in seconds: what a command that is running now has just written is always younger.
    public static let leastAge: Int64 = 3_600

    /// Makes one from its parts.
    public init(olderThanSeconds: Int64 = GarbageOptions.standardAge, dryRun: Bool = false) {
        self.olderThanSeconds = olderThanSeconds
        self.dryRun = dryRun
    }
}

/// The answer of `Vault.collectGarbage`.
public struct GarbageReport: Sendable, Equatable {
    /// Unreachable objects that were removed, or would be, sorted.
    public var removed: [ObjectID] = []
    /// Their bytes.
    public var bytes: Int64 = 0
    /// Objects that something refers to.
    public var reachable = 0
    /// Objects that nothing refers to and that were kept, because they are young, belong to something young, or their age
    /// can not be told.
    public var kept = 0
    /// Moves that the reflog forgot.
    public var expiredMoves = 0
    /// Damaged objects set aside before, of which a sound copy is held by now.
    public var quarantined = 0
    /// The clone holds a part of the vault only; what it does not hold counted as reachable and whole.
    public var isPartial = false

    /// Nothing yet.
    public init() {}
}

/// The answer of `Vault.repairRemote`.
public struct RemoteRepair: Sendable, Equatable {
    /// Objects and keys that the remote's branches reach.
    public var checked = 0
    /// Objects and keys that the remote lacked and has now, as names, sorted.
    public var restored: [String] = []
    /// Bytes of these.
    public var bytes: Int64 = 0
    /// Objects that neither the remote nor this clone holds, which only a clone of a part of a vault may lack.
    public var missing: [ObjectID] = []

    /// Nothing yet.
    public init() {}
}

/// The answer of `Vault.destroyRemote`.
public struct RemoteDestruction: Sendable, Equatable {
    /// The vault that is gone there.
    public var vaultID: VaultID
    /// Where it was.
    public var location: String
    /// Files that the place removed; nil where it did not tell.
    public var files: Int?
}

/// How `Vault.backup` copies.
public struct BackupOptions: Sendable {
    /// A word of the name, `[A-Za-z0-9_-]{1,40}`.
    public var label: String
    /// Also the vault key and this clone's signing keys, in clear.
    public var includesKey: Bool
    /// Also while there are uncommitted changes, which no backup holds.
    public var allowsDirty: Bool
    /// Replace an existing file.
    public var replaces: Bool

    /// Makes one from its parts.
    public init(
        label: String = "manual", includesKey: Bool = false, allowsDirty: Bool = false, replaces: Bool = false
    ) {
        self.label = label
        self.includesKey = includesKey
        self.allowsDirty = allowsDirty
        self.replaces = replaces
    }
}

/// The answer of `Vault.backup`.
public struct BackupResult: Sendable, Equatable {
    /// The file's path.
    public var path: String
    /// Its bytes.
    public var bytes: Int64
    /// SHA-256 of the file, 64 hex digits.
    public var sha256: String
    /// Objects in it.
    public var objects: Int
    /// Whoever has the file can read and write the vault.
    public var includesKey: Bool
}

/// How `Vault.restoreBackup` restores.
public struct RestoreOptions: Sendable {
    /// Into a folder that holds files, of which none is touched: they are the working copy.
    public var existing: Bool
    /// Neither a key nor plaintext on disk.
    public var bare: Bool
    /// Where the restored clone publishes; a backup does not tell.
    public var server: String?

    /// Makes one from its parts.
    public init(existing: Bool = false, bare: Bool = false, server: String? = nil) {
        self.existing = existing
        self.bare = bare
        self.server = server
    }
}

/// The answer of `Vault.restoreBackup`.
public struct RestoreBackupResult: Sendable {
    /// The restored clone's folder.
    public var directory: String
    /// The vault.
    public var vaultID: VaultID
    /// How the clone may be used.
    public var mode: CloneMode
    /// Its head.
    public var head: ObjectID?
    /// Objects restored.
    public var objects: Int
    /// Files of the working copy that were written.
    public var files: Int
    /// The key was in the backup.
    public var heldKey: Bool
    /// The backup holds no signing key of this clone's branch, so its commits will not be signed.
    public var lacksSigningKey: Bool
    /// Members that are no part of a backup and were left out.
    public var skipped: [String]
    /// Tracked paths that this platform could not store.
    public var notStored: [SkippedEntry]
}
