internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The first half of a pull: index, gate, rewind guard, commits, policy, objects (spec 05 §7.2–§7.5).
struct Incoming {
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
        var tags: [TagChange] = []
    }

    func fetch(_ scratch: ScratchArea) async throws -> Fetched {
        var state = try vault.loadState()
        try vault.refusePacks(state.config, "pull")
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
            let graph = CommitGraph(store: vault.store, cipher: vault.cipher)
            if !acceptRewind { try refuseRewind(snapshot, baselines[ref], graph, scratch) }
            // What is told of a remote that lost the branch; no baseline moves here.
            try vault.recordSeen(
                ref, nil, bytes: nil, accepted: baselines[ref], at: vault.place(of: remote.location),
                scratch: scratch)
            return fetched
        }
        let indexBefore = state.index
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
        if !acceptRewind { try refuseRewind(snapshot, baselines[ref], closure.graph, scratch) }
        try await vault.fetchSigners(of: commits, closure.graph, state.index, from: remote, scratch: scratch)
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
        let tags = TagFetcher(vault: vault, remote: remote, staged: closure.staged)
        try await tags.fetch(state.index, scratch: scratch)
        fetched.tags = try tags.changes(from: indexBefore, to: state.index)
        (fetched.objects, fetched.bytes) = batch.count
        try batch.commit()
        try vault.recordSeen(
            ref, head, bytes: snapshot.refBytes, accepted: baselines[ref], at: vault.place(of: remote.location),
            scratch: scratch)
        return fetched
    }

    /// Refuses a branch that went back, and notes that for `status`.
    private func refuseRewind(
        _ snapshot: RemoteSnapshot, _ baseline: ObjectID?, _ graph: CommitGraph, _ scratch: ScratchArea
    ) throws(VaultError) {
        try vault.notingRewind(snapshot, baseline, at: remote, scratch) { () throws(VaultError) in
            try vault.checkNotRewound(
                snapshot.head, baseline: baseline, graph: graph, remote: remote, isGone: snapshot.isAbsent)
        }
    }

    /// Merges the remote's index into the local one and fetches the keys of branches that are new here.
    private func refreshIndex(
        _ state: inout CloneState, _ snapshot: RemoteSnapshot, _ scratch: ScratchArea
    ) async throws {
        guard let index = snapshot.index else { return }
        let merged = BranchIndex.merged(
            local: state.index, remote: index, nowMs: vault.environment.clock.nowMs)
        try Vault.checkGate(merged)
        try await vault.fetchKeys(Set(merged.branches.compactMap(\.publicKeyID)), from: remote, scratch: scratch)
        if merged != state.index {
            try vault.storeIndex(merged, scratch: scratch)
            try vault.settlePendingTags(in: merged, scratch: scratch)
            state.index = merged
        }
    }
}
