public import VaultFormat

/// How `Vault.create` makes a vault.
public struct CreateOptions: Sendable {
    /// Width of new object ids: 1 (12 hex digits) or 2 (32).
    public var format: Int
    /// Allow a directory that holds files.
    public var existing: Bool
    /// The server to record, as text; a folder as an absolute path.
    public var server: String?

    /// Makes one from its parts.
    public init(format: Int = 1, existing: Bool = false, server: String? = nil) {
        self.format = format
        self.existing = existing
        self.server = server
    }
}

/// The answer of `Vault.create`.
public struct CreateResult: Sendable {
    /// The vault root, for showing.
    public var directory: String
    /// The vault.
    public var vaultID: VaultID
    /// The named branch.
    public var branch: String
    /// Its id.
    public var branchID: String
    /// The first commit.
    public var head: ObjectID
    /// The recorded server.
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
    /// Leave the objects that were fetched after a failure, for a later clone that resumes.
    public var keepPartial: Bool
    /// Go on with what an interrupted clone to the same place left, also one that was killed; implies `keepPartial`.
    public var resumes: Bool
    /// Hold these folders only; empty means the whole vault.
    public var scope: [VaultPath]
    /// Fetch no more than so many levels of commits; nil means all history.
    public var depth: Int?
    /// Fetch history and folders, and put no file into the working copy; contents come when they are wanted.
    public var noCheckout: Bool

    /// Makes one from its parts.
    public init(
        bare: Bool = false, readOnly: Bool = false, server: String? = nil, keepPartial: Bool = false,
        resumes: Bool = false, scope: [VaultPath] = [], depth: Int? = nil, noCheckout: Bool = false
    ) {
        self.scope = scope
        self.depth = depth
        self.noCheckout = noCheckout
        self.resumes = resumes
        self.bare = bare
        self.readOnly = readOnly
        self.server = server
        self.keepPartial = keepPartial
    }
}

/// The answer of `Vault.clone`.
public struct CloneResult: Sendable {
    /// The vault root, for showing.
    public var directory: String
    /// The vault.
    public var vaultID: VaultID
    /// How the clone may be used.
    public var mode: CloneMode
    /// The named branch.
    public var branch: String
    /// This clone's own branch; nil when it can not commit.
    public var cloneBranchID: String?
    /// Nil for a branch without commits.
    public var head: ObjectID?
    /// Commits fetched.
    public var commits: Int
    /// Objects of the vault.
    public var objects: Int
    /// Their bytes.
    public var bytes: Int64
    /// How many of the objects an interrupted clone had fetched already.
    public var resumed: Int
    /// Files written.
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
    /// Publish this clone's own branch instead of the named one.
    public var branchOnly: Bool
    /// Refuse when the working copy has changes.
    public var requireClean: Bool
    /// Only tell what would be sent.
    public var dryRun: Bool
    /// With `pullFirst`: merge texts that both sides changed line by line.
    public var mergesTexts: Bool

    /// Makes one from its parts.
    public init(
        pullFirst: Bool = false, force: Bool = false, lease: ObjectID?? = nil, branchOnly: Bool = false,
        requireClean: Bool = false, dryRun: Bool = false, mergesTexts: Bool = true
    ) {
        self.mergesTexts = mergesTexts
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
    /// What a push came to.
    public enum Outcome: String, Sendable {
        /// The branch moved.
        case pushed
        /// The vault is new there.
        case created
        /// There was nothing to do.
        case upToDate = "up_to_date"
    }
    /// What the push came to.
    public var outcome: Outcome
    /// The named branch.
    public var branch: String
    /// The remote's head before and after.
    public var old: ObjectID?
    /// The remote's head after.
    public var new: ObjectID?
    /// Commits sent.
    public var commits: Int
    /// Objects sent.
    public var objects: Int
    /// Bytes of these objects.
    public var bytes: Int64
    /// Rounds that were lost before this one.
    public var retries: Int
}

/// How `Vault.pull` merges.
public struct PullOptions: Sendable {
    /// Refuse to merge.
    public var fastForwardOnly: Bool
    /// Take a remote head that does not contain the last accepted one.
    public var acceptRewind: Bool
    /// Merge texts that both sides changed line by line.
    public var mergesTexts: Bool

    /// Makes one from its parts.
    public init(fastForwardOnly: Bool = false, acceptRewind: Bool = false, mergesTexts: Bool = true) {
        self.mergesTexts = mergesTexts
        self.fastForwardOnly = fastForwardOnly
        self.acceptRewind = acceptRewind
    }
}

/// The answer of `Vault.pull`.
public struct PullResult: Sendable {
    /// What a pull came to.
    public enum Outcome: String, Sendable {
        /// There was nothing to do.
        case upToDate = "up_to_date"
        /// The branch moved forward.
        case fastForward = "fast_forward"
        /// A merge commit was made.
        case merged
        /// The merge waits: the working copy holds what could be merged, and the conflicting paths need a person.
        case conflicts
        /// The remote has no such branch; nothing came, and the next push makes it.
        case absent
    }
    /// What the pull came to.
    public var outcome: Outcome
    /// The named branch.
    public var branch: String
    /// The clone's head before.
    public var old: ObjectID?
    /// The clone's head after.
    public var new: ObjectID?
    /// What changed in the working copy.
    public var changes: Changes
    /// Uncommitted work that was kept; `added` are untracked files.
    public var kept: Changes
    /// The paths of `kept`, sorted.
    public var keptDirty: [VaultPath] { kept.paths }
    /// Tracked paths that this platform could not store.
    public var notWritten: [SkippedEntry]
    /// The paths that conflict.
    public var conflicts: [VaultPath]
}

/// What `Vault.fetch` brings.
public struct FetchOptions: Sendable {
    /// Every named branch, not only the one that is worked on.
    public var all: Bool
    /// Forget what was seen of branches that the remote does not have any more.
    public var prunes: Bool
    /// Bring all history behind the commits at which it ends in a shallow clone.
    public var unshallow: Bool
    /// Bring so many levels of it.
    public var deepen: Int?
    /// Check the signatures of the commits that come.
    public var verifies: Bool

    /// Makes one from its parts.
    public init(
        all: Bool = false, prunes: Bool = false, unshallow: Bool = false, deepen: Int? = nil, verifies: Bool = false
    ) {
        self.all = all
        self.prunes = prunes
        self.unshallow = unshallow
        self.deepen = deepen
        self.verifies = verifies
    }
}

/// The answer of `Vault.fetch`.
public struct FetchResult: Sendable {
    /// A remote branch and where it went.
    public struct RefMove: Sendable, Equatable {
        /// The named branch.
        public var branch: String
        /// Its head when it was last read.
        public var old: ObjectID?
        /// Its head now.
        public var new: ObjectID?
        /// The branch went back: it no longer contains what it had, or is gone.
        public var isRewind: Bool
    }
    /// The branches that were read.
    public var refs: [RefMove]
    /// Objects fetched.
    public var objects: Int
    /// Bytes of these objects.
    public var bytes: Int64
    /// Branches that the remote does not have any more, and that were forgotten.
    public var pruned: [String] = []
    /// The commits at which history ends in this clone; none where all of it is here.
    public var boundary: [ObjectID] = []
}

/// The answer of `Vault.info`.
public struct VaultInfo: Sendable {
    /// The vault.
    public var vaultID: VaultID
    /// The vault root, for showing.
    public var directory: String
    /// How the clone may be used.
    public var mode: CloneMode
    /// Where it is published; nil when none is recorded.
    public var server: String?
    /// The named branch.
    public var branch: String
    /// The clone's head.
    public var head: ObjectID?
    /// The width of new ids: 1 or 2.
    public var format: Int
    /// The oldest client allowed.
    public var minClient: String?
    /// The vault's features.
    public var features: [String]
    /// Objects held.
    public var objects: Int
    /// Their bytes.
    public var bytes: Int64
}

/// A saved remote (`local/remotes.json`, spec 03 §2).
public struct RemoteRecord: Sendable, Equatable {
    /// Its name.
    public var name: String
    /// Its address.
    public var url: String
    /// The vault it was saved for.
    public var vaultID: String?
    /// It is used when none is named.
    public var isDefault: Bool
    /// Certificates are verified.
    public var verifiesTLS: Bool
    /// When it was saved, milliseconds since 1970.
    public var createdAtMs: Int64
    /// When it was last seen to answer; nil when never.
    public var lastOkMs: Int64?
}
