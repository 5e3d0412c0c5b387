internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// The tracked files of the head with what is cached about the files on disk.
    ///
    /// When the cache belongs to another tree the head's trees are read and the cache's numbers carried over.
    func trackedFiles(of head: ObjectID?, graph: CommitGraph, trees: TreeReader) throws(VaultError) -> StatCache {
        guard let head else { return StatCache(tree: nil, entries: []) }
        return try trackedFiles(in: try graph.tree(of: head), trees: trees)
    }

    /// The files of a tree, likewise.
    func trackedFiles(in tree: ObjectID, trees: TreeReader) throws(VaultError) -> StatCache {
        let cached = StatCache.load(layout: layout)
        // What is tracked here depends on the folders that are held as well, which the cache does not tell.
        if let cached, cached.tree == tree, trees.scope.isWhole { return cached }
        let files = try trees.files(tree)
        return (cached ?? StatCache(tree: nil, entries: [])).rebased(on: files, tree: tree)
    }

    /// Scans the working copy against the tracked files; what a sparse clone has not there on purpose is not told.
    ///
    /// * `skipping`: Tracked files that are not read, and not told of, because the caller reads them itself.
    func look(
        _ tracked: StatCache, collectsIgnored: Bool = false, skipping: Set<VaultPath> = []
    ) throws -> WorkingChanges {
        let scanner = try Scanner(
            root: layout.root, tracked: tracked, environment: environment, collectsIgnored: collectsIgnored)
        let detector = ChangeDetector(
            root: layout.root, racyAfterNs: scanner.racyAfterNs, pool: environment.pool)
        var scan = try scanner.scan()
        if !skipping.isEmpty { scan.candidates.removeAll { $0.tracked != nil && skipping.contains($0.path) } }
        var changes = try detector.detect(scan, in: tracked)
        try leaveUnselected(&changes)
        return changes
    }

    /// Stores the cache when it says something new, the clone can be written and nobody holds the lock.
    func refreshCache(_ changes: WorkingChanges, tree: ObjectID?, loadedFor loadedTree: ObjectID?) {
        guard changes.cacheMoved || tree != loadedTree else { return }
        guard let lock = CloneLock.tryAcquire(layout: layout, environment: environment, verb: "cache") else { return }
        // Another command may have moved the head meanwhile; its cache is newer than ours then.
        if let current = StatCache.load(layout: layout), current.tree != loadedTree { return }
        changes.cache.store(layout: layout, scratch: lock.scratch)
    }
}

extension Directory {
    /// Whether the file system of this working copy takes names that differ in case for one name.
    func foldsNames() throws(Errno) -> Bool {
        // The vault's own folder is there, under its last name or the first one.
        for name in [CloneLayout.vaultName, CloneLayout.newName] {
            let other = name.map { (0x61...0x7A).contains($0) ? $0 & 0xDF : $0 }
            if try statusIfPresent(of: other) != nil { return try !lists(other) }
        }
        return false
    }
}
