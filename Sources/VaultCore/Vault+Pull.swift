internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Brings the remote's commits here and into the working copy: by fast-forward, or by a clean three-way merge
    /// (spec 05 §7).
    ///
    /// Where both sides changed a path differently the working copy gets everything else, theirs is laid beside ours,
    /// and the merge waits for `resolve` and a commit. Edits that `stashesEdits` put aside are in `stash` then.
    ///
    /// - Throws: `dirtyTree` when uncommitted work would be overwritten, `refRewound`, `remoteNotFound` where nothing of
    ///   the vault is there (any more), `nameTaken` where another branch has this one's name there, `signatureBad`,
    ///   `objectMissing`, `objectCorrupt`, `notFastForward`, `mergeInProgress`, `conflicts` in a clone without a working
    ///   copy, or what the remote throws. The working copy and the head are as before then.
    public func pull(
        from remote: any Remote, _ options: PullOptions = PullOptions(), observer: any Observer = SilentObserver()
    ) async throws -> PullResult {
        let lock = try lock()
        try refuseDuringMerge()
        var fetched = try await Incoming(
            vault: self, remote: remote, acceptRewind: options.acceptRewind, observer: observer
        ).fetch(lock.scratch)
        // With what was fetched an interrupted move may be finished now that could not be before.
        if case .stuck(let reason) = try recover(lock) { throw Self.unsettled(reason) }
        fetched.state = try loadState()
        let scratch = lock.scratch
        let aside =
            try options.stashesEdits
            ? putEditsAside(before: "pull", fetched.state, scratch: scratch, observer: observer) : nil
        let operation = PullOperation(
            vault: self, remote: remote, options: options, observer: observer, incoming: fetched, scratch: scratch)
        var result: PullResult
        do {
            result = try await run(operation)
        } catch {
            guard let aside else { throw error }
            throw bringBack(aside, after: error, scratch: scratch, observer: observer)
        }
        guard let aside else { return result }
        // What waits for a person to decide has to be decided first.
        guard result.outcome != .conflicts else {
            result.stash = aside
            return result
        }
        do { result.stash = try bringBack(aside, scratch: scratch, observer: observer) } catch {
            throw keeping(aside, error)
        }
        return result
    }

    /// A partial clone learns from the work itself of which files it needs the contents.
    private func run(_ operation: PullOperation) async throws -> PullResult {
        var rounds = LackingRounds(vault: self)
        while true {
            let lacking: Lacking
            do { return try operation.run() } catch { lacking = try rounds.next(after: error) }
            try await bring(lacking.objects, from: operation.remote, operation.scratch, operation.observer)
        }
    }
}

/// The second half of a pull: accept, then move the working copy.
private struct PullOperation {
    let vault: Vault
    let remote: any Remote
    let options: PullOptions
    let observer: any Observer
    let incoming: Incoming.Fetched
    let scratch: ScratchArea

    func run() throws -> PullResult {
        let state = incoming.state
        guard let theirs = incoming.snapshot.head else {
            // Of a vault that is gone there is no state to accept.
            guard !incoming.snapshot.isAbsent else { throw Vault.gone(.remoteNotFound, remote) }
            try incoming.snapshot.checkName(of: state.namedBranch, at: remote)
            // Taken as it is: the next push makes the branch again.
            var baselines = incoming.baselines
            var config = state.config
            try baselines.accept(
                nil, for: incoming.snapshot.ref, files: vault.files, config: &config, scratch: scratch)
            return result(.absent, new: state.head)
        }
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        let trees = vault.treeReader()
        let move = WorkingCopyMove(
            vault: vault, state: state, graph: graph, trees: trees, scratch: scratch, observer: observer)
        guard let ours = state.head, ours != theirs else {
            if state.head == theirs {
                try accept(theirs)
                return result(.upToDate, new: theirs)
            }
            return try fastForward(move, to: theirs)
        }
        if state.cloneBranch == nil { return try fastForward(move, to: theirs) }
        if options.acceptRewind, let baseline = incoming.baselines[incoming.snapshot.ref],
            try !graph.isAncestor(baseline, of: theirs)
        {
            return try acceptRewind(move, graph, trees, ours: ours, theirs: theirs)
        }
        switch try graph.relation(ours, theirs) {
        case .same, .ahead:
            try accept(theirs)
            return result(.upToDate, new: ours)
        case .behind: return try fastForward(move, to: theirs)
        case .apart: break
        }
        if options.fastForwardOnly {
            throw VaultError(
                .notFastForward, "this branch and the one on \(remote.location) have both moved",
                hint: "vaultctl pull without --ff-only merges them")
        }
        return try merge(move, graph, trees, ours: ours, theirs: theirs)
    }

    private func fastForward(_ move: WorkingCopyMove, to theirs: ObjectID) throws -> PullResult {
        let state = move.state
        guard state.cloneBranch != nil else {
            // A read-only clone's head is the named ref itself, so accepting comes after the files.
            let outcome = try move.run(to: theirs, verb: "pull") { try accept(theirs) }
            return result(.fastForward, new: theirs, outcome)
        }
        let outcome = try move.run(to: theirs, verb: "pull", accept: { try accept(theirs) }) {
            try vault.moveRef(state.headRef, from: state.head, to: theirs, scratch: scratch)
        }
        try vault.recordOwnHead(theirs, ref: state.headRef, scratch: scratch)
        return result(.fastForward, new: theirs, outcome)
    }

    private func merge(
        _ move: WorkingCopyMove, _ graph: CommitGraph, _ trees: TreeReader, ours: ObjectID, theirs: ObjectID
    ) throws -> PullResult {
        let state = move.state
        let merge = BranchMerge(
            vault: vault, move: move, graph: graph, trees: trees, mergesTexts: options.mergesTexts,
            observer: observer)
        let message = "Merge \(state.namedBranch.name) into \(state.cloneBranch?.name ?? "local")"
        switch try merge.run(ours: ours, theirs: theirs, message: message, verb: "pull", accept: { try accept(theirs) })
        {
        case .merged(let commit, let outcome): return result(.merged, new: commit, outcome)
        case .stopped(let conflicts, let outcome):
            var stopped = result(.conflicts, new: ours, outcome)
            stopped.conflicts = conflicts
            return stopped
        }
    }

    /// Takes a rewound remote: own work is put on top of it in one commit (spec 05 §6.3).
    private func acceptRewind(
        _ move: WorkingCopyMove, _ graph: CommitGraph, _ trees: TreeReader, ours: ObjectID, theirs: ObjectID
    ) throws -> PullResult {
        let state = move.state
        let baseline = incoming.baselines[incoming.snapshot.ref]
        // Without commits of our own beyond the old remote head there is nothing to carry over.
        let hasOwnWork = try baseline.map { try !graph.isAncestor(ours, of: $0) } ?? true
        var target = theirs
        if hasOwnWork {
            let base = try graph.mergeBase(ours, baseline ?? theirs)
                .map { (id) throws(VaultError) in try graph.tree(of: id) }
            let name = state.cloneBranch?.name ?? "local"
            let merge = BranchMerge(
                vault: vault, move: move, graph: graph, trees: trees, mergesTexts: options.mergesTexts,
                observer: observer)
            target = try merge.commit(
                base: base, ours: ours, theirs: theirs,
                message: "Re-apply \(name) work on top of the rewound \(state.namedBranch.name)")
        }
        let outcome = try move.run(to: target, verb: "pull", accept: { try accept(theirs) }) {
            try vault.moveRef(state.headRef, from: state.head, to: target, scratch: scratch)
        }
        try vault.recordOwnHead(target, ref: state.headRef, scratch: scratch)
        return result(target == theirs ? .fastForward : .merged, new: target, outcome)
    }

    /// Verify-then-accept (spec 05 §6.5): everything was checked and is held; the remote's exact bytes become the
    /// local named ref, and its head the baseline.
    private func accept(_ head: ObjectID) throws {
        guard let bytes = incoming.snapshot.refBytes else { return }
        let ref = incoming.snapshot.ref
        // The local named ref follows the recorded remote; on a clone without a branch of its own it is the head.
        let follows = try incoming.state.cloneBranch == nil || vault.isTracked(remote)
        if follows, try vault.refs.bytes(of: .ref(ref)) != bytes {
            try vault.storeRef(ref, old: try vault.refs.commit(of: ref), new: head, bytes: bytes, scratch: scratch)
        }
        var baselines = incoming.baselines
        var config = incoming.state.config
        try baselines.accept(head, for: ref, files: vault.files, config: &config, scratch: scratch)
    }

    private func result(
        _ outcome: PullResult.Outcome, new: ObjectID?, _ moved: WorkingCopyMove.Outcome = .init()
    ) -> PullResult {
        PullResult(
            outcome: outcome, branch: incoming.state.namedBranch.name, old: incoming.state.head, new: new,
            changes: moved.changes, kept: moved.kept, notWritten: moved.notStored, conflicts: [],
            tags: incoming.tags)
    }
}
