public import VaultFormat

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
    /// With `all`: branches that were not fetched, and why; nothing of them has changed here.
    public var failures: [(branch: String, error: VaultError)] = []
    /// What others did to tags.
    public var tags: [TagChange] = []
}
