internal import VaultFormat
internal import VaultSystem

/// Moves the working copy and then the head from one commit to another, or does nothing (spec 05 I3, I4).
struct WorkingCopyMove {
    let vault: Vault
    let state: CloneState
    let graph: CommitGraph
    let trees: TreeReader
    let scratch: ScratchArea
    let observer: any Observer
    /// The record of the command that began this move and died.
    var interrupted: Journal?
    /// Look at the files that the move does not touch as well, to tell what uncommitted work was kept.
    var looksAround = true

    /// What the move did.
    struct Outcome: Sendable {
        var changes = Changes()
        /// Uncommitted work that the move did not touch; what is new in it are untracked files.
        var kept = Changes()
        var notStored: [SkippedEntry] = []
    }

    /// * `target`: The commit to move to; its objects are all held.
    /// * `branch`: The branch of this clone that is worked on afterwards, where that is another one.
    /// * `accept`: What has to be recorded once the move is known to be possible, before the first file is touched.
    /// * `finish`: Moves the head; called when every file is on disk and durable.
    /// - Throws: `dirtyTree` when uncommitted work is in the way, `unsafePath`; nothing has changed then.
    func run(
        to target: ObjectID, verb: String, branch: BranchID? = nil, accept: () throws -> Void = {},
        finish: () throws -> Void
    ) throws -> Outcome {
        try run(
            Journal(verb: verb, ref: state.headRef, from: state.head, to: target, branch: branch),
            tree: graph.tree(of: target),
            mustBeClean: [], accept: accept, begin: { _ in }, finish: finish, abandon: {})
    }

    /// Gives the working copy what a merge that stops with conflicts leaves in it; the head stays.
    ///
    /// * `tree`: The merged tree with the copies of theirs.
    /// * `conflicts`: Paths that must hold no uncommitted work: what is decided for them replaces it.
    /// * `begin`: Records the merge, before the first file is touched; gets the touched paths that have their new
    ///   content already.
    /// * `abandon`: Removes that record, when the move was undone.
    func stop(
        with tree: ObjectID, verb: String, conflicts: [VaultPath], accept: () throws -> Void = {},
        begin: (Set<VaultPath>) throws -> Void, abandon: () throws -> Void
    ) throws -> Outcome {
        try run(
            Journal(verb: verb, ref: state.headRef, from: state.head, to: tree, isMerge: true), tree: tree,
            mustBeClean: conflicts, accept: accept, begin: begin, finish: {}, abandon: abandon)
    }

    private func run(
        _ record: Journal, tree to: ObjectID, mustBeClean: [VaultPath], accept: () throws -> Void,
        begin: (Set<VaultPath>) throws -> Void, finish: () throws -> Void, abandon: () throws -> Void
    ) throws -> Outcome {
        let from = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        // Tracked files that are to be written and are not there yet, on purpose.
        var absent: Set<VaultPath> = []
        guard vault.mode != .bare else {
            try accept()
            try finish()
            return Outcome()
        }
        let differences = try selected(TreeDiff(trees: trees).files(from, to), record, mustBeClean, &absent)
        let tracked = try vault.trackedFiles(of: state.head, graph: graph, trees: trees)
        // The guard reads what the move touches.
        let dirty = looksAround ? try vault.look(tracked, skipping: Set(differences.map(\.path))) : nil
        if let dirty, !mustBeClean.isEmpty { try check(mustBeClean, dirty, from) }
        var notStored = try vault.notStored()
        let guardian = CheckoutGuard(
            root: vault.layout.root, blobs: blobs, pool: vault.environment.pool, mendsTorn: interrupted != nil,
            notStored: notStored.union(absent))
        let plan = try guardian.plan(differences.filter { !notStored.contains($0.path) || $0.new != nil })
        try vault.store.require(plan.write.lazy.map { ($0.path, $0.entry) })
        try accept()
        let untouched = interrupted?.kept ?? Set(plan.alreadyThere)
        if !plan.write.isEmpty || !plan.remove.isEmpty {
            var journal = record
            journal.kept = untouched
            try journal.write(vault.files, scratch: scratch)
        }
        let written: Checkout.Outcome
        do {
            try begin(untouched)
            written = try carryOut(plan)
        } catch let error as VaultError where !error.isOfTheDisk {
            // What stopped the move will not go away by itself: the files get their old content back now. After a
            // failing disk nothing more is written; the journal tells the next command.
            try? undo(plan, of: differences, notStored, abandon)
            throw error
        }
        let before = notStored
        for item in differences { notStored.remove(item.path) }
        notStored.formUnion(written.notStored.map { VaultPath(unchecked: $0.path) })
        try vault.recordNotStored(notStored, scratch: scratch)
        try vault.recordCheckout(
            added: differences.filter { $0.new != nil && !notStored.contains($0.path) }.map(\.path),
            removed: differences.filter { $0.new == nil }.map(\.path), scratch: scratch)
        try attempt("interrupted") { () throws(Errno) in try vault.environment.failPoints.hit(.checkoutBeforeHead) }
        do {
            try finish()
        } catch let error as VaultError where error.code == .remoteMoved {
            // Another program, which takes no lock, moved the head: the files go back to what they were.
            try? vault.recordNotStored(before, scratch: scratch)
            try? undo(plan, of: differences, before)
            throw error
        }
        let removed = differences.filter { $0.new == nil }.map(\.path)
        if !record.isMerge, record.branch == nil, !differences.isEmpty {
            // The head has moved: that the record is not written undoes nothing of it.
            try? vault.leftOut(state).moved(removing: removed, before: tracked, in: vault, scratch: scratch)
        }
        try Journal.remove(vault.files)
        // What is tracked is still the head's tree when a merge has stopped.
        if !record.isMerge { store(dirty?.cache ?? tracked, differences, tree: to) }
        return Outcome(
            changes: TreeDiff.changes(differences.filter { !$0.isSameContent }),
            kept: dirty.map { kept($0, differences) } ?? Changes(), notStored: written.notStored)
    }

    /// Refuses uncommitted work at or below paths, ignored files included.
    private func check(_ paths: [VaultPath], _ dirty: WorkingChanges, _ head: ObjectID?) throws {
        let known = Set(paths)
        var inTheWay = dirty.paths.filter { $0.isAtOrBelow(oneOf: known) }
        for path in paths where try head.map({ try trees.entry(path, in: $0) == nil }) ?? true {
            let isThere = try attempt("cannot look at \(path)", path: path.description) { () throws(Errno) in
                do throws(Errno) {
                    let folder = try vault.layout.root.openDirectory(beneath: path.parent?.bytes ?? [])
                    return try folder.statusIfPresent(of: path.lastSegment).map { $0.kind != .directory } ?? false
                } catch {
                    switch error {
                    case .noSuchFile, .notADirectory, .tooManyLinks, .nameTooLong: return false
                    default: throw error
                    }
                }
            }
            if isThere { inTheWay.append(path) }
        }
        guard inTheWay.isEmpty else { throw CheckoutGuard.blocked(Set(inTheWay).sorted()) }
    }

    private var blobs: BlobReader { BlobReader(store: vault.store, cipher: vault.cipher) }

    private func carryOut(_ plan: CheckoutGuard.Plan) throws -> Checkout.Outcome {
        let failPoints = vault.environment.failPoints
        let checkout = Checkout(
            root: vault.layout.root, scratch: scratch, blobs: blobs, pool: vault.environment.pool,
            observer: observer, failPoints: failPoints)
        try attempt("interrupted") { () throws(Errno) in try failPoints.hit(.checkoutBeforeFirst) }
        try checkout.remove(plan.remove)
        let written = try checkout.write(plan.write)
        try checkout.sync(plan.write.map(\.path), removed: plan.remove.map(\.path))
        return written
    }

    private func undo(
        _ plan: CheckoutGuard.Plan, of differences: [TreeDifference], _ notStored: Set<VaultPath>,
        _ abandon: () throws -> Void = {}
    ) throws {
        let touched = Set(plan.write.map(\.path) + plan.remove.map(\.path))
        try undo(differences.filter { touched.contains($0.path) }, notStored, abandon)
    }

    /// Gives the files that a move has reached their old content back, and ends the move.
    ///
    /// * `abandon`: Called while the journal still stands: without it a record that stays would be taken for done.
    private func undo(
        _ differences: [TreeDifference], _ notStored: Set<VaultPath>, _ abandon: () throws -> Void = {}
    ) throws {
        let guardian = CheckoutGuard(
            root: vault.layout.root, blobs: blobs, pool: vault.environment.pool, mendsTorn: interrupted != nil,
            notStored: notStored)
        let plan = try guardian.rollback(differences.filter { !notStored.contains($0.path) })
        try vault.store.require(plan.write.lazy.map { ($0.path, $0.entry) })
        _ = try carryOut(plan)
        try abandon()
        try Journal.remove(vault.files)
    }

    /// Undoes an interrupted move to a tree.
    func undo(moveTo target: ObjectID, abandon: () throws -> Void = {}) throws {
        let from = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        // What had the new content before the move began is nothing that it did.
        let kept = interrupted?.kept ?? []
        let differences = try TreeDiff(trees: trees).files(from, target)
        try undo(differences.filter { !kept.contains($0.path) }, vault.notStored(), abandon)
    }

    /// Those of the differences that are of this working copy's concern: all but, in a sparse clone, files that are
    /// not in it and are not to come into it.
    ///
    /// Conflicting paths and the copies of theirs are, wherever they lie.
    ///
    /// * `absent`: Gets the paths of those that are to come into it and never were.
    private func selected(
        _ differences: [TreeDifference], _ record: Journal, _ given: [VaultPath], _ absent: inout Set<VaultPath>
    ) throws -> [TreeDifference] {
        guard vault.part.isSparse else { return differences }
        let selection = try Selection.read(vault.files)
        var conflicts = given
        if record.isMerge, given.isEmpty { conflicts = try MergeState.read(vault.files)?.conflicts ?? [] }
        let forced = conflicts + conflicts.map { $0.copied(for: $0) }
        var result: [TreeDifference] = []
        for item in differences {
            let isWritten = try item.old.map { (old) throws(VaultError) in
                try vault.isWritten(item.path, old.blobID, selection)
            }
            if isWritten != true {
                // What somebody put there is looked at as everywhere else.
                let isForced = forced.contains { item.path.isAtOrBelow($0) }
                guard try isForced || selection.wants(item.path) || vault.kind(item.path) != nil else { continue }
                absent.insert(item.path)
            }
            result.append(item)
        }
        return result
    }

    private func kept(_ dirty: WorkingChanges, _ differences: [TreeDifference]) -> Changes {
        let touched = Set(differences.map(\.path))
        func untouched(_ paths: [VaultPath]) -> [VaultPath] { paths.filter { !touched.contains($0) }.sorted() }
        let all = dirty.changes
        return Changes(
            added: untouched(all.added), modified: untouched(all.modified), deleted: untouched(all.deleted))
    }

    private func store(
        _ cache: StatCache, _ differences: [TreeDifference], tree: ObjectID
    ) {
        var cache = cache
        cache.apply(differences.map { TreeEditor.Edit(path: $0.path, entry: $0.new) }, tree: tree) { _ in nil }
        cache.store(layout: vault.layout, scratch: scratch)
    }
}

extension Vault {
    /// What became of a move of the working copy that an earlier command left unfinished.
    enum Recovery {
        /// There was none, or it is finished or undone.
        case settled
        /// It could neither be finished nor undone now.
        case stuck(VaultError)
    }

    /// Finishes a move of the working copy that a crash interrupted or, where files were edited since or objects are
    /// missing, undoes it; a person's edits are kept either way.
    func recover(_ lock: borrowing CloneLock) throws -> Recovery {
        // A commit that ended a merge died before it removed the merge's record.
        if try MergeState.read(files) != nil, try mergeState() == nil { try MergeState.remove(files) }
        do { try settleStash(scratch: lock.scratch) } catch let error as VaultError { return .stuck(error) }
        let journal: Journal
        do {
            guard let found = try Journal.read(files) else { return .settled }
            journal = found
        } catch {
            guard error.code != .ioError else { throw error }
            return .stuck(error)
        }
        do {
            if let end = try settle(journal, scratch: lock.scratch) {
                environment.notice("an interrupted \(journal.verb) was \(end.rawValue)")
            }
            return .settled
        } catch let error as VaultError {
            return .stuck(error)
        }
    }

    /// How an interrupted move was ended.
    private enum End: String {
        case finished, undone
    }

    /// - Returns: Nil when there was nothing left to do.
    private func settle(_ journal: Journal, scratch: ScratchArea) throws -> End? {
        let state = try loadState()
        guard state.headRef == journal.ref, state.head == journal.from, journal.to != journal.from, mode != .bare
        else {
            try Journal.remove(files)
            return nil
        }
        guard try store.holds(journal.to) else { throw ObjectStore.missing(journal.to) }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: trees, scratch: scratch, observer: SilentObserver(),
            interrupted: journal)
        if journal.isMerge { return try settleMerge(journal, move) }
        guard mode == .full else {
            // The head of a read-only clone is the remote's, which only a pull moves: the next one begins afresh.
            try move.undo(moveTo: graph.tree(of: journal.to))
            return .undone
        }
        do {
            _ = try move.run(to: journal.to, verb: journal.verb, branch: journal.branch) {
                if let branch = journal.branch { return try workOn(branch, scratch: scratch) }
                try moveRef(state.headRef, from: state.head, to: journal.to, scratch: scratch)
            }
            return .finished
        } catch let error as VaultError where !error.isOfTheDisk {
            try move.undo(moveTo: graph.tree(of: journal.to))
            return .undone
        }
    }

    /// Finishes what a merge that stops with conflicts had begun to write; it has touched nothing before its record.
    private func settleMerge(_ journal: Journal, _ move: WorkingCopyMove) throws -> End? {
        guard try MergeState.read(files)?.given == journal.to else {
            try Journal.remove(files)
            return nil
        }
        func abandon() throws { try MergeState.remove(files) }
        do {
            _ = try move.stop(
                with: journal.to, verb: journal.verb, conflicts: [], begin: { _ in }, abandon: abandon)
            return .finished
        } catch let error as VaultError where !error.isOfTheDisk {
            if try Journal.read(files) != nil { try move.undo(moveTo: journal.to, abandon: abandon) }
            return .undone
        }
    }
}
