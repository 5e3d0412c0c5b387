public import VaultFormat

/// Which part of a vault a clone holds and writes.
public struct SparseState: Sendable, Equatable {
    /// The folders and files that are held and written; empty for a clone of the whole vault, and for one without any
    /// file.
    public var paths: [VaultPath]
    /// The clone holds everything and has every file in its working copy.
    public var isWhole: Bool
}

/// How the part of a vault that a clone holds is changed.
public enum SparseChange: Sendable, Equatable {
    /// These paths besides those that are held.
    case add([VaultPath])
    /// These paths instead of those that are held.
    case set([VaultPath])
    /// Everything.
    case whole
}

/// The answer of `Vault.changeSparse`.
public struct SparseResult: Sendable {
    /// What is held and written now.
    public var state: SparseState
    /// Files that came into the working copy.
    public var written: [VaultPath]
    /// Files that left the working copy; the vault keeps them.
    public var removed: [VaultPath]
    /// Files that this platform could not store.
    public var notWritten: [SkippedEntry]
    /// Objects fetched.
    public var objects: Int
    /// Bytes of these objects.
    public var bytes: Int64
}
