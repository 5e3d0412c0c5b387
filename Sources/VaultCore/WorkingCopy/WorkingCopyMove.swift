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
    /// This move was begun by a command that died.
    var isRecovery = false

    /// What the move did.
    struct Outcome: Sendable {
        var changes = Changes()
        var keptDirty: [VaultPath] = []
        var notStored: [SkippedEntry] = []
    }

    /// * `target`: The commit to move to; its objects are all held.
    /// * `accept`: What has to be recorded once the move is known to be possible, before the first file is touched.
    /// * `finish`: Moves the head; called when every file is on disk and durable.
    /// - Throws: `dirtyTree` when uncommitted work is in the way, `unsafePath`; nothing has changed then.
    func run(
        to target: ObjectID, verb: String, accept: () throws -> Void = {}, finish: () throws -> Void
    ) throws -> Outcome {
        let from = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        let to = try graph.tree(of: target)
        guard vault.mode != .bare else {
            try accept()
            try finish()
            return Outcome()
        }
        let differences = try TreeDiff(trees: trees).files(from, to)
        let tracked = try vault.trackedFiles(of: state.head, graph: graph, trees: trees)
        let dirty = try vault.look(tracked)
        let blobs = BlobReader(store: vault.store, cipher: vault.cipher)
        let workers = vault.environment.workers
        var notStored = try vault.notStored()
        let plan = try CheckoutGuard(root: vault.layout.root, blobs: blobs, workers: workers, mendsTorn: isRecovery)
            .plan(differences.filter { !notStored.contains($0.path) || $0.new != nil })
        try requireBlobs(plan.write)
        try accept()
        let journal = Journal(verb: verb, ref: state.headRef, from: state.head, to: target)
        if !plan.write.isEmpty || !plan.remove.isEmpty { try journal.write(vault.files, scratch: scratch) }
        let failPoints = vault.environment.failPoints
        let checkout = Checkout(
            root: vault.layout.root, scratch: scratch, blobs: blobs, workers: workers, observer: observer,
            failPoints: failPoints)
        try attempt("interrupted") { () throws(Errno) in try failPoints.hit(.checkoutBeforeFirst) }
        try checkout.remove(plan.remove)
        let written = try checkout.write(plan.write)
        if !plan.write.isEmpty || !plan.remove.isEmpty { try checkout.sync() }
        for item in differences { notStored.remove(item.path) }
        notStored.formUnion(written.notStored.map { VaultPath(unchecked: $0.path) })
        try vault.recordNotStored(notStored, scratch: scratch)
        try attempt("interrupted") { () throws(Errno) in try failPoints.hit(.checkoutBeforeHead) }
        try finish()
        try Journal.remove(vault.files)
        store(dirty.cache, differences, written, tree: to)
        return Outcome(
            changes: TreeDiff.changes(differences.filter { !$0.isSameContent }), keptDirty: kept(dirty, differences),
            notStored: written.notStored)
    }

    private func requireBlobs(_ items: [CheckoutItem]) throws(VaultError) {
        for item in items where try !vault.store.holds(item.entry.blobID) {
            throw VaultError(
                .objectMissing, "the content of \(item.path) (\(item.entry.blobID.text)) is not in this clone",
                hint: "vaultctl fsck --repair", path: item.path.description, object: item.entry.blobID.text)
        }
    }

    private func kept(_ dirty: WorkingChanges, _ differences: [TreeDifference]) -> [VaultPath] {
        let touched = Set(differences.map(\.path))
        let all = dirty.added.map(\.path) + dirty.modified.map(\.path) + dirty.deleted.map(\.path)
        return all.filter { !touched.contains($0) }.sorted()
    }

    private func store(
        _ cache: StatCache, _ differences: [TreeDifference], _ written: Checkout.Outcome, tree: ObjectID
    ) {
        var stats: [VaultPath: StatKey] = [:]
        for item in written.written { stats[item.path] = item.stat }
        var cache = cache
        cache.apply(differences.map { TreeEditor.Edit(path: $0.path, entry: $0.new) }, tree: tree) { stats[$0] }
        cache.store(layout: vault.layout, scratch: scratch)
    }
}

extension Vault {
    /// Finishes a move of the working copy that a crash interrupted.
    ///
    /// When the files were edited since, nothing is overwritten: the journal is dropped and the next pull finds what is
    /// new already.
    func recover(_ lock: borrowing CloneLock) throws {
        guard let journal = try Journal.read(files) else { return }
        let state = try loadState()
        guard state.headRef == journal.ref, state.head == journal.from, journal.to != journal.from,
            try store.holds(journal.to), mode == .full
        else {
            try Journal.remove(files)
            return
        }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = TreeReader(store: store, cipher: cipher)
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: trees, scratch: lock.scratch, observer: SilentObserver(),
            isRecovery: true)
        do {
            let scratch = lock.scratch
            _ = try move.run(to: journal.to, verb: journal.verb) {
                try moveRef(state.headRef, from: state.head, to: journal.to, scratch: scratch)
            }
        } catch let error as VaultError where error.code == .dirtyTree {
            try Journal.remove(files)
        }
    }
}
