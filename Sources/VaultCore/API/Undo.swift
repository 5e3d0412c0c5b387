public import VaultFormat

/// What `Vault.restore` takes files from.
public enum RestoreSource: Sendable, Equatable {
    /// The head.
    case head
    /// A revision.
    case revision(String)
    /// This clone's side of the merge in progress.
    case ours
    /// The other side of the merge in progress.
    case theirs
}

/// The answer of `Vault.restore`.
public struct RestoreResult: Sendable {
    /// Files that were given the content of the source.
    public var written: [VaultPath]
    /// Files with uncommitted edits, which were left as they are, and what `notFiles` tells.
    public var kept: [VaultPath]
    /// Those of `kept` where a link, a special file or a folder stands, which is never replaced.
    public var notFiles: [VaultPath] = []
    /// Paths that name nothing in the source.
    public var missing: [VaultPath]
    /// Files that this platform could not store.
    public var notWritten: [SkippedEntry]
}

/// How `Vault.reset` moves the head.
public struct ResetOptions: Sendable {
    /// Give tracked files the content of the commit; otherwise every file stays as it is.
    public var hard: Bool
    /// Stash the edits that a hard reset would lose; without it such edits stop it.
    public var stashesEdits: Bool

    /// Makes one from its parts.
    public init(hard: Bool = false, stashesEdits: Bool = false) {
        self.hard = hard
        self.stashesEdits = stashesEdits
    }
}

/// The answer of `Vault.reset` and `Vault.undo`.
public struct HeadMove: Sendable {
    /// The head before.
    public var old: ObjectID?
    /// The head now.
    public var new: ObjectID
    /// What changed in the working copy.
    public var changes: Changes
    /// Uncommitted work that was taken along; `added` are untracked files.
    public var kept: Changes
    /// The paths of `kept`, sorted.
    public var keptDirty: [VaultPath] { kept.paths }
    /// Tracked paths that this platform could not store.
    public var notWritten: [SkippedEntry]
    /// The edits that were stashed before.
    public var stash: StashInfo?
}

/// A move of a branch in this clone.
public struct ReflogMove: Sendable, Equatable {
    /// How many moves of the same branch came after it, lines that do not read counted with them: `@{0}` is the last.
    public var number: Int
    /// The branch; nil when its ref belongs to none that is known.
    public var branch: String?
    /// The ref that was moved; nil for a line of the log that does not read, of which nothing but its number is known.
    public var refID: String?
    /// Where it was; nil for a new one.
    public var old: ObjectID?
    /// Where it went; nil for a line that does not read.
    public var new: ObjectID?
    /// Milliseconds since 1970; nil for a line that does not read.
    public var timeMs: Int64?
    /// The first line of the message of `new`; nil where that commit is not held.
    public var subject: String?
}

extension ReflogMove {
    /// A line that does not read.
    init(unreadable number: Int) { self.number = number }
}

/// The answer of `Vault.revert`.
public struct RevertResult: Sendable {
    /// The new commit; nil when the head has nothing left of what was to be undone.
    public var commit: CommitInfo?
    /// The named branch.
    public var branch: String
    /// What changed in the working copy.
    public var changes: Changes
    /// Uncommitted work that was taken along; `added` are untracked files.
    public var kept: Changes
    /// The paths of `kept`, sorted.
    public var keptDirty: [VaultPath] { kept.paths }
    /// Tracked paths that this platform could not store.
    public var notWritten: [SkippedEntry]
}

/// Uncommitted work that was put aside.
public struct StashInfo: Sendable, Equatable {
    /// Its place: the newest is 0.
    public var number: Int
    /// When it was made, in milliseconds since 1970.
    public var timeMs: Int64
    /// The head then; nil when there was none, or when that was not recorded.
    public var base: ObjectID?
    /// The branch then; nil in a stash of the reference.
    public var branch: String?
    /// What it was called.
    public var message: String?
    /// The paths in it.
    public var changes: Changes
    /// False for a stash of the reference, which lies on disk as plain text.
    public var isEncrypted: Bool
    /// Why it can not be read; then nothing but its time is known.
    public var damage: VaultError?
}

/// The answer of `Vault.applyStash`.
public struct StashApplied: Sendable {
    /// What was applied.
    public var stash: StashInfo
    /// Whether it was dropped afterwards.
    public var isDropped: Bool
    /// Paths whose content is a merge of the stash and of what was committed since.
    public var merged: [VaultPath]
    /// Paths that this platform could not store.
    public var notWritten: [SkippedEntry]
}
