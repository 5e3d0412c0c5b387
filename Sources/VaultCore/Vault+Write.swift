internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Commits given contents at given paths, without scanning the working copy (spec 05 §5.1).
    ///
    /// The files are written to the working copy before the head moves.
    ///
    /// - Throws: `remoteMoved` when `expectedBlob` is not what the path holds, `dirtyTree` when a path has uncommitted
    ///   edits, `secretInCommit`, `unsafePath`, `readOnlyClone`, or an I/O error. Nothing has changed then.
    public func write(_ request: WriteRequest, observer: any Observer = SilentObserver()) throws -> WriteResult {
        try requireWritable("write")
        try checkMessage(request.message)
        guard let first = request.files.first else { throw VaultError(.usage, "no file was given") }
        guard Set(request.files.map(\.path)).count == request.files.count else {
            throw VaultError(.usage, "a path was given twice")
        }
        for file in request.files { try Self.checkNames(file.path) }
        let inputs = try request.files.map { try input(of: $0.content, for: $0.path) }
        let lock = try lock(settling: true)
        let state = try loadState()
        try Self.checkWritable(state.index)
        try refusePacks(state.config, "write")
        try refuseDuringMerge()
        try requireHeld(request.files.map(\.path), "nothing was written")
        guard let branch = state.cloneBranch else {
            throw VaultError(.branchNotFound, "this clone has no branch of its own to commit to", hint: "clone again")
        }
        try requireSignable(branch, state.index)
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let batch = newBatch(width: state.idWidth, scratch: lock.scratch)
        let trees = treeReader(StagedStore(store: store, batch: batch))
        let headTree = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        if let expected = request.expectedBlob {
            guard try entry(first.path, headTree, trees)?.blobID == expected else {
                throw VaultError(
                    .remoteMoved, "\(first.path) does not hold \(expected.text)", path: first.path.description)
            }
        }
        let writer = BlobWriter(
            cipher: cipher, batch: batch, random: environment.random, deflates: state.deflatesBlobs)
        var edits: [TreeEditor.Edit] = []
        var blobs: [(path: VaultPath, blob: ObjectID)] = []
        let secrets = try SecretGuard(
            local: layout.local, allowed: [], scansContent: try settings().scansForSecrets, ownKeys: try keyFinders())
        for (file, input) in zip(request.files, inputs) {
            let stored = try store(input, file.path, writer, secrets, lock.scratch)
            let old = try entry(file.path, headTree, trees)
            if let old, old.contentHash == stored.contentHash, old.size == stored.size {
                blobs.append((file.path, old.blobID))
                continue
            }
            let type = ContentType.guess(name: file.path.lastSegment)
            edits.append(TreeEditor.Edit(path: file.path, entry: stored.entry(contentType: type)))
            blobs.append((file.path, stored.id))
        }
        guard !edits.isEmpty else { return WriteResult(blobs: blobs, commit: nil, notWritten: []) }
        edits.sort { $0.path < $1.path }
        let tree = try TreeEditor(trees: trees, cipher: cipher, batch: batch).apply(edits, to: headTree)
        let key = try commitKey(branch, state.index, observer: observer)
        let (id, commit) = try CommitBuilder(cipher: cipher, random: environment.random, branch: branch, key: key)
            .build(
                tree: tree, parents: state.head.map { [$0] } ?? [],
                message: request.message ?? "write \(first.path)", timeMs: commitTimeMs(), batch: batch)
        try batch.commit()
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: treeReader(),
            scratch: lock.scratch, observer: observer, looksAround: false)
        let scratch = lock.scratch
        let moved = try move.run(to: id, verb: "write") {
            try moveRef(state.headRef, from: state.head, to: id, scratch: scratch)
        }
        try recordOwnHead(id, ref: state.headRef, scratch: scratch)
        return WriteResult(
            blobs: blobs, commit: try describe(id, commit, index: state.index), notWritten: moved.notStored)
    }

    /// Refuses names that the format can not hold, before anything is encrypted.
    private static func checkNames(_ path: VaultPath) throws(VaultError) {
        guard path.segments.contains(where: { $0.count > Limits.metadataText }) else { return }
        throw VaultError(
            .usage, "a name has at most \(Limits.metadataText) bytes", path: path.description)
    }

    private func entry(_ path: VaultPath, _ tree: ObjectID?, _ trees: TreeReader) throws(VaultError) -> FileEntry? {
        guard let tree else { return nil }
        return try trees.entry(path, in: tree)?.file
    }
}
