public import VaultFormat
internal import VaultSystem

extension Vault {
    /// Gives files the content they have in a commit; the head stays (spec 10 B.13).
    ///
    /// Files that the source does not have stay as they are.
    ///
    /// * `paths`: Files, or folders with all that the source has in them; empty means everything.
    /// * `discards`: Overwrite uncommitted edits too; otherwise files with edits are kept, and told.
    /// - Throws: `revisionNotFound`, `refused` for a side of a merge without a merge, `objectMissing`. Nothing has
    ///   changed then.
    public func restore(
        _ paths: [VaultPath], from source: RestoreSource = .head, discards: Bool = false,
        observer: any Observer = SilentObserver()
    ) throws -> RestoreResult {
        try requireWritable("restore files")
        guard mode == .full else {
            throw VaultError(.refused, "a bare clone has no working copy to restore files in", path: root)
        }
        let lock = try lock(settling: true)
        let state = try loadState()
        try refusePacks(state.config, "restore files")
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let head = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        let tree: ObjectID?
        switch source {
        case .head: tree = head
        case .revision(let text):
            tree = try graph.tree(of: RevisionResolver(vault: self, state: state, graph: graph).resolve(text))
        case .ours: tree = try MergeSides(vault: self).ours
        case .theirs: tree = try MergeSides(vault: self).theirs
        }
        var result = RestoreResult(written: [], kept: [], missing: [], notWritten: [])
        var wanted: [VaultPath: FileEntry] = [:]
        try requireHeld(paths.filter { !part.scope.enters($0) }, "nothing was restored")
        for path in paths {
            let found = try tree.map { (id) throws(VaultError) in try files(at: path, in: id, trees) } ?? []
            if found.isEmpty { result.missing.append(path) }
            for file in found { wanted[file.path] = file.entry }
        }
        if paths.isEmpty, let tree {
            let selection = part.isSparse ? try Selection.read(self.files) : nil
            for file in try trees.files(tree) {
                if let selection, !selection.wants(file.path),
                    try !isWritten(file.path, file.entry.blobID, selection)
                {
                    continue
                }
                wanted[file.path] = file.entry
            }
        }
        var differences: [TreeDifference] = []
        for (path, entry) in wanted {
            let old = try head.flatMap { (id) throws(VaultError) in try trees.entry(path, in: id) }?.file
            differences.append(TreeDifference(path: path, old: old, new: entry))
        }
        differences.sort { $0.path < $1.path }
        let blobs = BlobReader(store: store, cipher: cipher)
        let guardian = CheckoutGuard(root: layout.root, blobs: blobs, pool: environment.pool)
        let (plan, kept, notFiles) = try guardian.restoring(differences, discards: discards)
        try store.require(plan.write.lazy.map { ($0.path, $0.entry) })
        let edit = WorkingEdit(vault: self, scratch: lock.scratch, observer: observer, incoming: blobs, outgoing: blobs)
        let outcome = try edit.carryOut(plan, from: blobs)
        result.written = outcome.written.sorted()
        try recordCheckout(added: outcome.written + plan.alreadyThere, removed: [], scratch: lock.scratch)
        (result.kept, result.notFiles) = (kept, notFiles)
        result.notWritten = outcome.notStored
        return result
    }

    private func files(
        at path: VaultPath, in tree: ObjectID, _ trees: TreeReader
    ) throws(VaultError) -> [TrackedFile] {
        switch try trees.entry(path, in: tree) {
        case .file(let entry)?: return [TrackedFile(path: path, entry: entry)]
        case .folder(let id)?:
            return try trees.files(id, in: path)
        case nil: return []
        }
    }
}

extension CheckoutGuard {
    /// What gives files the content of another commit while the head stays, the paths that are kept, and those of them
    /// where no plain file stands.
    ///
    /// * `differences`: What the head has at each path, and what the file is to hold.
    func restoring(
        _ differences: [TreeDifference], discards: Bool
    ) throws -> (plan: Plan, kept: [VaultPath], notFiles: [VaultPath]) {
        let foldsNames = try attempt("cannot look at the working copy") { () throws(Errno) in try root.foldsNames() }
        var plan = Plan()
        var kept: [VaultPath] = []
        var notFiles: [VaultPath] = []
        for item in differences {
            guard let new = item.new else { continue }
            switch try onDisk(item.path, foldsNames: foldsNames) {
            case .absent: plan.write.append(CheckoutItem(path: item.path, entry: new, expected: .absent))
            case .file(let hash, let mark):
                if try hash == contentHash(new) {
                    plan.alreadyThere.append(item.path)
                } else if try discards || item.old.map({ try hash == contentHash($0) }) ?? false {
                    plan.write.append(CheckoutItem(path: item.path, entry: new, expected: .file(mark)))
                } else {
                    kept.append(item.path)
                }
            // A folder with files, a link or a special file is never replaced.
            case .folder, .other, .blockedBy:
                kept.append(item.path)
                notFiles.append(item.path)
            case .unreadable(let error):
                throw VaultError.io(error, "cannot look at \(item.path)", path: item.path.description)
            }
        }
        return (plan, kept, notFiles)
    }
}
