public import VaultFormat

/// A tag with what its signature is worth.
public struct TagInfo: Sendable, Equatable {
    /// The name.
    public var name: String
    /// The tag object; nil when the index names none.
    public var id: ObjectID?
    /// The commit it names; nil when the tag object is not here or does not read.
    public var target: ObjectID?
    /// What whoever made it wrote; empty when there is nothing.
    public var message: String
    /// Milliseconds since 1970; nil when the tag does not say.
    public var timeMs: Int64?
    /// The name of the branch that made it, when the index knows it.
    public var taggerName: String?
    /// The key that signed it.
    public var taggerKeyID: String?
    /// What checking the signature gave; `missing` when the tag object is not here.
    public var signature: SignatureStatus
    /// False for one that was made here and is sent with the next push.
    public var isPushed: Bool
}

/// The answer of `Vault.createTag`.
public struct TagCreation: Sendable, Equatable {
    /// The new tag.
    public var tag: TagInfo
    /// The commit that the tag of this name stood for before; nil when there was none, or it can not be told.
    public var oldTarget: ObjectID?
}

/// The answer of `Vault.deleteTag`.
public struct TagDeletion: Sendable, Equatable {
    /// What became of a tag that was deleted.
    public enum Outcome: String, Sendable {
        /// It was made here and never pushed: it is gone.
        case removed
        /// It was made here in place of the vault's tag of that name, which stands again.
        case restored
        /// It is deleted here, and for others with the next push.
        case deleted
    }
    /// The name.
    public var name: String
    /// What became of it.
    public var outcome: Outcome
    /// The commit it stood for; nil when that can not be told.
    public var target: ObjectID?
}

/// A tag that came, moved or went with a push, pull or fetch.
public struct TagChange: Sendable, Equatable {
    /// What happened to a tag.
    public enum Kind: String, Sendable {
        /// There was none of that name.
        case added
        /// It stands for another tag object than before.
        case moved
        /// It was deleted.
        case deleted
    }
    /// The name.
    public var name: String
    /// What happened.
    public var kind: Kind
    /// The commit it stands for now; nil for one that was deleted or can not be read.
    public var target: ObjectID?
}

/// How many signatures were worth what.
public struct SignatureCounts: Sendable, Equatable {
    /// Signed with a key of the vault.
    public var verified = 0
    /// Signatures that do not verify.
    public var bad = 0
    /// Without a signature.
    public var unsigned = 0
    /// Signed with a key that is not known.
    public var noKey = 0
    /// Not here.
    public var missing = 0
    /// Nothing yet.
    public init() {}

    mutating func count(_ status: SignatureStatus) {
        switch status {
        case .verified: verified += 1
        case .bad: bad += 1
        case .unsigned: unsigned += 1
        case .noKey: noKey += 1
        case .missing: missing += 1
        }
    }
}
