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
    /// * `large`: Objects that are known to be large, which are not asked for together with others.
    /// * `others`: Further small files, read by the way and put into `collected`.
    ///
    /// - Throws: `objectCorrupt` when what arrives is not what was asked for.
    func fetch(
        _ ids: [ObjectID], large: [ObjectID] = [], others: [FileID] = [], into collected: Collected = Collected()
    ) async throws -> [ObjectID] {
        try await fetch(others + ids.map { .object($0) }, large: large, into: collected, isSweep: false).missing
    }

    /// Fetches what comes without asking twice, and gives back what was left out (see `Remote.sweep`).
    ///
    /// Of objects that the remote does not have nothing is said.
    func sweep(
        _ ids: [ObjectID], others: [FileID] = [], into collected: Collected = Collected()
    ) async throws -> [FileID] {
        try await fetch(others + ids.map { .object($0) }, large: [], into: collected, isSweep: true).leftOut
    }

    private func fetch(
        _ files: [FileID], large: [ObjectID], into collected: Collected, isSweep: Bool
    ) async throws -> (missing: [ObjectID], leftOut: [FileID]) {
        let total = files.count + large.count
        guard total > 0 else { return ([], []) }
        let outcome = Locked(Outcome(large: large))
        let batch = batch
        let observer = observer
        let location = remote.location
        let skipsCorrupt = skipsCorrupt
        let deliver: @Sendable (FileID, RemoteFile) throws -> Void = { fileID, file in
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
                observer.progress(Progress(phase: .download, done: done.0, total: total, bytes: done.1))
            case .absent: outcome.withLock { $0.missing.append(id) }
            case .large: outcome.withLock { $0.large.append(id) }
            }
        }
        var leftOut: [FileID] = []
        if isSweep {
            leftOut = try await remote.sweep(files, deliver: deliver)
        } else if !files.isEmpty {
            try await remote.read(files, deliver: deliver)
        }
        var result = outcome.withLock { $0 }
        for id in result.large.sorted() where try await !fetchLarge(id) { result.missing.append(id) }
        return (result.missing.sorted(), leftOut)
    }

    private struct Outcome: Sendable {
        var missing: [ObjectID] = []
        var large: [ObjectID]
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
        let blobs = try await fetchFolders(level, &seen)
        // What is large is known here: it is never asked for together with others.
        let large = blobs.filter(\.value).keys.sorted()
        try await fetch(blobs.filter { !$0.value }.keys.sorted(), large: large, "file content")
    }

    /// The large contents of a commit, and of those before it as far as they and their folders are here.
    ///
    /// Of the commit itself what tells is fetched where it is missing.
    ///
    /// * `others`: Further small files, read by the way and put into `collected`.
    func largeContents(
        of head: ObjectID, others: [FileID], into collected: Collected
    ) async throws -> Set<ObjectID> {
        if try staged.holds(head) {
            _ = try await fetcher.fetch([], others: others, into: collected)
        } else {
            let missing = try await fetcher.fetch([head], others: others, into: collected)
            if !missing.isEmpty { throw self.missing(missing, "commit") }
        }
        var seen: Set<ObjectID> = [try graph.tree(of: head)]
        var large = Set(try await fetchFolders(Array(seen), &seen).filter(\.value).keys)
        var commits = try graph.parents(head)
        var known = Set(commits)
        var folders: [ObjectID] = []
        while let commit = commits.popLast() {
            guard try staged.holds(commit) else { continue }
            let tree = try graph.tree(of: commit)
            if seen.insert(tree).inserted { folders.append(tree) }
            for parent in try graph.parents(commit) where known.insert(parent).inserted { commits.append(parent) }
        }
        while let folder = folders.popLast() {
            guard try staged.holds(folder) else { continue }
            for entry in try trees.tree(folder).entries {
                switch entry.target {
                case .folder(let folder): if seen.insert(folder).inserted { folders.append(folder) }
                case .file(let file): if file.isLarge { large.insert(file.blobID) }
                }
            }
        }
        return large
    }

    /// Fetches folders and those in them; gives the contents of their files, and whether each is large.
    private func fetchFolders(
        _ top: [ObjectID], _ seen: inout Set<ObjectID>
    ) async throws -> [ObjectID: Bool] {
        var level = top
        var blobs: [ObjectID: Bool] = [:]
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
                    case .file(let file): blobs[file.blobID] = file.isLarge
                    }
                }
            }
            level = next
            depth += 1
        }
        return blobs
    }

    /// Fetches those of the ids that are not held; all of them must be there afterwards.
    private func fetch(_ ids: [ObjectID], large: [ObjectID] = [], _ what: String) async throws {
        func wanted(_ ids: [ObjectID]) throws -> [ObjectID] { try ids.filter { try !staged.holds($0) } }
        let missing = try await fetcher.fetch(try wanted(ids), large: try wanted(large))
        if !missing.isEmpty { throw self.missing(missing, what) }
    }

    private func missing(_ missing: [ObjectID], _ what: String) -> VaultError {
        let more = missing.count > 1 ? " and \(missing.count - 1) more" : ""
        let first = missing.first?.text ?? ""
        return VaultError(
            .objectMissing, "\(fetcher.remote.location) lacks the \(what) \(first)\(more)",
            hint: "whoever has a complete clone can publish the vault to a new place with push --server", object: first)
    }
}
