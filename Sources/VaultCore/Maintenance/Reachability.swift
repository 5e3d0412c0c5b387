internal import VaultFormat
internal import VaultSystem

/// Marks every object that can be reached from commits, folders and tags.
///
/// File contents are marked by what their folders say and are not read.
final class Reachability {
    /// What to do about an object that is not held.
    enum Gap {
        /// The walk ends with an error.
        case fails
        /// The walk goes on without it: what only a record of the past refers to may be gone, and a clone of a part of a
        /// vault lacks the rest.
        case ends
    }

    /// Everything reached, held or not.
    private(set) var reached: Set<ObjectID> = []
    /// Commits and folders among these that are not held.
    private(set) var absent: Set<ObjectID> = []
    /// The keys that these commits name as their signers'.
    private(set) var signers: Set<KeyID> = []
    let graph: CommitGraph
    private let vault: Vault
    private let trees: TreeReader

    init(vault: Vault, boundaries: Set<ObjectID>) {
        self.vault = vault
        graph = CommitGraph(store: vault.store, cipher: vault.cipher, boundaries: boundaries)
        trees = TreeReader(store: vault.store, cipher: vault.cipher)
    }

    /// Marks a commit, those before it, and their contents.
    ///
    /// - Throws: `objectMissing` at a gap that fails, `objectCorrupt` and the like for what does not read.
    func mark(commit start: ObjectID, at gap: Gap) throws {
        var pending = [start]
        while let id = pending.popLast() {
            guard reached.insert(id).inserted else { continue }
            try vault.environment.pool.checkCancellation()
            guard let commit = try held(id, gap, { () throws(VaultError) in try graph.commit(id) }) else { continue }
            if let key = commit.authorKeyID.flatMap({ try? KeyID($0) }) { signers.insert(key) }
            if let tree = commit.treeID { try mark(tree: tree, at: gap) }
            pending += try graph.parents(id)
        }
    }

    /// Marks a folder and what is in it.
    func mark(tree start: ObjectID, at gap: Gap) throws {
        var pending: [(id: ObjectID, depth: Int)] = [(start, 0)]
        while let next = pending.popLast() {
            guard reached.insert(next.id).inserted else { continue }
            guard next.depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels",
                    object: start.text)
            }
            guard let tree = try held(next.id, gap, { () throws(VaultError) in try trees.tree(next.id) }) else {
                continue
            }
            for entry in tree.entries {
                switch entry.target {
                case .file(let file): reached.insert(file.blobID)
                case .folder(let id): pending.append((id, next.depth + 1))
                }
            }
        }
    }

    /// Marks a tag and the commit it names.
    func mark(tag id: ObjectID, at gap: Gap) throws {
        guard reached.insert(id).inserted else { return }
        let target = try held(id, gap) { () throws(VaultError) in try tagTarget(id) }
        if let target { try mark(commit: target, at: gap) }
    }

    /// Marks an object of which only the id is known; where it is none of the three kinds, it alone.
    func mark(anything id: ObjectID, at gap: Gap) throws {
        guard !reached.contains(id), try vault.store.holds(id) else { return }
        if isCommit(id) { return try mark(commit: id, at: gap) }
        if (try? trees.tree(id)) != nil { return try mark(tree: id, at: gap) }
        if (try? tagTarget(id)) != nil { return try mark(tag: id, at: gap) }
        reached.insert(id)
    }

    /// Whether the object reads as a commit; a folder reads as one that names no tree.
    func isCommit(_ id: ObjectID) -> Bool {
        (try? graph.commit(id))?.treeID != nil
    }

    private func tagTarget(_ id: ObjectID) throws(VaultError) -> ObjectID {
        let stored = try vault.store.read(id, limit: Limits.metadataPlaintext)
        let cipher = vault.cipher
        return try decoding("tag \(id.text)", object: id.text) { () throws(FormatError) -> ObjectID in
            let plaintext = try cipher.open(stored.bytes.span, limit: Limits.metadataPlaintext)
            return try TagObject.decode(plaintext.span).target()
        }
    }

    private func held<Value>(
        _ id: ObjectID, _ gap: Gap, _ read: () throws(VaultError) -> Value
    ) throws(VaultError) -> Value? {
        do throws(VaultError) { return try read() } catch {
            guard error.code == .objectMissing else { throw error }
            absent.insert(id)
            guard gap == .ends else { throw error }
            return nil
        }
    }
}
