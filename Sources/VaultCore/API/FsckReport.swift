public import VaultFormat

/// What `Vault.fsck` checks.
public struct FsckOptions: Sendable {
    /// Check that everything is there without reading blobs.
    public var connectivityOnly: Bool
    /// Skip decrypting blobs; every object is still hashed.
    public var quick: Bool
    /// Check the signature of every commit.
    public var checkSignatures: Bool
    /// Fetch missing objects and replace corrupt ones.
    public var repair: Bool

    /// Look at no object.
    var ownFilesOnly = false

    /// Makes one from its parts.
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
    /// One thing that is wrong.
    public struct Finding: Sendable, Equatable {
        /// What the finding is about.
        public enum Kind: String, Sendable {
            /// A commit.
            case commit
            /// A folder.
            case tree
            /// File content.
            case blob
            /// A tag.
            case tag
            /// A public key.
            case key
            /// A ref.
            case ref
            /// The branch index.
            case index
            /// A file of the clone itself.
            case state
            /// An object that nothing refers to.
            case other
        }
        /// The id of the object or the name of the file.
        public var id: String
        /// What it is.
        public var kind: Kind
        /// The commit or tree that refers to it, or the local file concerned.
        public var referencedBy: String?
        /// The path a blob or tree stands at.
        public var path: VaultPath?
        /// What is wrong, in words.
        public var detail: String
    }
    /// What was looked at.
    public struct Checked: Sendable, Equatable {
        /// Objects hashed.
        public var objects = 0
        /// Their bytes.
        public var bytes: Int64 = 0
        /// Commits reached.
        public var commits = 0
        /// Folders reached.
        public var trees = 0
        /// File contents reached.
        public var blobs = 0
        /// Nothing yet.
        public init() {}
    }
    /// What checking the signatures gave.
    public struct Signatures: Sendable, Equatable {
        /// Commits that verify.
        public var verified = 0
        /// Commits without a signature.
        public var unsigned = 0
        /// Commits whose key is not known.
        public var noKey = 0
        /// Commits that do not verify.
        public var bad: [ObjectID] = []
        /// Nothing yet.
        public init() {}
    }
    /// What was looked at.
    public var checked: Checked
    /// Objects that history refers to and that are not here.
    public var missing: [Finding]
    /// Objects that do not hold what they should.
    public var corrupt: [Finding]
    /// Refs, index, keys and local state that do not read.
    public var broken: [Finding]
    /// Files that the system does not let be read: nothing is known of what they hold.
    public var unreadable: [Finding] = []
    /// Records of this clone that a newer version wrote: they are left as they are.
    public var newer: [Finding] = []
    /// Objects held that nothing reaches.
    public var dangling: Int
    /// Contents and folders that a partial clone leaves at the remote.
    public var absent = 0
    /// The signatures of commits.
    public var signatures: Signatures
    /// The signatures of tags; one that is missing was not fetched yet, which is no damage.
    public var tags = SignatureCounts()
    /// Names of tags that do not verify.
    public var badTags: [String] = []
    /// What a repair could not bring back, and what that means.
    public var notes: [String] = []
    /// Keys of other clones' branches that are not here: the reference does not publish all of them.
    var lackingKeys: [KeyID] = []
    /// Objects that were fetched again, and files of the clone that were made anew.
    public var repaired: [String]
    /// What is still wrong.
    public var unrepaired: [String]

    /// True when damage was found that is not repaired, and not merely files that could not be read or are of a newer
    /// version.
    public var isDamaged: Bool {
        !signatures.bad.isEmpty || !badTags.isEmpty || unrepaired.count > unreadable.count + newer.count
    }

    /// True when nothing is wrong, or everything wrong was repaired.
    public var isClean: Bool {
        unrepaired.isEmpty && signatures.bad.isEmpty && badTags.isEmpty
    }
}
