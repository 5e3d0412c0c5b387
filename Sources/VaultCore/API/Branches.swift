public import VaultFormat

/// A named branch as this clone knows it.
public struct BranchInfo: Sendable, Equatable {
    /// The name.
    public var name: String
    /// The id.
    public var id: String
    /// Whether this clone works on it.
    public var isCurrent: Bool
    /// Its head here, commits of this clone that are not pushed included; nil where it was never fetched.
    public var head: ObjectID?
    /// Its head at the default remote when that was last read.
    public var upstreamHead: ObjectID?
    /// Commits of `head` that `upstreamHead` lacks; nil when that can not be told.
    public var ahead: Int?
    /// Commits of `upstreamHead` that `head` lacks; nil when that can not be told.
    public var behind: Int?
    /// Whether others may know it: false for one that was made here and never pushed.
    public var isPushed: Bool
}

/// The answer of `Vault.switchBranch`.
public struct SwitchResult: Sendable {
    /// The branch that is worked on now.
    public var branch: String
    /// Its head.
    public var head: ObjectID?
    /// What changed in the working copy.
    public var changes: Changes
    /// Uncommitted work that was taken along; `added` are untracked files.
    public var kept: Changes
    /// The paths of `kept`, sorted.
    public var keptDirty: [VaultPath] { kept.paths }
    /// Tracked paths that this platform could not store.
    public var notWritten: [SkippedEntry]
    /// The edits that were put aside instead of being taken along.
    public var stash: StashInfo?
}

/// The answer of `Vault.deleteBranch`.
public struct BranchDeletion: Sendable, Equatable {
    /// What became of the branch.
    public enum End: String, Sendable {
        /// It was made here and never pushed: it is gone.
        case removed
        /// The vault keeps it; this clone does not show it any more.
        case hidden
    }
    /// What became of it.
    public var end: End
    /// Where it was, which still names its commits; nil for one that was never fetched.
    public var head: ObjectID?
}
