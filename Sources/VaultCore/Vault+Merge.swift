public import VaultFormat
internal import VaultSystem

extension Vault {
    /// Merges a branch or another revision into this clone's branch; nothing is sent (spec 05 §8).
    ///
    /// - Throws: `revisionNotFound`, `branchNotFound`, `notFastForward`, `dirtyTree`, `mergeInProgress`,
    ///   `readOnlyClone`, `objectMissing`, `signatureBad`. Nothing has changed then.
    /// - Returns: As of `pull`; with `conflicts` the merge waits for `resolve` and a commit.
    public func merge(
        _ revision: String, _ options: MergeOptions = MergeOptions(), observer: any Observer = SilentObserver()
    ) throws -> PullResult {
        try requireWritable("merge")
        try checkMessage(options.message)
        let lock = try lock(settling: true)
        try refuseDuringMerge()
        let state = try loadState()
        try refusePacks(state.config, "merge")
        guard let ours = state.head else {
            throw VaultError(.revisionNotFound, "this branch has no commit to merge into", hint: "vaultctl pull")
        }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let theirs = try RevisionResolver(vault: self, state: state, graph: graph).resolve(revision)
        try enforcePolicy(of: state.index, graph, head: theirs, beyond: ours)
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: trees, scratch: lock.scratch, observer: observer)
        var result = PullResult(
            outcome: .upToDate, branch: state.namedBranch.name, old: ours, new: ours, changes: Changes(),
            kept: Changes(), notWritten: [], conflicts: [])
        func take(_ outcome: WorkingCopyMove.Outcome) {
            (result.changes, result.kept, result.notWritten) = (
                outcome.changes, outcome.kept, outcome.notStored
            )
        }
        switch try graph.relation(ours, theirs) {
        case .same, .ahead: return result
        case .behind where options.fastForward != .never:
            let outcome = try move.run(to: theirs, verb: "merge") {
                try moveRef(state.headRef, from: ours, to: theirs, scratch: lock.scratch)
            }
            try recordOwnHead(theirs, ref: state.headRef, scratch: lock.scratch)
            (result.outcome, result.new) = (.fastForward, theirs)
            take(outcome)
            return result
        case .behind, .apart: break
        }
        guard options.fastForward != .only else {
            throw VaultError(
                .notFastForward, "this branch and \(revision) have both moved", hint: "merge without --ff-only")
        }
        let merge = BranchMerge(
            vault: self, move: move, graph: graph, trees: trees, mergesTexts: options.mergesTexts, observer: observer)
        let message = options.message ?? "Merge \(revision) into \(state.namedBranch.name)"
        switch try merge.run(ours: ours, theirs: theirs, message: message, verb: "merge") {
        case .merged(let commit, let outcome):
            (result.outcome, result.new) = (.merged, commit)
            take(outcome)
        case .stopped(let conflicts, let outcome):
            (result.outcome, result.conflicts) = (.conflicts, conflicts)
            take(outcome)
        }
        return result
    }

    /// Ends the merge in progress without its result: the paths that it touched get this side's content back.
    ///
    /// Untracked files, and uncommitted work that the merge had let be, stay. What was written by hand at conflicting
    /// paths since, decisions included, is put aside as a stash on the head.
    ///
    /// - Throws: `refused` when there is none, `mergeInProgress` when the branch has moved since it began.
    @discardableResult
    public func abortMerge(observer: any Observer = SilentObserver()) throws -> MergeAbort {
        try requireWritable("end a merge")
        let lock = try lock(settling: true)
        let merge = try MergeFiles(vault: self, scratch: lock.scratch, observer: observer)
        return try merge.abort()
    }

    /// Whether a merge waits to be finished.
    public func isMerging() throws -> Bool {
        try mergeState() != nil
    }

    /// The conflicting paths of the merge in progress, decided ones included; none without a merge.
    public func conflicts() throws -> [Conflict] {
        guard try mergeState() != nil else { return [] }
        return try MergeSides(vault: self).conflicts()
    }

    /// Decides conflicts.
    ///
    /// * `paths`: Nil for all that are left.
    /// - Returns: Those that were decided now.
    /// - Throws: `refused` without a merge, `pathNotFound` for a path that does not conflict, `refused` for a choice
    ///   that does not fit, `dirtyTree` when untracked files are in the way.
    public func resolve(
        _ choice: Resolution, paths: [VaultPath]? = nil, observer: any Observer = SilentObserver()
    ) throws -> [Conflict] {
        try requireWritable("resolve")
        let lock = try lock(settling: true)
        return try MergeFiles(vault: self, scratch: lock.scratch, observer: observer).resolve(choice, paths)
    }

    /// Gives one side's content of a conflicting path piece by piece.
    ///
    /// - Throws: `pathNotFound` where that side has no file there.
    public func conflictContent(
        _ path: VaultPath, side: MergeSide, into sink: (Span<UInt8>) throws -> Void
    ) throws {
        let sides = try MergeSides(vault: self)
        let conflict = try sides.conflict(path)
        let entry =
            switch side {
            case .base: conflict.base
            case .ours: conflict.ours
            case .theirs: conflict.theirs
            }
        guard let entry else {
            throw VaultError(.pathNotFound, "\(path) is no file in \(side.rawValue)", path: path.description)
        }
        try BlobReader(store: store, cipher: cipher).stream(entry, into: sink)
    }
}
