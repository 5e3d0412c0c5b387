internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Brings objects from a remote into a batch, each checked against its id before it is kept (spec 05 I5).
struct ObjectFetcher: Sendable {
    let remote: any Remote
    let batch: ObjectBatch
    let observer: any Observer
    /// Count an object that arrives with other bytes as missing, where one bad object must not spoil the rest.
    var skipsCorrupt = false

    /// Fetches objects and gives back those that the remote does not have.
    ///
    /// * `others`: Further small files, read by the way and put into `collected`.
    ///
    /// - Throws: `objectCorrupt` when what arrives is not what was asked for.
    func fetch(
        _ ids: [ObjectID], others: [FileID] = [], into collected: Collected = Collected()
    ) async throws -> [ObjectID] {
        guard !ids.isEmpty || !others.isEmpty else { return [] }
        let outcome = Locked(Outcome())
        let batch = batch
        let observer = observer
        let location = remote.location
        let skipsCorrupt = skipsCorrupt
        try await remote.read(others + ids.map { .object($0) }) { fileID, file in
            guard case .object(let id) = fileID else { return collected.put(fileID, file) }
            try batch.pool.checkCancellation()
            switch file {
            case .content(let bytes):
                do {
                    try batch.add(VerifiedObject(checking: bytes, as: id))
                } catch let error as VaultError where error.code == .objectCorrupt {
                    guard skipsCorrupt else { throw Self.corrupt(id, location) }
                    outcome.withLock { $0.missing.append(id) }
                    return
                }
                let done = outcome.withLock { outcome -> (Int, Int64) in
                    outcome.done += 1
                    outcome.bytes += Int64(bytes.count)
                    return (outcome.done, outcome.bytes)
                }
                observer.progress(Progress(phase: .download, done: done.0, total: ids.count, bytes: done.1))
            case .absent: outcome.withLock { $0.missing.append(id) }
            case .large: outcome.withLock { $0.large.append(id) }
            }
        }
        var result = outcome.withLock { $0 }
        for id in result.large.sorted() where try await !fetchLarge(id) { result.missing.append(id) }
        return result.missing.sorted()
    }

    private struct Outcome: Sendable {
        var missing: [ObjectID] = []
        var large: [ObjectID] = []
        var done = 0
        var bytes: Int64 = 0
    }

    private func fetchLarge(_ id: ObjectID) async throws -> Bool {
        let (file, name) = try batch.begin()
        let hash = try IncrementalHash()
        var size: Int64 = 0
        do {
            let found = try await remote.stream(.object(id)) { chunk in
                try batch.pool.checkCancellation()
                try hash.update(chunk)
                size += Int64(chunk.count)
                try attempt("cannot store object \(id.text)") { () throws(Errno) in try file.write(chunk) }
            }
            guard found else {
                batch.discard(name)
                return false
            }
            _ = try batch.finish(name, digest: try hash.finish(), size: size, id: id)
            return true
        } catch let error as VaultError where error.code == .objectCorrupt {
            batch.discard(name)
            guard skipsCorrupt else { throw Self.corrupt(id, remote.location) }
            return false
        } catch {
            batch.discard(name)
            throw error
        }
    }

    private static func corrupt(_ id: ObjectID, _ location: String) -> VaultError {
        VaultError(
            .objectCorrupt, "\(location) answered other bytes than those of \(id.text); nothing was kept",
            hint: "the place holding the vault is damaged or lies", object: id.text)
    }
}

/// Makes sure that everything reachable from a commit is held: commits level by level, the trees of every new
/// commit, then their blobs.
struct ClosureFetcher {
    let vault: Vault
    let fetcher: ObjectFetcher
    let staged: StagedStore
    let graph: CommitGraph
    let trees: TreeReader

    init(vault: Vault, fetcher: ObjectFetcher, boundaries: Set<ObjectID> = []) {
        self.vault = vault
        self.fetcher = fetcher
        staged = StagedStore(store: vault.store, batch: fetcher.batch)
        graph = CommitGraph(store: staged, cipher: vault.cipher, boundaries: boundaries)
        trees = TreeReader(store: staged, cipher: vault.cipher)
    }

    /// Fetches what is missing of the commits reachable from `head`, not walking into those known.
    ///
    /// - Returns: The new commits.
    /// - Throws: `objectMissing` naming what neither this clone nor the remote has.
    func fetchCommits(
        from head: ObjectID, isKnown: (ObjectID) throws(VaultError) -> Bool
    ) async throws -> [ObjectID] {
        var commits: [ObjectID] = []
        var seen: Set<ObjectID> = [head]
        var level = try isKnown(head) ? [] : [head]
        while !level.isEmpty {
            try await fetch(level, "commit")
            var next: [ObjectID] = []
            for id in level {
                commits.append(id)
                for parent in try graph.parents(id) where seen.insert(parent).inserted {
                    if try !isKnown(parent) { next.append(parent) }
                }
            }
            level = next
        }
        return commits
    }

    /// Fetches the trees and blobs of commits, not looking into the trees that `known` commits have.
    func fetchContents(of commits: [ObjectID], known: [ObjectID]) async throws {
        var seen: Set<ObjectID> = []
        for id in known { seen.insert(try graph.tree(of: id)) }
        var level: [ObjectID] = []
        for id in commits {
            let tree = try graph.tree(of: id)
            if seen.insert(tree).inserted { level.append(tree) }
        }
        var blobs: Set<ObjectID> = []
        var depth = 0
        while !level.isEmpty {
            guard depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels")
            }
            try await fetch(level, "folder")
            var next: [ObjectID] = []
            for id in level {
                for entry in try trees.tree(id).entries {
                    switch entry.target {
                    case .folder(let folder): if seen.insert(folder).inserted { next.append(folder) }
                    case .file(let file): blobs.insert(file.blobID)
                    }
                }
            }
            level = next
            depth += 1
        }
        try await fetch(blobs.sorted(), "file content")
    }

    /// Fetches those of the ids that are not held; all of them must be there afterwards.
    private func fetch(_ ids: [ObjectID], _ what: String) async throws {
        var wanted: [ObjectID] = []
        for id in ids where try !staged.holds(id) { wanted.append(id) }
        let missing = try await fetcher.fetch(wanted)
        guard let first = missing.first else { return }
        let more = missing.count > 1 ? " and \(missing.count - 1) more" : ""
        throw VaultError(
            .objectMissing, "\(fetcher.remote.location) lacks the \(what) \(first.text)\(more)",
            hint: "whoever has a complete clone can push again, or repair it with vaultctl fsck", object: first.text)
    }
}
