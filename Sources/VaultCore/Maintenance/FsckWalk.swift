internal import VaultFormat

/// Follows everything reachable and notes what is missing or does not decode.
final class FsckWalk {
    struct BlobUse: Sendable {
        var entry: FileEntry
        var tree: ObjectID
        var path: VaultPath
        var isHeld: Bool
    }

    let graph: CommitGraph
    private let vault: Vault
    private let trees: TreeReader
    private let objects: CheckedObjects
    private let needed: NeededObjects
    private var walked = WalkedPlaces()
    private var seen: Set<ObjectID> = []
    private(set) var absent = 0
    private(set) var missing: [FsckReport.Finding] = []
    private(set) var corrupt: [FsckReport.Finding] = []
    private(set) var unreadable: [FsckReport.Finding] = []
    private(set) var reached: (commits: [ObjectID], trees: Set<ObjectID>, blobs: [ObjectID: BlobUse]) = ([], [], [:])

    init(
        vault: Vault, objects: CheckedObjects, boundaries: Set<ObjectID>, needed: NeededObjects
    ) throws {
        self.needed = needed
        self.vault = vault
        self.objects = objects
        graph = CommitGraph(store: vault.store, cipher: vault.cipher, boundaries: boundaries)
        trees = vault.treeReader()
    }

    /// Follows what some refs name; what another run has come by is not walked again.
    func run(from starts: [ObjectID: String]) throws {
        var pending = starts.map { (id: $0.key, by: $0.value) }
        while let next = pending.popLast() {
            guard seen.insert(next.id).inserted, try present(next.id, .commit, by: next.by, path: nil) else { continue }
            do throws(VaultError) {
                let commit = try graph.commit(next.id)
                reached.commits.append(next.id)
                for parent in try graph.parents(next.id) { pending.append((parent, next.id.text)) }
                try walkTree(commit.tree(of: next.id), by: next.id)
            } catch {
                try note(error, next.id, .commit, by: next.by)
            }
        }
    }

    private func walkTree(_ root: ObjectID, by commit: ObjectID) throws(VaultError) {
        let scope = trees.scope
        var pending: [(id: ObjectID, prefix: VaultPath?, by: ObjectID, depth: Int)] = [(root, nil, commit, 0)]
        while let next = pending.popLast() {
            // One folder may stand at several places, of which not all are held.
            guard reached.trees.insert(next.id).inserted || !scope.isWhole && walked.insert(next.id, next.prefix),
                try present(next.id, .tree, by: next.by.text, path: next.prefix)
            else { continue }
            guard next.depth <= Limits.treeDepth else {
                let detail = "folders nest deeper than \(Limits.treeDepth) levels"
                corrupt.append(
                    .init(id: next.id.text, kind: .tree, referencedBy: next.by.text, path: nil, detail: detail))
                continue
            }
            do throws(VaultError) {
                for entry in try trees.tree(next.id).entries {
                    let path = try TreeReader.path(
                        next.prefix, entry.name, isFolder: entry.target.folder != nil)
                    switch entry.target {
                    case .folder(let id):
                        if scope.enters(path) { pending.append((id, path, next.id, next.depth + 1)) }
                    case .file(let file):
                        guard scope.holds(path), reached.blobs[file.blobID] == nil else { continue }
                        let isHeld = try present(file.blobID, .blob, by: next.id.text, path: path)
                        reached.blobs[file.blobID] = BlobUse(
                            entry: file, tree: next.id, path: path, isHeld: isHeld && objects.held.contains(file.blobID)
                        )
                    }
                }
            } catch {
                try note(error, next.id, .tree, by: next.by.text)
            }
        }
    }

    /// Whether an object is there and sound; notes it when not.
    private func present(
        _ id: ObjectID, _ kind: FsckReport.Finding.Kind, by: String, path: VaultPath?
    ) throws(VaultError) -> Bool {
        func finding(_ detail: String) -> FsckReport.Finding {
            .init(id: id.text, kind: kind, referencedBy: by, path: path, detail: detail)
        }
        if let detail = objects.damaged[id] {
            corrupt.append(finding(detail))
            return false
        }
        if let detail = objects.unreadable[id] {
            unreadable.append(finding(detail))
            return false
        }
        if objects.held.contains(id) { return true }
        // It may have come since the list was made.
        do throws(VaultError) { if try vault.store.holds(id) { return true } } catch {
            try note(error, id, kind, by: by)
            return false
        }
        if needed.allowsAbsent(id, kind, at: path) {
            absent += 1
            return false
        }
        missing.append(finding("not in this clone"))
        return false
    }

    private func note(
        _ error: VaultError, _ id: ObjectID, _ kind: FsckReport.Finding.Kind, by: String
    ) throws(VaultError) {
        let finding = FsckReport.Finding(
            id: id.text, kind: kind, referencedBy: by, path: nil, detail: error.message)
        switch error.code {
        case .objectCorrupt, .decryptFailed, .unsafePath: corrupt.append(finding)
        case .objectMissing: missing.append(finding)
        case .ioError, .permissionDenied: unreadable.append(finding)
        default: throw error
        }
    }
}
