internal import VaultFormat
internal import VaultSystem

/// Everything in a clone that refers to objects.
struct GarbageRoots {
    let vault: Vault
    let state: CloneState
    /// The moves that the log keeps.
    let moves: [Reflog.Entry]

    /// Marks what they lead to.
    ///
    /// - Throws: `objectMissing` when a branch or tag leads to what is not held, and the clone is whole.
    func mark(in reach: Reachability) throws {
        let heads = try branchHeads()
        // First of all: a gap below a branch must not pass for one below a record of the past.
        let gap: Reachability.Gap = vault.holdsPart(state.config) ? .ends : .fails
        for head in heads.own { try reach.mark(commit: head, at: gap) }
        for head in heads.others { try reach.mark(commit: head, at: .ends) }
        // Tags that were made here and not pushed stand in no index yet.
        for tag in state.index.tags + (try vault.tagView(state.index).live) {
            if let id = tag.tagID { try reach.mark(tag: id, at: .ends) }
        }
        for id in try recorded() { try reach.mark(anything: id, at: .ends) }
    }

    /// The heads of every stored ref, whether the index names it or not; first those that must be whole here.
    private func branchHeads() throws -> (own: [ObjectID], others: [ObjectID]) {
        let branches = vault.localBranches(state.index, current: state.cloneBranch?.branchID)
        // What only a lost branch led to would look like garbage.
        let traces = RefTraces(vault: vault, boundaries: state.config.shallowBoundaries)
        for branch in branches where try vault.refs.commit(of: branch.headRefID) == nil {
            if let loss = try traces.loss(of: branch, state.index) { throw loss }
        }
        let own = Set(branches.map(\.headRefID))
        var heads: (own: [ObjectID], others: [ObjectID]) = ([], [])
        for ref in try vault.storedRefs() {
            do throws(VaultError) {
                guard let head = try vault.refs.commit(of: ref) else { continue }
                if own.contains(ref) { heads.own.append(head) } else { heads.others.append(head) }
            } catch {
                // Another clone's own ref is nobody's state (spec 02 §6).
                guard error.code == .refUnreadable, !own.contains(ref) else { throw error }
            }
        }
        return heads
    }

    /// What the clone's own files remember.
    private func recorded() throws -> Set<ObjectID> {
        let files = vault.files
        var ids: Set<ObjectID> = state.config.shallowBoundaries
        func add(_ all: [ObjectID?]) { ids.formUnion(all.compactMap { $0 }) }
        add([state.config.lastRemoteHead])
        if try files.read(RemoteHeads.fileName) != nil {
            add(
                Array(
                    try RemoteHeads(files: files, config: state.config, tracked: state.namedBranch.headRefID).heads
                        .values))
        }
        add(try RemoteHeads.allOthers(files))
        add(vault.seenCommits())
        for move in moves { add([move.old, move.new]) }
        if let merge = try MergeState.read(files) { add([merge.ours, merge.theirs, merge.base, merge.given]) }
        if let journal = try Journal.read(files) { add([journal.from, journal.to]) }
        add(try StashShelf(vault: vault).all().map(\.base))
        for (name, members) in [
            ("pending_registration.json", ["commit_id"]), ("push_state.json", ["clone_commit_id"]),
        ] {
            let value = try files.readObject(name)
            add(members.map { value?[name: $0]?.text.flatMap { try? ObjectID($0) } })
        }
        add([vault.ownHead()])
        for tag in state.index.carriedTags {
            add(["tag_id", "commit_id"].map { tag[name: $0]?.text.flatMap { try? ObjectID($0) } })
        }
        return ids
    }
}
