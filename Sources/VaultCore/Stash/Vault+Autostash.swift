internal import VaultFormat
internal import VaultSystem

/// Edits that are put aside before a move of the working copy, so that they do not stand in its way.
///
/// They are on the shelf, encrypted and durable, before the first file changes: a command that dies between leaves them
/// there as an ordinary stash.
extension Vault {
    /// Puts edits of tracked files aside; untracked files stay where they are.
    ///
    /// - Returns: Nil when there are none.
    func putEditsAside(
        before verb: String, _ state: CloneState, scratch: ScratchArea, observer: any Observer
    ) throws -> StashInfo? {
        guard mode != .bare else { return nil }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let edits = try trackedEdits(state, graph, trees)
        guard !edits.paths.isEmpty else { return nil }
        try requireStashable("stash edits")
        return try putAside(
            edits, before: verb, message: "before \(verb)", state, graph, trees, scratch: scratch, observer: observer)
    }

    /// Brings a stash that this command made back.
    ///
    /// - Returns: The stash, where commits that have come changed the same, or work is in its way: it is kept then.
    /// - Throws: `revisionNotFound` when somebody has dropped it since.
    func bringBack(_ stash: StashInfo, scratch: ScratchArea, observer: any Observer) throws -> StashInfo? {
        // The reference takes no lock and may have made or dropped one since: the number alone is no name.
        guard let (number, record) = try StashShelf(vault: self).record(stash) else {
            throw VaultError(.revisionNotFound, "the stash that was made is gone", hint: "vaultctl stash list")
        }
        let stash = record.info(number)
        do {
            return try applyStash(record, number, drop: true, scratch: scratch, observer: observer).isDropped
                ? nil : stash
        } catch let error as VaultError where error.code == .conflicts || error.code == .dirtyTree {
            return stash
        }
    }

    /// What a command ends with that put edits aside and failed: they are back, or the error tells where they are.
    func bringBack(
        _ stash: StashInfo, after error: any Error, scratch: ScratchArea, observer: any Observer
    ) -> any Error {
        do {
            guard try bringBack(stash, scratch: scratch, observer: observer) != nil else { return error }
        } catch {}  // the stash is there still, and the first failure is the one to tell
        return keeping(stash, error)
    }

    /// A failure, and where the edits are that were put aside before.
    func keeping(_ stash: StashInfo, _ error: any Error) -> any Error {
        guard let error = error as? VaultError else { return error }
        var number = stash.number
        do {
            guard let found = try StashShelf(vault: self).record(stash) else { return error }
            number = found.number
        } catch {}  // it is there for all that is known
        return error.following(
            "the edits are kept as stash \(number)",
            hint: number == 0 ? "vaultctl stash pop" : "vaultctl stash pop \(number)")
    }

    /// The edits of tracked files.
    ///
    /// - Throws: `permissionDenied` for one that can not be read.
    func trackedEdits(_ state: CloneState, _ graph: CommitGraph, _ trees: TreeReader) throws -> WorkingChanges {
        var edits = try look(trackedFiles(of: state.head, graph: graph, trees: trees))
        edits.added = []
        let notStored = try notStored()
        edits.deleted.removeAll { notStored.contains($0.path) }
        if let path = edits.unreadable.first(where: { edits.isTracked($0.path) })?.path {
            throw unreadable(path, isTracked: true)
        }
        return edits
    }
}
