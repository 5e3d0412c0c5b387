internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Merges a commit into this clone's branch: with a commit, or up to the conflicts (spec 05 §8).
struct BranchMerge {
    let vault: Vault
    let move: WorkingCopyMove
    let graph: CommitGraph
    let trees: TreeReader
    let mergesTexts: Bool
    let observer: any Observer

    enum End {
        case merged(ObjectID, WorkingCopyMove.Outcome)
        case stopped([VaultPath], WorkingCopyMove.Outcome)
    }

    private var state: CloneState { move.state }
    private var scratch: ScratchArea { move.scratch }

    /// Merges over the best common ancestor.
    ///
    /// * `accept`: As in `WorkingCopyMove.run`.
    func run(
        ours: ObjectID, theirs: ObjectID, message: String, verb: String, accept: () throws -> Void = {}
    ) throws -> End {
        try Vault.checkWritable(state.index)
        if let branch = state.cloneBranch { try vault.requireSignable(branch, state.index) }
        let base = try graph.mergeBase(ours, theirs)
        if base == nil, try graph.endsShort([ours, theirs]) {
            throw Vault.undecided("where the two sides parted", theirs)
        }
        let batch = vault.newBatch(width: state.idWidth, scratch: scratch)
        let merged = try merge(base.map { (id) throws(VaultError) in try graph.tree(of: id) }, ours, theirs, batch)
        guard merged.conflicts.isEmpty else {
            guard vault.mode != .bare else { throw Self.refusal(merged.conflicts) }
            try batch.commit()
            let record = MergeState(
                ours: ours, theirs: theirs, base: base, startedMs: vault.environment.clock.nowMs,
                conflicts: merged.conflicts.map(\.path), resolved: [], given: merged.withCopies, message: message)
            let outcome = try move.stop(
                with: merged.withCopies, verb: verb, conflicts: record.conflicts, accept: accept
            ) { kept in
                var record = record
                record.kept = kept
                try record.write(vault.files, scratch: scratch)
            } abandon: {
                try MergeState.remove(vault.files)
            }
            return .stopped(record.conflicts, outcome)
        }
        let id = try store(merged.tree, parents: [ours, theirs], message, batch)
        let outcome = try move.run(to: id, verb: verb, accept: accept) {
            try vault.moveRef(state.headRef, from: state.head, to: id, scratch: scratch)
        }
        try vault.recordOwnHead(id, ref: state.headRef, scratch: scratch)
        return .merged(id, outcome)
    }

    /// Stores the merge of two commits as a commit on top of theirs alone; theirs itself where nothing is added to it.
    ///
    /// - Throws: `conflicts`.
    func commit(base: ObjectID?, ours: ObjectID, theirs: ObjectID, message: String) throws -> ObjectID {
        try Vault.checkWritable(state.index)
        let batch = vault.newBatch(width: state.idWidth, scratch: scratch)
        let merged = try merge(base, ours, theirs, batch)
        guard merged.conflicts.isEmpty else { throw Self.refusal(merged.conflicts) }
        if merged.tree == (try graph.tree(of: theirs)) { return theirs }
        return try store(merged.tree, parents: [theirs], message, batch)
    }

    private func merge(
        _ base: ObjectID?, _ ours: ObjectID, _ theirs: ObjectID, _ batch: ObjectBatch
    ) throws -> Merger.Outcome {
        try Merger(
            vault: vault, trees: trees, batch: batch, deflates: state.deflatesBlobs, mergesTexts: mergesTexts
        ).merge(base: base, ours: graph.tree(of: ours), theirs: graph.tree(of: theirs))
    }

    private func store(
        _ tree: ObjectID, parents: [ObjectID], _ message: String, _ batch: ObjectBatch
    ) throws -> ObjectID {
        guard let branch = state.cloneBranch else {
            throw VaultError(.readOnlyClone, "this clone can not make a merge commit")
        }
        let key = try vault.commitKey(branch, state.index, what: "merge", observer: observer)
        let (id, _) = try CommitBuilder(
            cipher: vault.cipher, random: vault.environment.random, branch: branch, key: key
        ).build(tree: tree, parents: parents, message: message, timeMs: vault.commitTimeMs(), batch: batch)
        try batch.commit()
        return id
    }

    private static func refusal(_ conflicts: [MergeConflict]) -> VaultError {
        let shown = conflicts.prefix(5).map(\.path.description).joined(separator: ", ")
        return VaultError(
            .conflicts,
            "both sides changed \(shown)\(conflicts.count > 5 ? " and more" : ""); nothing was changed",
            hint: "undo one side's change to these paths, commit, and pull again",
            path: conflicts.first?.path.description)
    }
}
