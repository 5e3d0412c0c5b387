internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Moves this clone's head to another commit (spec 05 §10, 10 B.13); nothing is sent.
    ///
    /// A soft reset leaves every file as it is. A hard one gives tracked files the content of the commit and forgets what
    /// `removeFiles` with `cached` was to drop; untracked files stay, and edits that would be lost are stashed first.
    ///
    /// - Throws: `dirtyTree` when edits would be lost and may not be stashed, or when an untracked file is in the way,
    ///   `revisionNotFound`, `objectMissing`, `mergeInProgress`, `readOnlyClone`. Nothing has changed then; an error
    ///   after the stash was made says that it was.
    public func reset(
        to revision: String = "HEAD", _ options: ResetOptions = ResetOptions(),
        observer: any Observer = SilentObserver()
    ) throws -> HeadMove {
        try requireWritable("reset")
        let lock = try lockWithoutRecovery()
        let begun = try settle(lock, asking: "reset")
        try refuseDuringMerge()
        let state = try loadState()
        try refusePacks(state.config, "reset")
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let target = try target(of: revision, state, graph, begun)
        if options.hard, mode == .full { return try hardReset(to: target, options, state, lock.scratch, observer) }
        // The tree is looked at, so that the head never names a commit that is not there.
        _ = try treeReader().tree(graph.tree(of: target))
        if target != state.head {
            try moveRef(state.headRef, from: state.head, to: target, scratch: lock.scratch)
            try recordOwnHead(target, ref: state.headRef, scratch: lock.scratch)
        }
        return HeadMove(old: state.head, new: target, changes: Changes(), kept: Changes(), notWritten: [])
    }

    private func hardReset(
        to target: ObjectID, _ options: ResetOptions, _ state: CloneState, _ scratch: ScratchArea,
        _ observer: any Observer
    ) throws -> HeadMove {
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        // Untracked files stay where they are.
        let edits = try trackedEdits(state, graph, trees)
        let notStored = try notStored()
        let differences = try TreeDiff(trees: trees).files(
            state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }, graph.tree(of: target))
        try refuseUntracked(in: differences, notStored)
        var stash: StashInfo?
        if !edits.paths.isEmpty {
            guard options.stashesEdits else {
                throw VaultError(
                    .dirtyTree,
                    "uncommitted edits would be lost: \(edits.paths.count) files, \(edits.paths[0]) among them; "
                        + "nothing was changed",
                    hint: "vaultctl reset --hard -y stashes them first", path: edits.paths[0].description)
            }
            // What would stop the move is found now, before the edits leave the working copy.
            let selection = part.isSparse ? try Selection.read(files) : nil
            let incoming = differences.filter { selection?.wants($0.path) ?? true }
            try store.require(incoming.compactMap { item in item.new.map { (path: item.path, entry: $0) } })
            stash = try putAside(
                edits, before: "reset", message: "before reset --hard", state, graph, trees, scratch: scratch,
                observer: observer)
        }
        do {
            var result = try moveHead(to: target, verb: "reset", state, graph, trees, scratch, observer)
            result.stash = stash
            var leftOut = try leftOut(state)
            if !leftOut.pending.isEmpty {
                // What the next commit was to drop is uncommitted work as well.
                leftOut.pending = []
                try leftOut.write(files, scratch: scratch)
            }
            return result
        } catch let error as VaultError where stash != nil {
            throw error.following("the edits were stashed", hint: "vaultctl stash pop")
        }
    }

    /// Refuses a move that would write over files that nobody has committed; they are not stashed, because a reset
    /// leaves them alone.
    private func refuseUntracked(in differences: [TreeDifference], _ notStored: Set<VaultPath>) throws {
        let new = differences.filter { $0.old == nil }
        let removed = differences.filter { $0.new == nil && !notStored.contains($0.path) }
        let guardian = CheckoutGuard(
            root: layout.root, blobs: BlobReader(store: store, cipher: cipher), pool: environment.pool,
            notStored: notStored)
        let foldsNames = try attempt("cannot look at the working copy") { () throws(Errno) in
            try layout.root.foldsNames()
        }
        let leaving = Set(removed.map(\.path))
        let blocked = try new.filter { item in
            switch try guardian.onDisk(item.path, foldsNames: foldsNames) {
            case .file(let hash, _): try item.new.map { try guardian.contentHash($0) != hash } ?? false
            case .blockedBy(let path): !leaving.contains(path)
            case .other, .unreadable: true
            case .absent, .folder: false
            }
        }
        guard blocked.isEmpty else { throw try guardian.inTheWay(blocked.map(\.path)) }
    }

    /// Moves the working copy and the head, uncommitted edits that are not touched taken along.
    private func moveHead(
        to target: ObjectID, verb: String, _ state: CloneState, _ graph: CommitGraph, _ trees: TreeReader,
        _ scratch: ScratchArea, _ observer: any Observer
    ) throws -> HeadMove {
        var result = HeadMove(old: state.head, new: target, changes: Changes(), kept: Changes(), notWritten: [])
        guard target != state.head else { return result }
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: trees, scratch: scratch, observer: observer)
        let outcome = try move.run(to: target, verb: verb) {
            try moveRef(state.headRef, from: state.head, to: target, scratch: scratch)
        }
        try recordOwnHead(target, ref: state.headRef, scratch: scratch)
        (result.changes, result.kept, result.notWritten) = (
            outcome.changes, outcome.kept, outcome.notStored
        )
        return result
    }

    /// Takes back the last move of this clone's head: a commit, a merge, a pull, a reset, or an undo.
    ///
    /// The files go with it; uncommitted edits that it does not touch are taken along. Nothing is lost: where the head
    /// was is still the last move of the reflog.
    ///
    /// * `force`: Also from a commit that others have.
    /// - Throws: `refused` when there is nothing to take back, or for a published head, `dirtyTree`,
    ///   `mergeInProgress`. Nothing has changed then.
    public func undo(force: Bool = false, observer: any Observer = SilentObserver()) throws -> HeadMove {
        try requireWritable("undo")
        let lock = try lockWithoutRecovery()
        let begun = try settle(lock, asking: "undo")
        try refuseDuringMerge()
        let state = try loadState()
        try refusePacks(state.config, "undo")
        if let begun {
            try recordOwnHead(begun.to, ref: begun.ref, scratch: lock.scratch)
            return HeadMove(old: begun.from, new: begun.to, changes: Changes(), kept: Changes(), notWritten: [])
        }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let last = try Reflog(files: files).entries().last { $0.ref == state.headRef }
        guard let head = state.head, let last, last.new == head, let target = last.old else {
            throw VaultError(
                .refused, "there is nothing to undo: no earlier place of this clone's head is recorded",
                hint: "vaultctl reflog")
        }
        guard try store.holds(target) else { throw ObjectStore.missing(target) }
        // Going forward again takes nothing back from anybody.
        if !force, try !graph.isAncestor(head, of: target), try isPublished(head, state: state) {
            throw VaultError(
                .refused,
                "the head has been pushed: an undo here changes nothing for others, and the next pull brings it back",
                hint: "vaultctl revert HEAD undoes it for everyone; --force moves this clone all the same",
                object: head.text)
        }
        return try moveHead(
            to: target, verb: "undo", state, graph, treeReader(), lock.scratch, observer)
    }

    /// The moves of this clone's branch, newest first, and the lines of the log that do not read.
    ///
    /// * `all`: Of every ref.
    /// - Throws: `objectCorrupt` where something else stands in the log's place.
    public func reflog(all: Bool = false, limit: Int? = nil) throws -> [ReflogMove] {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        var result: [ReflogMove] = []
        var counts: [RefID: Int] = [:]
        var gaps = 0
        for entry in try Reflog(files: files).history(of: all ? nil : state.headRef) {
            if let limit, result.count >= limit { break }
            guard let entry else {
                // It may have been a move of any ref, and counts as one of each.
                result.append(ReflogMove(unreadable: counts[state.headRef, default: 0] + gaps))
                gaps += 1
                continue
            }
            let number = counts[entry.ref, default: 0] + gaps
            counts[entry.ref, default: 0] += 1
            var subject: String?
            if let commit = try? graph.commit(entry.new), let message = try? message(of: commit) {
                subject = String(message.prefix { !$0.isNewline })
            }
            result.append(
                ReflogMove(
                    number: number, branch: state.index.branches.first { $0.headRefID == entry.ref }?.name,
                    refID: entry.ref.text, old: entry.old, new: entry.new, timeMs: entry.timeMs, subject: subject))
        }
        return result
    }
}
