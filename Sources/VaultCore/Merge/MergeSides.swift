internal import VaultFormat

/// The three trees of the merge in progress.
struct MergeSides {
    let vault: Vault
    let merge: MergeState
    let state: CloneState
    let trees: TreeReader
    let base: ObjectID?
    let ours: ObjectID
    let theirs: ObjectID
    /// The conflicting paths, for look-ups, and those of them that are decided.
    private let known: Set<VaultPath>
    private let resolved: Set<VaultPath>

    /// - Throws: `refused` when no merge is in progress.
    init(vault: Vault) throws(VaultError) {
        guard let merge = try vault.mergeState(), let ourCommit = merge.ours, let theirCommit = merge.theirs else {
            throw VaultError(.refused, "no merge is in progress")
        }
        self.vault = vault
        self.merge = merge
        resolved = Set(merge.resolved)
        known = resolved.union(merge.conflicts)
        state = try vault.loadState()
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        trees = vault.treeReader()
        base = try merge.base.map { (id) throws(VaultError) in try graph.tree(of: id) }
        ours = try graph.tree(of: ourCommit)
        theirs = try graph.tree(of: theirCommit)
    }

    /// The three files of one conflicting path.
    ///
    /// - Throws: `pathNotFound` for a path that does not conflict.
    func conflict(_ path: VaultPath) throws(VaultError) -> MergeConflict {
        guard known.contains(path) else {
            throw VaultError(
                .pathNotFound, "\(path) does not conflict", hint: "vaultctl resolve --list", path: path.description)
        }
        let before = try base.flatMap { (tree) throws(VaultError) in try trees.entry(path, in: tree) }
        let (left, right) = (try trees.entry(path, in: ours), try trees.entry(path, in: theirs))
        var conflict = MergeConflict(path: path, base: before?.file, ours: left?.file, theirs: right?.file)
        conflict.isFileAndFolder = (left?.folder != nil) != (right?.folder != nil)
        return conflict
    }

    func conflicts() throws(VaultError) -> [Conflict] {
        var result: [Conflict] = []
        for path in merge.paths { result.append(try described(path)) }
        return result
    }

    func described(_ path: VaultPath) throws(VaultError) -> Conflict {
        let conflict = try conflict(path)
        func side(_ entry: FileEntry?) -> Conflict.Side? {
            entry.map { Conflict.Side(blobID: $0.blobID, size: $0.size) }
        }
        func isSame(_ left: FileEntry?, _ right: FileEntry?) -> Bool {
            switch (left, right) {
            case (nil, nil): true
            case (let left?, let right?): left.holdsSameContent(as: right)
            default: false
            }
        }
        let kind: Conflict.Kind =
            if conflict.isFileAndFolder {
                .fileAndFolder
            } else if conflict.base == nil, (conflict.ours == nil) != (conflict.theirs == nil) {
                .caseClash
            } else if conflict.ours == nil {
                .deletedByUs
            } else {
                conflict.theirs == nil ? .deletedByThem : conflict.base == nil ? .bothAdded : .bothModified
            }
        let verdict: Conflict.Verdict =
            kind == .fileAndFolder || kind == .caseClash
            ? .genuine
            : isSame(conflict.ours, conflict.theirs)
                ? .identical
                : isSame(conflict.base, conflict.ours) || isSame(conflict.base, conflict.theirs) ? .oneSided : .genuine
        return Conflict(
            path: path, kind: kind, base: side(conflict.base), ours: side(conflict.ours),
            theirs: side(conflict.theirs), verdict: verdict, isResolved: resolved.contains(path))
    }

    /// The tree that the working copy was given when the merge stopped; for a merge that the reference began the one
    /// that it gives, which merges no texts and knows no clash of cases.
    func givenTree(_ scratch: ScratchArea) throws -> ObjectID {
        if let given = merge.given { return given }
        let batch = vault.newBatch(width: state.idWidth, scratch: scratch)
        let merged = try Merger(
            vault: vault, trees: trees, batch: batch, deflates: state.deflatesBlobs, mergesTexts: false,
            separatesCases: false
        ).merge(base: base, ours: ours, theirs: theirs)
        try batch.commit()
        return merged.withCopies
    }

    /// The tree whose files the working copy holds once all is decided, but for what was decided: what a scan does not
    /// see, because it is ignored or can not be stored here, stays as it is there.
    func decidedTree(_ scratch: ScratchArea) throws -> ObjectID {
        let given = try givenTree(scratch)
        var edits: [TreeEditor.Edit] = []
        for path in merge.resolved where try trees.entry(path, in: given) == nil {
            // Deleted here and changed there: tracked, so that a choice of theirs is found whatever the ignore rules.
            guard let entry = try trees.entry(path, in: theirs)?.file else { continue }
            edits.append(TreeEditor.Edit(path: path, entry: entry))
        }
        guard !edits.isEmpty else { return given }
        let batch = vault.newBatch(width: state.idWidth, scratch: scratch)
        let tree = try TreeEditor(trees: trees, cipher: vault.cipher, batch: batch).apply(edits, to: given)
        try batch.commit()
        return tree
    }

    /// The files at or below a path in a tree.
    func files(at path: VaultPath, in tree: ObjectID) throws(VaultError) -> [CheckoutItem] {
        switch try trees.entry(path, in: tree) {
        case .file(let entry)?: return [CheckoutItem(path: path, entry: entry)]
        case .folder(let id)?:
            return try trees.files(id, in: path).map { CheckoutItem(path: $0.path, entry: $0.entry) }
        case nil: return []
        }
    }
}
