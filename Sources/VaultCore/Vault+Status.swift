internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Compares the working copy with the head, and the head with what is known of the remote.
    ///
    /// No request is made.
    ///
    /// - Throws: `formatUnsupported`, `objectCorrupt`, `objectMissing`, or an I/O error.
    public func status(_ options: StatusOptions = StatusOptions()) throws -> StatusReport {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        var changes = Changes()
        let merge = try mergeState()
        var look: WorkingChanges?
        if mode != .bare {
            let loaded = StatCache.load(layout: layout)?.tree
            let tracked = try trackedFiles(of: state.head, graph: graph, trees: trees)
            var found = try self.look(tracked, collectsIgnored: options.includeIgnored)
            let kept = try notStored()
            found.deleted.removeAll { kept.contains($0.path) }
            refreshCache(found, tree: tracked.tree, loadedFor: loaded)
            let leftOut = try leftOut(state).apply(to: &found, taking: [])
            found.leaveOutCopies(of: merge)
            if options.includeIgnored, !leftOut.isEmpty {
                found.ignored = (found.ignored + leftOut.map(\.bytes)).sorted { $0.lexicographicallyPrecedes($1) }
            }
            changes = found.changes
            look = found
        }
        restrict(&changes, to: options.paths)
        return StatusReport(
            directory: root, vaultID: vaultID, mode: mode, branch: state.namedBranch.name, head: state.head,
            remote: try remoteState(state, graph, at: options.remoteURL), mergeInProgress: merge != nil,
            conflicts: merge?.conflicts ?? [],
            changes: changes, unreadable: look?.unreadable ?? [], skipped: look?.skipped ?? [],
            ignored: look?.ignored ?? [], stashCount: (try? StashShelf(vault: self).count()) ?? 0,
            interrupted: try interruptedVerb(), rekey: unfinishedRekey(),
            overwrittenHead: overwrittenHead(state, graph: graph))
    }

    /// A rekey before the vaults have changed places; one whose record is damaged is no reason to tell nothing.
    private func unfinishedRekey() -> PendingRekey? {
        guard let pending = (try? pendingRekey()) ?? nil, pending.phase != .swapped else { return nil }
        return pending
    }

    private func restrict(_ changes: inout Changes, to paths: [VaultPath]) {
        guard !paths.isEmpty else { return }
        func outside(_ path: VaultPath) -> Bool { !paths.contains { path.isAtOrBelow($0) } }
        changes.added.removeAll(where: outside)
        changes.modified.removeAll(where: outside)
        changes.deleted.removeAll(where: outside)
    }

    /// How the head relates to the remote head last seen or accepted.
    ///
    /// Never claims more than is known.
    private func remoteState(
        _ state: CloneState, _ graph: CommitGraph, at address: String?
    ) throws(VaultError) -> RemoteState {
        let recorded = try recordedServer()
        let url = address ?? recorded
        var record = try defaultRemote()
        var isRecorded = true
        if let address {
            let place = place(of: address)
            isRecorded = recorded.map { self.place(of: $0) == place } ?? false
            if !isRecorded { record = try savedRemotes().first { self.place(of: $0.url) == place } }
        }
        let ref = state.namedBranch.headRefID
        var result = RemoteState(
            name: record?.name ?? (isRecorded ? Self.originName : url ?? ""), url: url, head: nil, seenMs: nil,
            relation: .neverRead, ahead: nil,
            behind: nil, behindIsLowerBound: false)
        guard let url else {
            result.relation = .unknown
            return result
        }
        let place = place(of: url)
        result.accepted = try? acceptedHeads(at: place, state)[ref]
        if let refused = try refusedHead(at: place, ref: ref), refused.accepted == result.accepted {
            (result.head, result.seenMs) = (refused.commit, refused.timeMs)
            result.relation = refused.commit == nil ? .absent : .rewound
            return result
        }
        if let seen = try seenHead(at: place, ref: ref) {
            (result.head, result.seenMs) = (seen.commit, seen.timeMs)
            if seen.commit == nil { result.relation = .absent }
            if let accepted = result.accepted, accepted != seen.commit, let judge = seen.judgedBy,
                judge.accepted != accepted
            {
                // The reference keeps no record of what it saw, but moves the accepted head as it pulls and pushes.
                (result.head, result.relation) = (accepted, .neverRead)
                result.seenMs = RemoteHeads.changedMs(layout) ?? seen.timeMs
            }
        }
        guard let remote = result.head, let head = state.head else { return result }
        if let accepted = result.accepted, accepted != remote, try store.holds(accepted), try store.holds(remote),
            try !graph.isAncestor(accepted, of: remote), try !graph.endsShort([remote])
        {
            result.relation = .rewound
            return result
        }
        if remote == head {
            (result.relation, result.ahead, result.behind) = (.upToDate, 0, 0)
            return result
        }
        guard try store.holds(remote) else {
            result.relation = .behind
            return result
        }
        do throws(VaultError) {
            let (ahead, behind) = try graph.divergence(head, remote)
            result.ahead = ahead
            result.behind = behind
            result.relation = behind == 0 ? .ahead : ahead == 0 ? .behind : .diverged
            // Where history is cut off, the two may have more, or less, of their own than is seen here.
            if result.relation == .diverged, try graph.mergeBases(head, remote).isEmpty {
                result.behindIsLowerBound = try graph.endsShort([head, remote])
            }
        } catch {
            guard error.code == .objectMissing else { throw error }
            (result.relation, result.behindIsLowerBound) = (.behind, true)
        }
        return result
    }
}
