internal import VaultFormat

/// Which objects may be absent from a partial clone, because the remote has them: of what was never published nothing,
/// and of the head what is in the working copy's reach.
struct NeededObjects {
    private let part: HeldPart
    /// Objects of commits that no remote is known to have.
    private var own: Set<ObjectID> = []
    /// Folders, and outside sparse clones contents, of the head.
    private var ofHead: Set<ObjectID> = []

    /// * `state`: The clone's; nothing is looked at for a clone of the whole vault.
    init(vault: Vault, state: CloneState) throws {
        part = vault.part
        guard part.isSparse || !part.scope.isWhole, let head = state.head else { return }
        do throws(VaultError) {
            let graph = CommitGraph(
                store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
            let trees = vault.treeReader()
            let seen = try headsSeen(vault, state)
            for head in try ownHeads(vault, state) {
                var published: ObjectID?
                // The remote may have gone on, and this branch may be one that was never pushed: what they have in
                // common.
                for id in seen {
                    guard let base = try graph.mergeBase(id, head) else { continue }
                    if let known = published, try !graph.isAncestor(known, of: base) { continue }
                    published = base
                }
                let commits = try graph.exclusive(head, not: published).sorted()
                own.formUnion(
                    try PublishPlanner(store: vault.store, graph: graph, trees: trees)
                        .objects(of: commits, remote: published))
            }
            let isSparse = part.isSparse
            let tree = try graph.tree(of: head)
            ofHead.insert(tree)
            try trees.walk(tree) { path, target throws(VaultError) in
                if let folder = target.folder {
                    ofHead.insert(folder)
                } else if let file = target.file, !isSparse, trees.scope.holds(path) {
                    ofHead.insert(file.blobID)
                }
                return true
            }
        } catch {
            // What is missing or damaged on the way is found, and told, by the walk through history.
            guard
                [.objectMissing, .objectCorrupt, .decryptFailed, .unsafePath, .formatUnsupported].contains(error.code)
            else {
                throw error
            }
        }
    }

    /// The head, and those of this clone's work on other branches.
    private func ownHeads(_ vault: Vault, _ state: CloneState) throws(VaultError) -> Set<ObjectID> {
        var heads = Set([state.head].compactMap { $0 })
        for branch in vault.localBranches(state.index, current: state.cloneBranch?.branchID) where branch.type == .clone
        {
            if let head = (try? vault.refs.commit(of: branch.headRefID)) ?? nil { heads.insert(head) }
        }
        return heads
    }

    /// Heads of any branch that a remote is known to have.
    private func headsSeen(_ vault: Vault, _ state: CloneState) throws(VaultError) -> [ObjectID] {
        let ref = state.namedBranch.headRefID
        var result = Set(vault.seenCommits())
        if let config = state.config.lastRemoteHead { result.insert(config) }
        if let accepted = try? RemoteHeads(files: vault.files, config: state.config, tracked: ref) {
            result.formUnion(accepted.heads.values)
        }
        result.formUnion(try RemoteHeads.allOthers(vault.files))
        var held: [ObjectID] = []
        for id in result.sorted() where try vault.store.holds(id) { held.append(id) }
        return held
    }

    func allowsAbsent(_ id: ObjectID, _ kind: FsckReport.Finding.Kind, at path: VaultPath?) -> Bool {
        guard part.isSparse || !part.scope.isWhole, kind == .tree || kind == .blob else { return false }
        return !own.contains(id) && !ofHead.contains(id)
    }
}

/// Folders at the places they were walked at.
struct WalkedPlaces {
    private var seen: Set<Place> = []

    private struct Place: Hashable {
        var id: ObjectID
        var path: VaultPath?
    }

    /// Whether the folder had not been walked there.
    mutating func insert(_ id: ObjectID, _ path: VaultPath?) -> Bool {
        seen.insert(Place(id: id, path: path)).inserted
    }
}
