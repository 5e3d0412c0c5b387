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
    /// The backup holds no signing key, so the clone has got a branch and a key of its own.
    public var hasNewBranch: Bool
    /// Members that are no part of a backup and were left out.
    public var skipped: [String]
    /// Tracked paths that this platform could not store.
    public var notStored: [SkippedEntry]
}

/// A rekey that was begun and has not been ended.
public struct PendingRekey: Sendable, Equatable {
    /// How far a rekey has come.
    public enum Phase: String, Sendable {
        /// The new key is stored; objects are being encrypted anew.
        case building
        /// The new store is whole and checked.
        case built
        /// It is also at its server, and was read back from there.
        case published
        /// The clone is one of the new vault; the old one lies beside it, whole.
        case swapped
    }
    /// How far it has come.
    public var phase: Phase
    /// The vault that is given up.
    public var oldVaultID: VaultID
    /// The vault that takes its place.
    public var newVaultID: VaultID
    /// Where the old vault is published; nil when it is not.
    public var oldServer: String?
    /// Where the new vault is to be published; nil when it is not.
    public var newServer: String?
    /// The folder beside the new vault that holds the old one, once they have changed places.
    public var oldFolder: String?
}

/// The answer of `Vault.finishRekey`.
public struct RekeyResult: Sendable, Equatable {
    /// The vault that was given up.
    public var oldVaultID: VaultID
    /// The vault that took its place.
    public var newVaultID: VaultID
    /// The clone's head before.
    public var oldHead: ObjectID?
    /// The same commit, encrypted anew.
    public var newHead: ObjectID?
    /// Commits encrypted anew.
    public var commits: Int
    /// Objects of the new store.
    public var objects: Int
    /// Commits whose signature could not be made anew, because their key is not here; they are unsigned now.
    public var unsigned: Int
    /// Where the new vault is published; nil when it is not.
    public var server: String?
    /// The folder in the vault's root that holds the old vault.
    public var oldFolder: String
}

/// The answer of `Vault.detach`.
public struct DetachResult: Sendable, Equatable {
    /// The folder that is no clone any more.
    public var directory: String
    /// The vault that it was a clone of.
    public var vaultID: VaultID
    /// The backup in the folder; nil when none was wanted.
    public var backup: BackupResult?
}

/// The answer of `Vault.attach`.
public struct AttachResult: Sendable {
    /// The clone's folder.
    public var directory: String
    /// The vault.
    public var vaultID: VaultID
    /// How the clone may be used from now on.
    public var mode: CloneMode
    /// Its head.
    public var head: ObjectID?
    /// Files of the working copy that were written.
    public var written: [VaultPath]
    /// Files that were there with other content and were kept.
    public var kept: [VaultPath]
    /// Tracked paths that this platform could not store.
    public var notStored: [SkippedEntry]
}
