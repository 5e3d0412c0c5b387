internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Which part of the vault this clone holds and writes (spec 10 B.13).
    public func sparse() throws -> SparseState {
        _ = try loadState()
        guard part.isSparse else {
            return SparseState(paths: part.scope.folders, isWhole: part.scope.isWhole)
        }
        let selection = try Selection.read(files)
        let single = (selection.written ?? []).filter { !selection.wants($0) }
        return SparseState(paths: Scope(selection.paths + single).folders, isWhole: false)
    }

    /// Changes which folders this clone holds and writes: fetches what is new, writes its files, and takes the files of
    /// what is left out of the working copy.
    ///
    /// No commit is made, and the vault loses nothing.
    ///
    /// - Throws: `pathNotFound` for what the head does not have, `dirtyTree` when uncommitted work is in the way,
    ///   `refused` for more of a clone that has everything, `mergeInProgress`, `objectMissing`, or what the remote
    ///   throws. The working copy and what it consists of are as before then.
    public func changeSparse(
        _ change: SparseChange, from remote: any Remote, observer: any Observer = SilentObserver()
    ) async throws -> SparseResult {
        let lock = try lock(settling: true)
        guard mode != .bare else {
            throw VaultError(
                .refused, "a bare clone has no working copy", hint: "clone again without --bare", path: root)
        }
        try refuseDuringMerge()
        let state = try loadState()
        try refusePacks(state.config, "choose folders")
        let operation = try SparseOperation(vault: self, state: state, change: change, scratch: lock.scratch)
        // Trees are read, and fetched, as the clone will be; what fails leaves it as it is.
        do { return try await operation.run(remote, observer) } catch {
            try? note(CloneConfig(reading: files.readObject(CloneConfig.fileName) ?? .null))
            throw error
        }
    }
}

/// One change of what a clone holds.
private struct SparseOperation {
    let vault: Vault
    let state: CloneState
    let scratch: ScratchArea
    private let old: HeldPart
    private let oldSelection: Selection
    private var new: HeldPart
    private var selection: Selection
    private let paths: [VaultPath]

    init(vault: Vault, state: CloneState, change: SparseChange, scratch: ScratchArea) throws {
        self.vault = vault
        self.state = state
        self.scratch = scratch
        old = vault.part
        new = old
        oldSelection = old.isSparse ? try Selection.read(vault.files) : Selection()
        selection = oldSelection
        let isWhole = !old.isSparse && old.scope.isWhole
        switch change {
        case .add(let more):
            paths = more
            guard !isWhole else {
                throw VaultError(
                    .refused, "this clone holds the whole vault, so there is nothing to add",
                    hint: "vaultctl sparse set leaves all but some folders out")
            }
            if !old.scope.isWhole { new.scope = Scope(old.scope.folders + more) }
            selection.paths = Scope(old.isSparse ? oldSelection.paths + more : []).folders
        case .set(let all):
            paths = all
            if old.scope.isWhole { new.isSparse = true } else { new.scope = Scope(all) }
            selection.paths = new.isSparse ? Scope(all).folders : []
        case .whole:
            paths = []
            (new.scope, new.isSparse, selection) = (.whole, false, Selection())
        }
    }

    func run(_ remote: any Remote, _ observer: any Observer) async throws -> SparseResult {
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        let tree = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        var before: [VaultPath: FileEntry] = [:]
        for file in try tree.map({ (id) throws(VaultError) in try vault.treeReader().files(id) }) ?? [] {
            let isHere =
                try !old.isSparse || vault.isWritten(file.path, file.entry.blobID, oldSelection)
            if isHere { before[file.path] = file.entry }
        }
        vault.heldPart.withLock { $0 = new }
        let batch = vault.newBatch(width: .short, scratch: scratch)
        let closure = ClosureFetcher(
            vault: vault, fetcher: ObjectFetcher(remote: remote, batch: batch, observer: observer),
            boundaries: state.config.shallowBoundaries)
        try await fetchHistory(closure)
        var after: [VaultPath: FileEntry] = [:]
        for file in try tree.map({ (id) throws(VaultError) in try closure.trees.files(id) }) ?? [] {
            if !new.isSparse || selection.wants(file.path) { after[file.path] = file.entry }
        }
        for path in paths where !after.keys.contains(where: { $0.isAtOrBelow(path) }) {
            throw VaultError(
                .pathNotFound, "\(path) is not in the vault's head", hint: "vaultctl ls", path: path.description)
        }
        try await fetchBlobs(after.filter { before[$0.key] == nil }, closure)
        let count = batch.count
        try batch.commit()
        return try apply(before, after, count, observer)
    }

    /// The folders, and in a clone that is not sparse the contents, that the new part has of all history.
    private func fetchHistory(_ closure: ClosureFetcher) async throws {
        guard new.scope != old.scope || (old.isSparse && !new.isSparse) else { return }
        var heads: Set<ObjectID> = []
        for branch in state.index.branches where branch.type == .named || branch == state.cloneBranch {
            if let head = try vault.refs.commit(of: branch.headRefID), try vault.store.holds(head) {
                heads.insert(head)
            }
        }
        // What was fetched and not merged yet, and what stashes are told apart from, is asked of this clone as well.
        let place = vault.place(of: closure.fetcher.remote.location)
        var recorded = try StashShelf(vault: vault).all().compactMap(\.base)
        for ref in try vault.seenRefs(at: place) {
            if let head = try vault.seenHead(at: place, ref: ref)?.commit { recorded.append(head) }
        }
        for id in recorded where try vault.store.holds(id) { heads.insert(id) }
        let commits = try closure.graph.ancestors(of: heads.sorted())
        try await closure.fetchContents(of: commits.sorted(), known: [])
    }

    private func fetchBlobs(_ files: [VaultPath: FileEntry], _ closure: ClosureFetcher) async throws {
        var small: Set<ObjectID> = []
        var large: Set<ObjectID> = []
        for entry in files.values where try !closure.staged.holds(entry.blobID) {
            if entry.isLarge { large.insert(entry.blobID) } else { small.insert(entry.blobID) }
        }
        let absent = try await closure.fetcher.fetch(small.sorted(), large: large.sorted())
        guard let first = absent.first else { return }
        throw VaultError(
            .objectMissing, "\(closure.fetcher.remote.location) lacks the file content \(first.text)",
            hint: "whoever has a complete clone can publish the vault to a new place with push --server",
            object: first.text)
    }

    /// Files come first, then the record of them, and only then files go: whatever stops this, no file is missing that
    /// the record has.
    private func apply(
        _ before: [VaultPath: FileEntry], _ after: [VaultPath: FileEntry], _ count: (objects: Int, bytes: Int64),
        _ observer: any Observer
    ) throws -> SparseResult {
        let added = after.filter { before[$0.key] == nil }.map { TreeDifference(path: $0.key, old: nil, new: $0.value) }
            .sorted { $0.path < $1.path }
        let left = before.filter { after[$0.key] == nil }.map { TreeDifference(path: $0.key, old: $0.value, new: nil) }
            .sorted { $0.path < $1.path }
        let blobs = BlobReader(store: vault.store, cipher: vault.cipher)
        let edit = WorkingEdit(vault: vault, scratch: scratch, observer: observer, incoming: blobs, outgoing: blobs)
        let removal = try edit.prepare(left)
        let addition = try edit.prepare(added)
        let written = try edit.finish(addition, of: added)
        let refused = Set(written.notStored.map { VaultPath(unchecked: $0.path) })
        if !refused.isEmpty {
            try vault.recordNotStored(try vault.notStored().union(refused), scratch: scratch)
        }
        try record(Set(after.keys).subtracting(refused))
        _ = try edit.carryOut(removal, from: blobs)
        return SparseResult(
            state: try vault.sparse(), written: written.written.sorted(), removed: removal.remove.map(\.path),
            notWritten: written.notStored, objects: count.objects, bytes: count.bytes)
    }

    private func record(_ written: Set<VaultPath>) throws {
        // What is tracked here follows from the folders that are held.
        StatCache(tree: nil, entries: []).store(layout: vault.layout, scratch: scratch)
        var config = state.config
        (config.isSparse, config.scopePaths) = (new.isSparse, new.scope.texts)
        if new.isSparse {
            try vault.writeCheckoutRecord(Array(written), scratch: scratch)
            try selection.writePaths(vault.files, scratch: scratch)
        }
        try vault.files.write(CloneConfig.fileName, config.json, scratch: scratch)
        try vault.note(config)
        guard !new.isSparse, old.isSparse else { return }
        for name in [Selection.recordName, Selection.staleName] { try vault.files.remove(name) }
        try vault.files.removeOwn(Selection.ownName)
    }
}
