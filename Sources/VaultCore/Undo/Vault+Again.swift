internal import VaultFormat
internal import VaultSystem

/// Commands that move the head relative to where it is, typed again after one that was told as failed.
///
/// What was begun is finished first; to do it once more then would take back, or go back, twice.
extension Vault {
    /// Settles what an interrupted command left.
    ///
    /// - Returns: The move, when it was one of this verb and the head is where it was to go now.
    func settle(_ lock: borrowing CloneLock, asking verb: String) throws -> Journal? {
        try OwnRecord.requireWritable(layout)
        let begun = (try? Journal.read(files)) ?? nil
        if case .stuck(let reason) = try recover(lock) { throw Self.unsettled(reason) }
        guard let begun, begun.verb == verb, !begun.isMerge, begun.from != begun.to else { return nil }
        let state = try loadState()
        return state.headRef == begun.ref && state.head == begun.to ? begun : nil
    }

    /// The commit that a revision names; where it named, before a move that was begun and is finished now, the end of
    /// that move, the same is asked for again.
    func target(
        of revision: String, _ state: CloneState, _ graph: CommitGraph, _ begun: Journal?
    ) throws(VaultError) -> ObjectID {
        if let begun {
            var before = state
            before.head = begun.from
            let meant = try? RevisionResolver(vault: self, state: before, graph: graph).resolve(revision)
            if meant == begun.to { return begun.to }
        }
        return try RevisionResolver(vault: self, state: state, graph: graph).resolve(revision)
    }
}
