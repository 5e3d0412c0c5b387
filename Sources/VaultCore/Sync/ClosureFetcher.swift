internal import VaultFormat
internal import VaultSystem

/// Makes sure that everything reachable from a commit is held, as far as it belongs to the part of the vault that this
/// clone holds: commits level by level, the trees of every new commit, then their blobs.
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
        trees = vault.treeReader(staged)
    }

    /// Fetches what is missing of the commits reachable from `head`, not walking into those known.
    ///
    /// - Returns: The new commits.
    /// - Throws: `objectMissing` naming what neither this clone nor the remote has.
    func fetchCommits(
        from head: ObjectID, isKnown: (ObjectID) throws(VaultError) -> Bool
    ) async throws -> [ObjectID] {
        try await fetchHistory(from: [head], depth: nil, isKnown: isKnown).commits
    }

    /// The same from several heads, and no more than so many levels of commits.
    ///
    /// - Returns: The new commits, and those of the last level that have parents which were not fetched.
    func fetchHistory(
        from heads: [ObjectID], depth: Int?, isKnown: (ObjectID) throws(VaultError) -> Bool
    ) async throws -> (commits: [ObjectID], boundaries: Set<ObjectID>) {
        var commits: [ObjectID] = []
        var seen: Set<ObjectID> = []
        var level: [ObjectID] = []
        for head in heads where seen.insert(head).inserted {
            if try !isKnown(head) { level.append(head) }
        }
        var last: [ObjectID] = []
        var levels = 0
        while !level.isEmpty {
            try await fetch(level, "commit")
            commits += level
            levels += 1
            if levels == depth {
                last = level
                break
            }
            var next: [ObjectID] = []
            for id in level {
                for parent in try graph.parents(id) where seen.insert(parent).inserted {
                    if try !isKnown(parent) { next.append(parent) }
                }
            }
            level = next
        }
        var boundaries: Set<ObjectID> = []
        for id in last {
            for parent in try graph.parents(id) where !seen.contains(parent) {
                if try !isKnown(parent) { boundaries.insert(id) }
            }
        }
        return (commits, boundaries)
    }

    /// Fetches the trees and blobs of commits, not looking into the trees that `known` commits have.
    ///
    /// Of a sparse clone the blobs are left for when they are wanted.
    func fetchContents(of commits: [ObjectID], known: [ObjectID]) async throws {
        var seen: Set<Folder> = []
        for id in known { seen.insert(root(try graph.tree(of: id))) }
        var level: [Folder] = []
        for id in commits {
            let tree = root(try graph.tree(of: id))
            if seen.insert(tree).inserted { level.append(tree) }
        }
        let blobs = try await fetchFolders(level, &seen)
        guard !vault.part.isSparse else { return }
        // What is large is known here: it is never asked for together with others.
        let large = blobs.filter(\.value).keys.sorted()
        try await fetch(blobs.filter { !$0.value }.keys.sorted(), large: large, "file content")
    }

    /// Fetches the folders in some folders, whatever this clone holds of the vault.
    func fetchFolders(in tops: [ObjectID]) async throws {
        var seen = Set(tops.map { Folder(id: $0, isHeld: true) })
        _ = try await fetchFolders(Array(seen), &seen)
    }

    /// A folder on the walk through trees.
    private struct Folder: Hashable {
        var id: ObjectID
        /// All in it is held.
        var isHeld: Bool
        /// Where it stands, where not all in it is; nil for the root.
        var path: VaultPath?
    }

    private func root(_ tree: ObjectID) -> Folder { Folder(id: tree, isHeld: vault.part.scope.isWhole) }

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
        var walked: Set<Folder> = [root(try graph.tree(of: head))]
        var large = Set(try await fetchFolders(Array(walked), &walked).filter(\.value).keys)
        var seen = Set(walked.map(\.id))
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
        _ top: [Folder], _ seen: inout Set<Folder>
    ) async throws -> [ObjectID: Bool] {
        var level = top
        var blobs: [ObjectID: Bool] = [:]
        var depth = 0
        while !level.isEmpty {
            guard depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels")
            }
            try await fetch(Array(Set(level.map(\.id))), "folder")
            var next: [Folder] = []
            for folder in level {
                for entry in try trees.tree(folder.id).entries {
                    guard let place = try place(of: entry, in: folder) else { continue }
                    switch entry.target {
                    case .folder: if seen.insert(place).inserted { next.append(place) }
                    case .file(let file): blobs[file.blobID] = file.isLarge
                    }
                }
            }
            level = next
            depth += 1
        }
        return blobs
    }

    /// An entry of a folder as a place of the walk; nil for one that is not held.
    private func place(of entry: TreeEntry, in folder: Folder) throws(VaultError) -> Folder? {
        let id = entry.target.folder ?? folder.id
        guard !folder.isHeld else { return Folder(id: id, isHeld: true) }
        let path = try TreeReader.path(folder.path, entry.name, isFolder: entry.target.folder != nil)
        let scope = vault.part.scope
        if scope.holds(path) { return Folder(id: id, isHeld: true) }
        guard entry.target.folder != nil, scope.enters(path) else { return nil }
        return Folder(id: id, isHeld: false, path: path)
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
