public import VaultFormat

/// How `Vault.merge` merges.
public struct MergeOptions: Sendable {
    /// When a merge commit is made.
    public enum FastForward: Sendable {
        /// Only when both branches have moved.
        case whenPossible
        /// Never; where it would be needed the merge is refused.
        case only
        /// Always.
        case never
    }
    /// When a merge commit is made.
    public var fastForward: FastForward
    /// The message of the merge commit; nil for the usual words.
    public var message: String?
    /// Merge texts that both sides changed line by line.
    public var mergesTexts: Bool

    /// Makes one from its parts.
    public init(fastForward: FastForward = .whenPossible, message: String? = nil, mergesTexts: Bool = true) {
        self.fastForward = fastForward
        self.message = message
        self.mergesTexts = mergesTexts
    }
}

/// A merge that was ended without its result.
public struct MergeAbort: Sendable {
    /// The paths that were given back.
    public var restored: [VaultPath]
    /// What had been written by hand at conflicting paths and is in no commit; nil when there was no such thing.
    public var stash: StashInfo?
}

/// A conflicting path of the merge in progress.
public struct Conflict: Sendable, Equatable {
    /// What the two sides did.
    public enum Kind: String, Sendable {
        /// Both changed the file.
        case bothModified = "both_modified"
        /// Both added a file of this name.
        case bothAdded = "both_added"
        /// This side deleted the file and the other changed it.
        case deletedByUs = "deleted_by_us"
        /// This side changed the file and the other deleted it.
        case deletedByThem = "deleted_by_them"
        /// One side has a file and the other a folder here.
        case fileAndFolder = "file_and_folder"
        /// One side added a file of this name, and the other one whose name differs in case only.
        case caseClash = "case_clash"
    }
    /// How different the two sides are.
    public enum Verdict: String, Sendable {
        /// Both differ from the base and from each other.
        case genuine
        /// Both hold the same bytes.
        case identical
        /// One side holds what the base does.
        case oneSided = "one_sided"
    }
    /// One side's file.
    public struct Side: Sendable, Equatable {
        /// Its object.
        public var blobID: ObjectID
        /// Plaintext bytes.
        public var size: Int64
    }
    /// The path.
    public var path: VaultPath
    /// What the two sides did.
    public var kind: Kind
    /// The file before; nil where there was none.
    public var base: Side?
    /// This side's file; nil where it is gone, or a folder.
    public var ours: Side?
    /// The other side's file; nil where it is gone, or a folder.
    public var theirs: Side?
    /// How different the two sides are.
    public var verdict: Verdict
    /// Whether it is decided.
    public var isResolved: Bool
}

/// A side of a merge.
public enum MergeSide: String, Sendable, CaseIterable {
    /// What both sides began with.
    case base
    /// This clone's side.
    case ours
    /// The other side.
    case theirs
}

/// How a conflict is decided.
public enum Resolution: Sendable {
    /// Take this side as it is, deletion included.
    case ours
    /// Take the other side as it is, deletion included.
    case theirs
    /// Take the lines of both, for texts.
    case union
    /// Take what the working copy holds.
    case workingFile
    /// Take these bytes.
    case content([UInt8])
}
