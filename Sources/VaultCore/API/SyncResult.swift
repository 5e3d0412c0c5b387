public import VaultFormat

/// How `Vault.create` makes a vault.
public struct CreateOptions: Sendable {
    /// Width of new object ids: 1 (12 hex digits) or 2 (32).
    public var format: Int
    /// Allow a directory that holds files.
    public var existing: Bool
    /// The server to record, as text; a folder as an absolute path.
    public var server: String?

    public init(format: Int = 1, existing: Bool = false, server: String? = nil) {
        self.format = format
        self.existing = existing
        self.server = server
    }
}

/// The answer of `Vault.create`.
public struct CreateResult: Sendable {
    public var directory: String
    public var vaultID: VaultID
    public var branch: String
    public var branchID: String
    public var head: ObjectID
    public var server: String?
}

/// How `Vault.clone` makes a clone.
public struct CloneOptions: Sendable {
    /// Keep no working copy and no key.
    public var bare: Bool
    /// Keep the read key only, although a vault key was given.
    public var readOnly: Bool
    /// The server to record, as text.
    public var server: String?
    /// Leave what was fetched in place after a failure.
    public var keepPartial: Bool

    public init(bare: Bool = false, readOnly: Bool = false, server: String? = nil, keepPartial: Bool = false) {
        self.bare = bare
        self.readOnly = readOnly
        self.server = server
        self.keepPartial = keepPartial
    }
}

/// The answer of `Vault.clone`.
public struct CloneResult: Sendable {
    public var directory: String
    public var vaultID: VaultID
    public var mode: CloneMode
    public var branch: String
    public var cloneBranchID: String?
    /// Nil for a branch without commits.
    public var head: ObjectID?
    public var commits: Int
    public var objects: Int
    public var bytes: Int64
    public var files: Int
    /// Commits whose signature did not verify, with what it was.
    public var unverified: [(commit: ObjectID, status: SignatureStatus)]
    /// Tracked paths that this platform could not store.
    public var notStored: [SkippedEntry]
}

/// How `Vault.push` publishes.
public struct PushOptions: Sendable {
    /// Merge and try again when the remote moved.
    public var pullFirst: Bool
    /// Replace whatever head the remote has at this moment (spec 05 §9.4).
    public var force: Bool
    /// Replace the remote's head only when it is this one; `.some(nil)` means the last accepted head.
    public var lease: ObjectID??
    public var branchOnly: Bool
    public var requireClean: Bool
    /// Only tell what would be sent.
    public var dryRun: Bool

    public init(
        pullFirst: Bool = false, force: Bool = false, lease: ObjectID?? = nil, branchOnly: Bool = false,
        requireClean: Bool = false, dryRun: Bool = false
    ) {
        self.pullFirst = pullFirst
        self.force = force
        self.lease = lease
        self.branchOnly = branchOnly
        self.requireClean = requireClean
        self.dryRun = dryRun
    }
}

/// The answer of `Vault.push`.
public struct PushResult: Sendable {
    public enum Outcome: String, Sendable {
        case pushed, created
        case upToDate = "up_to_date"
    }
    public var outcome: Outcome
    public var branch: String
    /// The remote's head before and after.
    public var old: ObjectID?
    public var new: ObjectID?
    public var commits: Int
    public var objects: Int
    public var bytes: Int64
    public var retries: Int
}

/// How `Vault.pull` merges.
public struct PullOptions: Sendable {
    public var fastForwardOnly: Bool
    public var acceptRewind: Bool

    public init(fastForwardOnly: Bool = false, acceptRewind: Bool = false) {
        self.fastForwardOnly = fastForwardOnly
        self.acceptRewind = acceptRewind
    }
}

/// The answer of `Vault.pull`.
public struct PullResult: Sendable {
    public enum Outcome: String, Sendable {
        case upToDate = "up_to_date"
        case fastForward = "fast_forward"
        case merged
    }
    public var outcome: Outcome
    public var branch: String
    public var old: ObjectID?
    public var new: ObjectID?
    public var changes: Changes
    /// Uncommitted edits that were kept.
    public var keptDirty: [VaultPath]
    public var notWritten: [SkippedEntry]
}

/// The answer of `Vault.fetch`.
public struct FetchResult: Sendable {
    public struct RefMove: Sendable, Equatable {
        public var branch: String
        public var old: ObjectID?
        public var new: ObjectID?
    }
    public var refs: [RefMove]
    public var objects: Int
    public var bytes: Int64
}

/// What `Vault.fsck` checks.
public struct FsckOptions: Sendable {
    /// Check that everything is there without reading blobs.
    public var connectivityOnly: Bool
    /// Skip decrypting blobs; every object is still hashed.
    public var quick: Bool
    public var checkSignatures: Bool
    /// Fetch missing objects and replace corrupt ones.
    public var repair: Bool

    public init(
        connectivityOnly: Bool = false, quick: Bool = false, checkSignatures: Bool = true, repair: Bool = false
    ) {
        self.connectivityOnly = connectivityOnly
        self.quick = quick
        self.checkSignatures = checkSignatures
        self.repair = repair
    }
}

/// The answer of `Vault.fsck`.
public struct FsckReport: Sendable {
    public struct Finding: Sendable, Equatable {
        public enum Kind: String, Sendable { case commit, tree, blob, key, ref, index, state, other }
        public var id: String
        public var kind: Kind
        /// The commit or tree that refers to it, or the local file concerned.
        public var referencedBy: String?
        /// The path a blob or tree stands at.
        public var path: VaultPath?
        /// What is wrong, in words.
        public var detail: String
    }
    public struct Checked: Sendable, Equatable {
        public var objects = 0
        public var bytes: Int64 = 0
        public var commits = 0
        public var trees = 0
        public var blobs = 0
        public init() {}
    }
    public struct Signatures: Sendable, Equatable {
        public var verified = 0
        public var unsigned = 0
        public var noKey = 0
        public var bad: [ObjectID] = []
        public init() {}
    }
    public var checked: Checked
    public var missing: [Finding]
    public var corrupt: [Finding]
    /// Refs, index, keys and local state that do not read.
    public var broken: [Finding]
    /// Objects held that nothing reaches.
    public var dangling: Int
    public var signatures: Signatures
    public var repaired: [String]
    public var unrepaired: [String]

    /// True when nothing is wrong, or everything wrong was repaired.
    public var isClean: Bool {
        unrepaired.isEmpty && signatures.bad.isEmpty
    }
}

/// The answer of `Vault.info`.
public struct VaultInfo: Sendable {
    public var vaultID: VaultID
    public var directory: String
    public var mode: CloneMode
    public var server: String?
    public var branch: String
    public var head: ObjectID?
    public var format: Int
    public var minClient: String?
    public var features: [String]
    public var objects: Int
    public var bytes: Int64
}

/// A saved remote (`local/remotes.json`, spec 03 §2).
public struct RemoteRecord: Sendable, Equatable {
    public var name: String
    public var url: String
    public var vaultID: String?
    public var isDefault: Bool
    public var verifiesTLS: Bool
    public var createdAtMs: Int64
    public var lastOkMs: Int64?
}
