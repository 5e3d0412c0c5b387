internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Compares two states of the files and gives what differs, sorted by path, until `body` returns false.
    ///
    /// One file's content is held at a time, and no more of it than `DiffOptions.textLimit`. Stored content is checked
    /// against its id and against what its folder records.
    ///
    /// - Returns: The commits that were compared.
    /// - Throws: `revisionNotFound`, `remoteNotFound` (the remote was never read), `objectMissing`, `objectCorrupt`,
    ///   `refused` (a bare clone has no working copy), `permissionDenied` (a file can not be read), and what `body` throws.
    @discardableResult
    public func diff(
        _ options: DiffOptions = DiffOptions(), _ body: (FileDiff) throws -> Bool
    ) throws -> DiffEnds {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let resolver = RevisionResolver(vault: self, state: state, graph: graph)
        let comparer = FileComparer(vault: self, graph: graph, trees: trees)
        func commits(_ from: ObjectID, _ to: ObjectID) throws -> DiffEnds {
            let items = try comparer.items(graph.tree(of: from), graph.tree(of: to), below: options.paths)
            try comparer.compare(items, options, body)
            return DiffEnds(from: from, to: to)
        }
        func working(since commit: ObjectID?) throws -> DiffEnds {
            let items = try workingItems(since: commit, state, graph, trees, comparer, options.paths)
            try comparer.compare(items, options, body)
            return DiffEnds(from: commit, to: nil)
        }
        switch options.subject {
        case .workingCopy: return try working(since: state.head)
        case .since(let text):
            if let range = try resolver.range(text) { return try commits(range.from, range.to) }
            return try working(since: try resolver.resolve(text))
        case .revisions(let from, let to): return try commits(resolver.resolve(from), resolver.resolve(to))
        case .remote(let name): return try working(since: try resolver.remoteHead(name))
        case .commit(let revision):
            let id = try resolver.resolve(revision)
            try comparer.compare(try comparer.items(of: id, below: options.paths), options, body)
            return DiffEnds(from: try comparer.heldParent(of: id), to: id)
        }
    }

    /// What differs between a commit and the working copy.
    ///
    /// The head stands between the two: what differs between commit and head, and between head and disk.
    private func workingItems(
        since commit: ObjectID?, _ state: CloneState, _ graph: CommitGraph, _ trees: TreeReader,
        _ comparer: FileComparer, _ paths: [VaultPath]
    ) throws -> [DiffItem] {
        guard mode != .bare else {
            throw VaultError(
                .refused, "a bare clone has no working copy to compare", hint: "vaultctl diff HEAD~1..HEAD", path: root)
        }
        let loaded = StatCache.load(layout: layout)?.tree
        let tracked = try trackedFiles(of: state.head, graph: graph, trees: trees)
        let found = try look(tracked)
        refreshCache(found, tree: tracked.tree, loadedFor: loaded)
        if let entry = found.unreadable.first(where: { VaultPath(unchecked: $0.path).isWanted(paths) }) {
            let path = PathQuoting.text(entry.path)
            throw VaultError(.permissionDenied, "\(path) can not be read, so it can not be compared", path: path)
        }
        var items: [VaultPath: DiffItem] = [:]
        let from = try commit.map { try graph.tree(of: $0) }
        if from != tracked.tree {
            for item in try TreeDiff(trees: trees).files(from, tracked.tree) where item.path.isWanted(paths) {
                items[item.path] = DiffItem(
                    path: item.path, old: item.old.map { .blob($0) }, new: item.new.map { .blob($0) })
            }
        }
        func set(_ path: VaultPath, to new: DiffSide?) {
            guard path.isWanted(paths) else { return }
            if items[path] == nil {
                let position = tracked.position(of: path.bytes)
                let entry = position.found ? tracked.entries[position.index].file : nil
                items[path] = DiffItem(path: path, old: entry.map { .blob($0) })
            }
            items[path]?.new = new
        }
        let absent = try notStored()
        for candidate in found.added + found.modified { set(candidate.path, to: .file(candidate.status)) }
        for entry in found.deleted where !absent.contains(entry.path) { set(entry.path, to: nil) }
        var different = Array(items.values)
        // Against the head the look has decided already.
        if from != tracked.tree { different = try different.filter { try !isSame($0, comparer) } }
        return try comparer.paired(different.sorted { $0.path < $1.path })
    }

    /// Whether both sides hold the same content after all; a file is read only where its size leaves that open.
    private func isSame(_ item: DiffItem, _ comparer: FileComparer) throws -> Bool {
        switch (item.old, item.new) {
        case (nil, nil): return true
        case (.blob(let old)?, .blob(let new)?): return old.holdsSameContent(as: new)
        case (.blob(let old)?, .file(let status)?):
            guard old.size == status.size, let hash = old.contentHash else { return false }
            return try comparer.hashOfFile(item.path) == hash
        default: return false
        }
    }
}

extension IndexEntry {
    /// The file as its folder records it, as far as the cache tells.
    fileprivate var file: FileEntry {
        FileEntry(blobID: blobID, size: size, contentHash: contentHash, contentType: "")
    }
}
