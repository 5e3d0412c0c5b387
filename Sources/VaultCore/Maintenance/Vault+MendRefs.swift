internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Puts refs of this clone's branches that are lost or do not read back to what they named last.
    ///
    /// Where no record tells that, a branch of this clone goes back to the head of the named one, which is a guess and is
    /// told as one. A ref of which nothing is known is set aside.
    func mendRefs(
        _ index: BranchIndex, _ own: BranchRecord?, _ config: CloneConfig?, from remote: (any Remote)?,
        _ scratch: ScratchArea
    ) async throws -> Mended {
        var mended = Mended()
        let boundaries = config?.shallowBoundaries ?? []
        let traces = RefTraces(vault: self, boundaries: boundaries)
        var restored: [(ref: RefID, commit: ObjectID, isGuess: Bool)] = []
        for branch in localBranches(index, current: own?.branchID) {
            let ref = branch.headRefID
            var head: ObjectID?
            let doesNotRead = try isDamaged { () throws(VaultError) in head = try refs.commit(of: ref) }
            guard try doesNotRead || head == nil && traces.loss(of: branch, index) != nil else { continue }
            var target = try traces.best(of: ref, or: accepted(ref, branch, config))
            // What the remote has of this clone's own branch is what was pushed of it, and no more.
            var isGuess = target == nil && branch.type == .clone
            if target == nil, let remote { target = try await published(ref, at: remote) }
            if target == nil {
                isGuess = true
                target = try neighbour(of: branch, index, own)
            }
            if doesNotRead {
                try setAside(ref.text, in: layout.refs)
                mended.names.append(ref.text)
            }
            guard let target else { continue }
            try storeRef(ref, old: nil, new: target, scratch: scratch)
            if !doesNotRead { mended.names.append(ref.text) }
            restored.append((ref, target, isGuess))
        }
        for item in restored {
            if item.isGuess {
                try tell(item.ref, item.commit, traces, boundaries, &mended)
            } else {
                try noteBeyond(item.ref, item.commit, boundaries, &mended)
            }
        }
        return mended
    }

    /// What was accepted last of a named branch.
    private func accepted(_ ref: RefID, _ branch: BranchRecord, _ config: CloneConfig?) -> [ObjectID] {
        guard branch.type == .named, let config else { return [] }
        let heads = try? RemoteHeads(files: files, config: config, tracked: ref)
        return heads?[ref].map { [$0] } ?? []
    }

    /// What the remote has of a ref, when that commit is held.
    private func published(_ ref: RefID, at remote: any Remote) async throws -> ObjectID? {
        guard case .content(let bytes)? = try await remote.readAll([.ref(ref)])[.ref(ref)],
            let head = (try? refs.decode(bytes, of: ref)) ?? nil, try store.holds(head)
        else { return nil }
        return head
    }

    /// The head of the branch that a branch of this clone works on, or of this clone's work on a named one.
    private func neighbour(
        of branch: BranchRecord, _ index: BranchIndex, _ own: BranchRecord?
    ) throws(VaultError) -> ObjectID? {
        let others: [BranchRecord]
        if branch.type == .clone {
            others = [try trackedBranch(of: branch, index)]
        } else {
            others = localBranches(index, current: own?.branchID).filter { $0.creatorBranch == branch.branchID }
        }
        for other in others {
            if let head = (try? refs.commit(of: other.headRefID)) ?? nil, try store.holds(head) { return head }
        }
        return nil
    }

    /// Tells of a guess; it is no success where commits descend from it that nothing leads to.
    private func tell(
        _ ref: RefID, _ guess: ObjectID, _ traces: RefTraces, _ boundaries: Set<ObjectID>, _ mended: inout Mended
    ) throws {
        let told = "\(ref.text) was put back to \(guess.text), which is a guess: "
        let lost = traces.commits(of: ref).filter { (try? store.holds($0)) != true }
        let beyond = try unreachedTips(above: guess, boundaries)
        guard !beyond.isEmpty || !lost.isEmpty else {
            mended.notes.append(told + "no record tells what it named, and no commit here goes on from there")
            return
        }
        var detail = told
        if lost.isEmpty {
            detail += "no record tells what it named"
        } else {
            detail += "it named \(lost.map(\.text).joined(separator: ", ")), which is not here"
        }
        if !beyond.isEmpty { detail += Self.goingOn(beyond) }
        mended.guesses.append(.init(id: ref.text, kind: .ref, referencedBy: nil, path: nil, detail: detail))
    }

    /// Names commits that go on from where a ref was put back, and of which the log knows nothing: a record may be older
    /// than the ref was.
    private func noteBeyond(
        _ ref: RefID, _ commit: ObjectID, _ boundaries: Set<ObjectID>, _ mended: inout Mended
    ) throws {
        let moves = (try? Reflog(files: files).entries()) ?? []
        let known = Set(moves.flatMap { [$0.old, $0.new].compactMap(\.self) })
        let beyond = try unreachedTips(above: commit, boundaries).filter { !known.contains($0) }
        guard !beyond.isEmpty else { return }
        mended.notes.append("\(ref.text) was put back to \(commit.text)" + Self.goingOn(beyond))
    }

    private static func goingOn(_ beyond: [ObjectID]) -> String {
        let shown = beyond.prefix(10).map(\.text).joined(separator: ", ")
        let more = beyond.count > 10 ? " and \(beyond.count - 10) more" : ""
        return "; commits go on from there that no branch leads to, the newest first: \(shown)\(more); on that branch, "
            + "vaultctl reset --hard ID takes one of them up"
    }

    /// The last ones of the commits that descend from `base` and that no ref leads to; the newest first.
    private func unreachedTips(above base: ObjectID, _ boundaries: Set<ObjectID>) throws -> [ObjectID] {
        let largest = 64 << 10
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: boundaries)
        var reached: Set<ObjectID> = []
        var pending = try storedRefs().compactMap { (try? refs.commit(of: $0)) ?? nil }
        while let id = pending.popLast() {
            guard reached.insert(id).inserted else { continue }
            pending += (try? graph.parents(id)) ?? []
        }
        var times: [ObjectID: Int64] = [:]
        var inner: Set<ObjectID> = []
        for id in try store.allIDs() where !reached.contains(id) {
            try environment.pool.checkCancellation()
            guard let size = try store.size(id), size <= largest, let commit = try? graph.commit(id),
                commit.treeID != nil
            else { continue }
            times[id] = commit.timestampMs
            inner.formUnion(commit.parents)
        }
        return times.filter { !inner.contains($0.key) && (try? graph.isAncestor(base, of: $0.key)) == true }
            .sorted { ($0.value, $0.key.text) > ($1.value, $1.key.text) }.map(\.key)
    }
}
