internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
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
        return try await fetch(branch, state, from: remote, lock.scratch, observer)
    }

    /// Brings the remote's commits here, and notes its heads, without touching the working copy or the branch of this
    /// clone.
    ///
    /// A branch that went back behind what was seen of it is told as such; `pull` refuses it. With `all`, another branch
    /// that is refused or damaged is among the failures of the result, and the others are fetched.
    ///
    /// - Throws: `signatureBad` with `verifies`, `partialClone` for more history of a clone that has it all,
    ///   `objectMissing`, `objectCorrupt`, or what the remote throws.
    public func fetch(
        from remote: any Remote, _ options: FetchOptions = FetchOptions(), observer: any Observer = SilentObserver()
    ) async throws -> FetchResult {
        let lock = try lock()
        let before = try loadState()
        let ref = before.namedBranch.headRefID
        let place = place(of: remote.location)
        let old = try seenHead(at: place, ref: ref)?.commit
        let incoming = try await Incoming(vault: self, remote: remote, acceptRewind: true, observer: observer)
            .fetch(lock.scratch)
        let move = try refMove(before.namedBranch, old, incoming.snapshot.head, before)
        var result = FetchResult(
            refs: [move], objects: incoming.objects, bytes: incoming.bytes, tags: incoming.tags)
        var state = try loadState()
        if options.all {
            for branch in state.index.branches where branch.type == .named && branch.headRefID != ref {
                let more: FetchResult
                do { more = try await fetch(branch, state, from: remote, lock.scratch, observer) } catch {
                    // What is wrong with one branch is no reason to go without the others.
                    guard let error = error as? VaultError, Self.isOfOneBranch(error.code) else { throw error }
                    result.failures.append((branch.name, error))
                    continue
                }
                result.refs += more.refs
                result.objects += more.objects
                result.bytes += more.bytes
                result.tags += more.tags
            }
        }
        if options.unshallow || options.deepen != nil {
            let count = try await deepen(&state, options.deepen, from: remote, lock.scratch, observer)
            result.objects += count.objects
            result.bytes += count.bytes
        }
        if options.prunes { result.pruned = try await prune(state.index, remote, place, lock.scratch) }
        if options.verifies { try verify(result.refs, state) }
        result.boundary = try loadState().config.shallowBoundaries.sorted()
        return result
    }

    private static func isOfOneBranch(_ code: VaultError.Code) -> Bool {
        [
            .refRewound, .refUnreadable, .signatureBad, .objectMissing, .objectCorrupt, .decryptFailed, .unsafePath,
            .partialClone,
        ].contains(code)
    }

    private func fetch(
        _ branch: BranchRecord, _ state: CloneState, from remote: any Remote, _ scratch: ScratchArea,
        _ observer: any Observer
    ) async throws -> FetchResult {
        let seen = try seenHead(at: place(of: remote.location), ref: branch.headRefID)?.commit
        let incoming = try await Incoming(
            vault: self, remote: remote, acceptRewind: false, observer: observer, branch: branch
        ).fetch(scratch)
        let old = try refs.commit(of: branch.headRefID)
        if let head = incoming.snapshot.head, let bytes = incoming.snapshot.refBytes,
            try refs.bytes(of: .ref(branch.headRefID)) != bytes, branch.branchID != state.namedBranch.branchID,
            try old == nil || isTracked(remote)
        {
            try storeRef(branch.headRefID, old: old, new: head, bytes: bytes, scratch: scratch)
        }
        let move = try refMove(branch, seen ?? old, incoming.snapshot.head, state)
        return FetchResult(
            refs: [move], objects: incoming.objects, bytes: incoming.bytes, tags: incoming.tags)
    }

    /// Where a branch went since it was last read; that it went back is told only where history shows it.
    private func refMove(
        _ branch: BranchRecord, _ old: ObjectID?, _ new: ObjectID?, _ state: CloneState
    ) throws -> FetchResult.RefMove {
        var move = FetchResult.RefMove(branch: branch.name, old: old, new: new, isRewind: old != nil && new == nil)
        guard let old, let new, old != new else { return move }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        move.isRewind = try !store.holds(old) || (!graph.isAncestor(old, of: new) && !graph.endsShort([new]))
        return move
    }

    /// Fetches history behind the commits at which it ends here: so many levels of it, or all.
    private func deepen(
        _ state: inout CloneState, _ levels: Int?, from remote: any Remote, _ scratch: ScratchArea,
        _ observer: any Observer
    ) async throws -> (objects: Int, bytes: Int64) {
        let ends = state.config.shallowBoundaries
        guard !ends.isEmpty else { return (0, 0) }
        let batch = newBatch(width: state.idWidth, scratch: scratch)
        let closure = ClosureFetcher(
            vault: self, fetcher: ObjectFetcher(remote: remote, batch: batch, observer: observer))
        var parents: Set<ObjectID> = []
        for id in ends { parents.formUnion(try closure.graph.parents(id)) }
        let (commits, boundaries) = try await closure.fetchHistory(from: parents.sorted(), depth: levels) { _ in false }
        try await closure.fetchContents(of: commits, known: [])
        try await fetchSigners(of: commits, closure.graph, state.index, from: remote, scratch: scratch)
        let count = batch.count
        try batch.commit()
        state.config.shallowBoundaries = boundaries
        try files.write(CloneConfig.fileName, state.config.json, scratch: scratch)
        try note(state.config)
        return count
    }

    /// Forgets what was seen of branches that the remote does not have any more; gives their names.
    private func prune(
        _ index: BranchIndex, _ remote: any Remote, _ place: RemotePlace, _ scratch: ScratchArea
    ) async throws -> [String] {
        let known = try seenRefs(at: place)
        guard !known.isEmpty else { return [] }
        let found = try await remote.readAll(known.map { .ref($0) })
        let gone = known.filter { ref in
            if case .absent? = found[.ref(ref)] { true } else { false }
        }
        try forgetSeen(gone, at: place, scratch: scratch)
        return gone.map { ref in index.branches.first { $0.headRefID == ref }?.name ?? ref.text }
    }

    /// Checks the signatures of the commits that this clone's branch lacks, whether they came now or before: what was
    /// refused once is refused until it is merged all the same.
    private func verify(_ moves: [FetchResult.RefMove], _ state: CloneState) throws {
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let checker = SignatureChecker(refs: refs, cipher: cipher, index: state.index)
        for move in moves {
            guard let new = move.new else { continue }
            for id in try graph.exclusive(new, not: state.head).sorted() {
                let status = checker.status(of: try graph.commit(id))
                guard status != .verified else { continue }
                throw VaultError(
                    .signatureBad, "the commit \(id.text) of the branch '\(move.branch)' is \(status.rawValue)",
                    hint: "vaultctl log --show-signature", object: id.text)
            }
        }
    }
}
