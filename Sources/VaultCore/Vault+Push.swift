internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Publishes this clone's commits on the branch it works on (spec 05 §9).
    ///
    /// The remote's ref moves last, by compare-and-swap, and only when every object it reaches is there.
    ///
    /// - Throws: `remoteMoved` or `notFastForward` when the remote has commits that this clone lacks, `leaseBroken`,
    ///   `refRewound`, `readOnlyClone`, `keyWrong`, `objectCorrupt` or `objectMissing` naming a damaged local
    ///   object, `conflicts` (with `pullFirst`), or what the remote throws. Commits stay committed here then.
    public func push(
        to remote: any Remote, _ options: PushOptions = PushOptions(), observer: any Observer = SilentObserver()
    ) async throws -> PushResult {
        try requireWritable("push")
        let authorization = try keys.authorization()
        // A dry run changes nothing here either; force and lease are for the head that was seen, once (05 §9.4).
        let retries = options.pullFirst && !options.dryRun && !options.force && options.lease == nil
        let rounds = retries ? 5 : 1
        for round in 1...rounds {
            do {
                let operation = PushOperation(
                    vault: self, remote: remote, authorization: authorization, options: options, observer: observer)
                var result = try await once(operation)
                result.retries = round - 1
                return result
            } catch let error as VaultError where error.code == .remoteMoved && round < rounds {
                let pulled = try await pull(
                    from: remote, PullOptions(mergesTexts: options.mergesTexts), observer: observer)
                guard pulled.outcome != .conflicts else {
                    throw VaultError(
                        .conflicts,
                        "the remote moved, and both sides changed \(pulled.conflicts[0]); the merge waits for you",
                        hint: "vaultctl resolve --list", path: pulled.conflicts[0].description)
                }
                environment.clock.sleep(milliseconds: try delay(round))
            }
        }
        throw VaultError(
            .remoteMoved, "the branch on \(remote.location) kept moving; \(rounds) rounds of pull and push were lost",
            hint: "vaultctl push --pull")
    }

    /// One push, done again when what it was planned against changed without a branch of others having moved.
    private func once(_ operation: PushOperation) async throws -> PushResult {
        for _ in 1..<3 {
            do { return try await operation.run() } catch is PlanOutdated { continue }
        }
        do { return try await operation.run() } catch is PlanOutdated {
            throw operation.moved("other clients keep writing to it")
        }
    }

    /// 50 to 500 ms, times the round, so that two losers do not meet again.
    private func delay(_ round: Int) throws(VaultError) -> Int64 {
        let random = environment.random
        let bytes = try crypto("random delay") { () throws(CryptoError) in try random.bytes(2) }
        let fraction = Int64(bytes[0]) << 8 | Int64(bytes[1])
        return (50 + fraction * 450 / 65_535) * Int64(round)
    }
}

/// After the remote was read its writer finished a push that this clone was interrupted in, or another client wrote the
/// index, which is merged anew then (spec 02 §7).
private struct PlanOutdated: Error {}

/// One round of `push`.
private struct PushOperation {
    let vault: Vault
    let remote: any Remote
    let authorization: WriteAuthorization
    let options: PushOptions
    let observer: any Observer

    func run() async throws -> PushResult {
        let lock = try vault.lock()
        var state = try vault.loadState()
        try Vault.checkWritable(state.index)
        try vault.refusePacks(state.config, "push")
        try vault.refuseDuringMerge()
        guard let own = state.cloneBranch, let head = state.head else {
            throw VaultError(.branchNotFound, "this clone has no commits of its own to push", hint: "clone again")
        }
        if options.requireClean { try await requireClean(state) }
        let ref = options.branchOnly ? own.headRefID : state.namedBranch.headRefID
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        var baselines = try vault.acceptedHeads(of: remote, state)
        let baseline = baselines[ref]
        let notes = options.dryRun ? nil : lock.scratch
        let snapshot = try await snapshot(ref, isKnown: baseline != nil)
        if let index = snapshot.index {
            // The remote's policy and format hold, also where this clone has not pulled since they were set.
            try Vault.checkWritable(index)
            state.index = BranchIndex.merged(
                local: state.index, remote: index, nowMs: vault.environment.clock.nowMs)
            try Vault.checkGate(state.index)
            try Vault.checkWritable(state.index)
        }
        try snapshot.checkName(of: state.namedBranch, at: remote)
        let tags = try await TagPublisher(vault: vault, remote: remote, graph: graph).plan(
            shared(state), onto: snapshot.index, heads: [head] + (try held(snapshot.head).map { [$0] } ?? []))
        for name in tags.waiting {
            observer.warning("the tag '\(name)' is not sent yet: \(remote.location) lacks the commit that it names")
        }
        if snapshot.head == head, tags.isEmpty {
            if !options.force, options.lease == nil, !options.branchOnly {
                try vault.notingRewind(snapshot, baseline, at: remote, notes) { () throws(VaultError) in
                    try vault.checkNotRewound(head, baseline: baseline, graph: graph, remote: remote)
                }
            }
            if !options.branchOnly, !options.dryRun {
                try accept(snapshot.refBytes ?? [], head, ref, &baselines, &state, lock.scratch)
            }
            if tags.hasArrived, !options.dryRun {
                try vault.storeIndex(state.index, scratch: lock.scratch)
                try vault.settlePendingTags(in: state.index, scratch: lock.scratch)
            }
            return result(.upToDate, state, old: head, new: head, tags: tags)
        }
        if !options.branchOnly {
            try vault.notingRewind(snapshot, baseline, at: remote, notes) { () throws(VaultError) in
                try check(snapshot, head: head, baseline, graph)
            }
        }
        if options.branchOnly, !options.force, let there = snapshot.head {
            guard try vault.store.holds(there), try graph.isAncestor(there, of: head) else {
                throw moved("this clone's own branch there has commits that it does not contain here")
            }
        }
        try vault.enforcePolicy(of: state.index, graph, head: head, beyond: try held(snapshot.head))
        let plan = try plan(
            state, own, snapshot, graph, tags, head: head, ref: ref,
            known: try await heldHead(snapshot, except: ref))
        if options.dryRun {
            return result(
                snapshot.isAbsent ? .created : .pushed, state, old: snapshot.head, new: head, plan, tags: tags)
        }
        let place = vault.place(of: remote.location)
        var publisher = Publisher(
            remote: remote, authorization: authorization, store: vault.store, observer: observer)
        if plan.hasLarge {
            publisher.isRepeated = try vault.isSending(to: place)
            if !publisher.isRepeated { try vault.recordSending(true, to: place, scratch: lock.scratch) }
        }
        switch try await publisher.publish(plan) {
        case .published: break
        case .conflict(let file):
            // An earlier run that ended without an answer may have taken effect since the remote was read.
            let now = try await self.snapshot(ref, isKnown: true)
            if now.head == head, tags.isEmpty {
                if !options.branchOnly {
                    try accept(now.refBytes ?? [], head, ref, &baselines, &state, lock.scratch)
                }
                return result(snapshot.isAbsent ? .created : .pushed, state, old: snapshot.head, new: head, plan)
            }
            if case .index = file, !options.force, options.lease == nil { throw PlanOutdated() }
            // Commits of ours that came since: what an interrupted run left to the remote's next writer is no rival.
            if !options.force, options.lease == nil, now.head != snapshot.head, let earlier = now.head,
                try vault.store.holds(earlier), try graph.isAncestor(earlier, of: head)
            {
                throw PlanOutdated()
            }
            if file == .ref(own.headRefID), !options.branchOnly {
                try vault.renameOwnRef(own, state, lock.scratch)
                throw moved("another clone has this clone's branch name there; it was renamed here")
            }
            throw moved("another client wrote \(file.path) first")
        }
        if !remote.swapsAtOnce {
            let proof = SwapProof(
                vault: vault, remote: remote, scratch: lock.scratch, boundaries: state.config.shallowBoundaries,
                observer: observer)
            guard try await proof.stands(head, at: ref, width: state.index.idWidth) else {
                throw moved("another client wrote \(FileID.ref(ref).path) at the same time")
            }
            if !tags.isEmpty {
                let now = try await self.snapshot(ref, isKnown: true)
                guard tags.stands(in: now.index) else { throw PlanOutdated() }
            }
        }
        try finish(
            plan, head, ref, plan.namedRef?.bytes ?? snapshot.refBytes ?? [], &baselines, &state, lock.scratch)
        if plan.hasLarge { try vault.recordSending(false, to: place, scratch: lock.scratch) }
        return result(snapshot.isAbsent ? .created : .pushed, state, old: snapshot.head, new: head, plan, tags: tags)
    }

    /// A commit, if it is here.
    private func held(_ id: ObjectID?) throws(VaultError) -> ObjectID? {
        guard let id, try vault.store.holds(id) else { return nil }
        return id
    }

    /// The remote's state; that of a place which the first write will make is "nothing there", unless this clone has
    /// published or fetched before: then the place is gone.
    private func snapshot(_ ref: RefID, isKnown: Bool) async throws -> RemoteSnapshot {
        if remote.createsOnWrite, !isKnown || options.force { return RemoteSnapshot(ref: ref) }
        return try await vault.snapshot(of: remote, ref: ref, toleratesDamage: options.force)
    }

    /// For a branch that the remote does not have: the head of another one there, whose objects need not be sent again.
    private func heldHead(_ snapshot: RemoteSnapshot, except ref: RefID) async throws -> ObjectID? {
        guard snapshot.head == nil, let index = snapshot.index else { return nil }
        let others = index.branches.filter { $0.type == .named && $0.headRefID != ref }.map { FileID.ref($0.headRefID) }
        guard !others.isEmpty else { return nil }
        let found = try await remote.readAll(others)
        for case .ref(let other) in others {
            guard case .content(let bytes)? = found[.ref(other)], let head = try? vault.refs.decode(bytes, of: other),
                try vault.store.holds(head)
            else { continue }
            return head
        }
        return nil
    }

    func moved(_ why: String) -> VaultError {
        VaultError(
            .remoteMoved, "\(remote.location) moved: \(why); your commits are safe here", hint: "vaultctl pull")
    }

    /// What the remote may hold for this push to be allowed.
    private func check(
        _ snapshot: RemoteSnapshot, head: ObjectID, _ baseline: ObjectID?, _ graph: CommitGraph
    ) throws(VaultError) {
        if let lease = options.lease {
            guard snapshot.head == (lease ?? baseline) else {
                throw VaultError(
                    .leaseBroken,
                    "the branch on \(remote.location) is at \(snapshot.head?.text ?? "nothing"), not at "
                        + "\((lease ?? baseline)?.text ?? "nothing")", hint: "vaultctl pull")
            }
            return
        }
        if options.force {
            // A head that this branch contains is not lost, so there is nothing to warn of.
            if let old = snapshot.head, try vault.store.holds(old), try graph.isAncestor(old, of: head) { return }
            guard snapshot.head != nil else { return }
            observer.warning("replacing the remote head \(snapshot.head?.text ?? "(none)") with \(head.text)")
            return
        }
        guard let remoteHead = snapshot.head else {
            guard baseline == nil else {
                if snapshot.isAbsent { throw Vault.gone(.refRewound, remote) }
                throw VaultError(
                    .refRewound,
                    "\(remote.location) no longer has the branch that this clone got from it or sent to it",
                    hint: "check the address; push --force publishes to it again")
            }
            return
        }
        guard try vault.store.holds(remoteHead) else { throw moved("it has commits that are not here") }
        if let baseline, baseline != remoteHead, try !graph.isAncestor(baseline, of: remoteHead) {
            try vault.checkNotRewound(remoteHead, baseline: baseline, graph: graph, remote: remote)
        }
        guard try graph.isAncestor(remoteHead, of: head) else {
            if try graph.mergeBases(remoteHead, head).isEmpty, try graph.endsShort([head]) {
                throw Vault.undecided("whether this branch contains that on \(remote.location)", remoteHead)
            }
            throw moved("it has commits that this branch does not contain")
        }
    }

    private func plan(
        _ state: CloneState, _ own: BranchRecord, _ snapshot: RemoteSnapshot, _ graph: CommitGraph,
        _ tags: TagPublication, head: ObjectID, ref: RefID, known: ObjectID?
    ) throws -> PublishPlan {
        let remoteHead = try held(snapshot.head) ?? known
        let commits = try graph.exclusive(head, not: remoteHead).sorted()
        let trees = vault.treeReader()
        let objects = try PublishPlanner(store: vault.store, graph: graph, trees: trees)
            .objects(of: commits, remote: remoteHead)
        var size: Int64 = 0
        var sized: [(id: ObjectID, size: Int64?)] = []
        for id in objects + tags.objects {
            sized.append((id, try vault.store.size(id)))
            size += sized.last?.size ?? 0
        }
        var plan = PublishPlan(commits: commits, objects: sized, keys: [], size: size)
        // Writing the ref anew with the commit that it has would make the conditional writes of others fail.
        if snapshot.head != head {
            let bytes = try vault.refs.encode(head, random: vault.environment.random)
            plan.namedRef = (ref, snapshot.expectedRef, bytes)
        }
        let isRegistered = snapshot.index?.branch(id: own.branchID) != nil
        let outgoing = outgoingIndex(tags.index, snapshot.index)
        if let outgoing {
            let bytes = try vault.refs.encodeIndex(outgoing, random: vault.environment.random)
            plan.index = (vault.ids.index, snapshot.expectedIndex, bytes)
        }
        var signers: Set<KeyID> = []
        for id in commits {
            // A commit of another branch, merged here, may be signed with a key that only this clone has.
            if let key = try graph.commit(id).authorKeyID.flatMap({ try? KeyID($0) }) { signers.insert(key) }
        }
        if !isRegistered { signers.formUnion(tags.index.branches.compactMap(\.publicKeyID)) }
        plan.keys = try keys(signers, missingFrom: snapshot.index)
        if !isRegistered {
            if !options.branchOnly, let bytes = try vault.refs.bytes(of: .ref(own.headRefID)) {
                plan.cloneRef = (own.headRefID, bytes)
            }
        }
        return plan
    }

    /// This clone's index without the branches that were never pushed, but for the one that is.
    private func shared(_ state: CloneState) throws(VaultError) -> BranchIndex {
        let kept = try vault.unpushedBranches().subtracting([state.namedBranch.branchID.text])
        var index = state.index
        index.branches.removeAll { kept.contains($0.branchID.text) || kept.contains($0.creatorBranch?.text ?? "") }
        return index
    }

    /// The index to store at the remote, when it says more than the one there.
    private func outgoingIndex(_ local: BranchIndex, _ remote: BranchIndex?) -> BranchIndex? {
        guard let remote else { return local }
        let merged = BranchIndex.merged(local: local, remote: remote, nowMs: vault.environment.clock.nowMs)
            .publishable(onto: remote).index
        // The order of branches differs from clone to clone and means nothing.
        func ordered(_ index: BranchIndex) -> BranchIndex {
            var index = index
            index.branches.sort { $0.branchID.text < $1.branchID.text }
            return index
        }
        return ordered(merged) == ordered(remote) ? nil : merged
    }

    /// Stored public keys that the remote's index does not list.
    private func keys(_ ids: Set<KeyID>, missingFrom remote: BranchIndex?) throws -> [(id: KeyID, bytes: [UInt8])] {
        let known = Set((remote?.branches ?? []).compactMap(\.publicKeyID))
        var result: [(id: KeyID, bytes: [UInt8])] = []
        for id in ids.subtracting(known).sorted(by: { $0.text < $1.text }) {
            guard let bytes = try vault.refs.bytes(of: .key(id), limit: Limits.keyPlaintext) else { continue }
            result.append((id, bytes))
        }
        return result
    }

    private func finish(
        _ plan: PublishPlan, _ head: ObjectID, _ ref: RefID, _ refBytes: [UInt8], _ baselines: inout RemoteHeads,
        _ state: inout CloneState, _ scratch: ScratchArea
    ) throws {
        try attempt("interrupted") { () throws(Errno) in try vault.environment.failPoints.hit(.pushBeforeLocal) }
        if let index = plan.index {
            let sent = try vault.refs.decodeIndex(index.bytes, vault.ids.index)
            let merged = BranchIndex.merged(
                local: state.index, remote: sent, nowMs: vault.environment.clock.nowMs)
            // The remote's own bytes where nothing is kept back.
            try vault.storeIndex(
                merged, bytes: merged.branches.count == sent.branches.count ? index.bytes : nil, scratch: scratch)
            try vault.settlePendingTags(in: merged, scratch: scratch)
        }
        if options.branchOnly {
            // What was published is not amended any more.
            try vault.recordSeen(
                ref, head, bytes: refBytes, accepted: nil, at: vault.place(of: remote.location), scratch: scratch,
                durable: true)
        } else {
            try accept(refBytes, head, ref, &baselines, &state, scratch)
        }
        // Of the reference, which mostly left none.
        try vault.files.remove("pending_registration.json", syncsAbsent: false)
    }

    /// Records the remote's head as this clone's baseline, with the exact bytes that are there.
    private func accept(
        _ bytes: [UInt8], _ head: ObjectID, _ ref: RefID, _ baselines: inout RemoteHeads, _ state: inout CloneState,
        _ scratch: ScratchArea
    ) throws {
        if try vault.isTracked(remote), try vault.refs.bytes(of: .ref(ref)) != bytes {
            try vault.storeRef(ref, old: try vault.refs.commit(of: ref), new: head, bytes: bytes, scratch: scratch)
        }
        try baselines.accept(head, for: ref, files: vault.files, config: &state.config, scratch: scratch)
        try vault.recordPushed(state.namedBranch, scratch: scratch)
        try vault.recordSeen(
            ref, head, bytes: bytes, accepted: head, at: vault.place(of: remote.location), scratch: scratch)
    }

    private func requireClean(_ state: CloneState) async throws {
        let status = try vault.status()
        guard status.isClean else {
            throw VaultError(.dirtyTree, "the working copy has uncommitted changes", hint: "vaultctl commit")
        }
    }

    private func result(
        _ outcome: PushResult.Outcome, _ state: CloneState, old: ObjectID?, new: ObjectID?, _ plan: PublishPlan? = nil,
        tags: TagPublication? = nil
    ) -> PushResult {
        let branch = options.branchOnly ? state.cloneBranch : state.namedBranch
        return PushResult(
            outcome: outcome, branch: branch?.name ?? "", old: old, new: new, commits: plan?.commits.count ?? 0,
            objects: plan?.objects.count ?? 0, bytes: plan?.size ?? 0, retries: 0, tags: tags?.changes ?? [],
            waitingTags: tags?.waiting ?? [])
    }
}
