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
    /// - Throws: `dirtyTree` when uncommitted work would be overwritten, `refRewound`, `signatureBad`, `objectMissing`,
    ///   `objectCorrupt`, `notFastForward`, `mergeInProgress`, `conflicts` in a clone without a working copy, or what
    ///   the remote throws. The working copy and the head are as before then.
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
        guard let aside else { return try operation.run() }
        var result: PullResult
        do {
            result = try operation.run()
        } catch {
            _ = try bringBack(aside, scratch: scratch, observer: observer)
            throw error
        }
        // What waits for a person to decide has to be decided first.
        result.stash = result.outcome == .conflicts ? aside : try bringBack(aside, scratch: scratch, observer: observer)
        return result
    }

    /// Brings another named branch of the remote here, its index included, so that it can be switched to.
    ///
    /// - Throws: `branchNotFound` when the vault has no such branch; otherwise as `fetch`.
    public func fetchBranch(
        _ name: String, from remote: any Remote, observer: any Observer = SilentObserver()
    ) async throws -> FetchResult {
        _ = try await fetch(from: remote, observer: observer)
        let lock = try lock()
        let state = try loadState()
        guard let branch = state.index.branches.first(where: { $0.name == name && $0.type == .named }) else {
            throw VaultError(.branchNotFound, "the vault has no branch '\(name)'", object: name)
        }
        let incoming = try await Incoming(
            vault: self, remote: remote, acceptRewind: false, observer: observer, branch: branch
        ).fetch(lock.scratch)
        let old = try refs.commit(of: branch.headRefID)
        if let head = incoming.snapshot.head, let bytes = incoming.snapshot.refBytes,
            try refs.bytes(of: .ref(branch.headRefID)) != bytes, branch.branchID != state.namedBranch.branchID,
            try old == nil || isTracked(remote)
        {
            try storeRef(branch.headRefID, old: old, new: head, bytes: bytes, scratch: lock.scratch)
        }
        return FetchResult(
            refs: [FetchResult.RefMove(branch: name, old: old, new: incoming.snapshot.head, isRewind: false)],
            objects: incoming.objects, bytes: incoming.bytes)
    }

    /// Brings the remote's commits here, and notes its heads, without touching the working copy or any ref.
    public func fetch(from remote: any Remote, observer: any Observer = SilentObserver()) async throws -> FetchResult {
        let lock = try lock()
        let before = try loadState()
        let ref = before.namedBranch.headRefID
        let old = try seenHead(at: place(of: remote.location), ref: ref)?.commit
        let incoming = try await Incoming(vault: self, remote: remote, acceptRewind: true, observer: observer)
            .fetch(lock.scratch)
        let new = incoming.snapshot.head
        var isRewind = old != nil && new == nil
        if let old, let new, old != new {
            let graph = CommitGraph(store: store, cipher: cipher, boundaries: before.config.shallowBoundaries)
            isRewind = try !store.holds(old) || !graph.isAncestor(old, of: new)
        }
        return FetchResult(
            refs: [FetchResult.RefMove(branch: before.namedBranch.name, old: old, new: new, isRewind: isRewind)],
            objects: incoming.objects, bytes: incoming.bytes)
    }
}

/// The first half of a pull: index, gate, rewind guard, commits, policy, objects (spec 05 §7.2–§7.5).
private struct Incoming {
    let vault: Vault
    let remote: any Remote
    let acceptRewind: Bool
    let observer: any Observer
    /// The branch to fetch; nil for the one that is worked on.
    var branch: BranchRecord?

    struct Fetched {
        var state: CloneState
        var snapshot: RemoteSnapshot
        var baselines: RemoteHeads
        var objects = 0
        var bytes: Int64 = 0
    }

    func fetch(_ scratch: ScratchArea) async throws -> Fetched {
        var state = try vault.loadState()
        try vault.refusePartial(state.config, "pull")
        let ref = (branch ?? state.namedBranch).headRefID
        var baselines: RemoteHeads
        do throws(VaultError) { baselines = try vault.acceptedHeads(of: remote, state) } catch {
            guard error.code == .refRewound, acceptRewind else { throw error }
            let place = vault.place(of: remote.location)
            baselines = RemoteHeads(
                at: try vault.recordedPlace() == place ? nil : place, replacesLost: true)
        }
        let snapshot = try await vault.snapshot(of: remote, ref: ref)
        if snapshot.isAbsent, baselines[ref] == nil {
            throw VaultError(
                .remoteNotFound, "\(remote.location) holds no vault \(vault.vaultID.text) yet",
                hint: "push to it first, with the same --remote or --server")
        }
        var fetched = Fetched(state: state, snapshot: snapshot, baselines: baselines)
        guard let head = snapshot.head else {
            if !acceptRewind {
                try vault.checkNotRewound(
                    nil, baseline: baselines[ref], graph: CommitGraph(store: vault.store, cipher: vault.cipher),
                    remote: remote)
            }
            // What is told of a remote that lost the branch; no baseline moves here.
            try vault.recordSeen([(ref, nil, nil)], at: vault.place(of: remote.location), scratch: scratch)
            return fetched
        }
        try await refreshIndex(&state, snapshot, scratch)
        fetched.state = state
        let batch = vault.newBatch(width: state.idWidth, scratch: scratch)
        let closure = ClosureFetcher(
            vault: vault, fetcher: ObjectFetcher(remote: remote, batch: batch, observer: observer),
            boundaries: state.config.shallowBoundaries)
        var starts: [ObjectID] = []
        for id in Set([state.head, baselines[ref]].compactMap { $0 }) where try vault.store.holds(id) {
            starts.append(id)
        }
        let known = AncestorSet(graph: closure.graph, of: starts)
        let commits = try await closure.fetchCommits(from: head) { (id) throws(VaultError) in
            // All that is known is held, so what is not held needs no search.
            guard try vault.store.holds(id) else { return false }
            return try known.contains(id)
        }
        if !acceptRewind {
            try vault.checkNotRewound(head, baseline: baselines[ref], graph: closure.graph, remote: remote)
        }
        // A branch that was merged before it was pushed is in no index; its key came with its commits.
        var signers: Set<KeyID> = []
        for id in commits {
            if let key = try closure.graph.commit(id).authorKeyID.flatMap({ try? KeyID($0) }) { signers.insert(key) }
        }
        try await fetchKeys(signers, scratch)
        try SignaturePolicy(
            index: state.index, graph: closure.graph,
            checker: SignatureChecker(refs: vault.refs, cipher: vault.cipher, index: state.index),
            boundaries: state.config.shallowBoundaries
        ).enforce(head: head, new: { Set(commits) }, isClone: false)
        // A head accepted before, which an interrupted pull did not reach, may lack contents that were lost since.
        // Where this branch is ahead of it already, nothing of it is needed.
        var needsHead = !commits.contains(head)
        if needsHead, let own = state.head {
            switch try closure.graph.relation(own, head) {
            case .same, .ahead: needsHead = false
            case .behind, .apart: break
            }
        }
        let wanted = needsHead ? commits + [head] : commits
        try await closure.fetchContents(of: wanted, known: starts.filter { $0 != head || head == state.head })
        (fetched.objects, fetched.bytes) = batch.count
        try batch.commit()
        try vault.recordSeen(
            [(ref, head, snapshot.refBytes)], at: vault.place(of: remote.location), scratch: scratch)
        return fetched
    }

    /// Merges the remote's index into the local one and fetches the keys of branches that are new here.
    private func refreshIndex(
        _ state: inout CloneState, _ snapshot: RemoteSnapshot, _ scratch: ScratchArea
    ) async throws {
        guard let index = snapshot.index else { return }
        let merged = BranchIndex.merged(
            local: state.index, remote: index, nowMs: vault.environment.clock.nowMs)
        try Vault.checkGate(merged)
        try await fetchKeys(Set(merged.branches.compactMap(\.publicKeyID)), scratch)
        if merged != state.index {
            try vault.storeIndex(merged, scratch: scratch)
            state.index = merged
        }
    }

    /// Fetches public keys that are not here; one that is not there either leaves signatures without a known key.
    private func fetchKeys(_ ids: Set<KeyID>, _ scratch: ScratchArea) async throws {
        let missing = ids.filter { (try? vault.refs.bytes(of: .key($0), limit: Limits.keyPlaintext)) == .some(nil) }
        guard !missing.isEmpty else { return }
        let found = try await remote.readAll(missing.sorted { $0.text < $1.text }.map { .key($0) })
        for (id, file) in found {
            guard case .content(let bytes) = file, SignatureChecker.pem(bytes, cipher: vault.cipher) != nil else {
                continue
            }
            let place = try vault.layout.place(of: id)
            try attempt("cannot store a public key") { () throws(Errno) in
                try scratch.replace(place.name, in: place.folder, with: bytes.span, mode: 0o666)
            }
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
            // Taken as it is: the next push makes the branch again.
            var baselines = incoming.baselines
            var config = state.config
            try baselines.accept(
                nil, for: incoming.snapshot.ref, files: vault.files, config: &config, scratch: scratch)
            return result(.absent, new: state.head)
        }
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        let trees = TreeReader(store: vault.store, cipher: vault.cipher)
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
            changes: moved.changes, kept: moved.kept, notWritten: moved.notStored, conflicts: [])
    }
}
