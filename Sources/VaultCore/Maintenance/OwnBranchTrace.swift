internal import VaultFormat
internal import VaultSystem

/// What a clone's files other than the index, or other than `config.json`, tell of its own branch.
struct OwnBranchTrace {
    private let vault: Vault
    private let config: CloneConfig?
    /// The ref that its commits move, as far as that can be told.
    let ref: RefID?
    /// What the ref names.
    let head: ObjectID?
    /// The branch and the key of the last commit there that was signed here.
    private let writer: BranchID?
    private let key: KeyID?

    /// * `config`: `local/config.json`, where it reads.
    init(vault: Vault, config: CloneConfig?) {
        self.vault = vault
        self.config = config
        let pending = try? vault.files.readObject("pending_registration.json")
        let graph = CommitGraph(store: vault.store, cipher: vault.cipher)
        let pems = Self.signingKeys(vault)
        let known = config?.myBranchID
        var candidates: [(ref: RefID, head: ObjectID?)] = []
        for ref in Self.candidates(vault, pending) {
            candidates.append((ref, (try? vault.refs.commit(of: ref)) ?? nil))
        }
        // The one on which this branch wrote last, before one that only some record names.
        let written = candidates.first { candidate in
            guard let head = candidate.head, let commit = try? graph.commit(head) else { return false }
            if let known, !known.isEmpty { return commit.branchID == known }
            return commit.authorKeyID.flatMap { try? KeyID($0) }.map(pems.contains) == true
        }
        let last = vault.ownHeadRef()
        let worked = known == nil ? candidates.first { $0.ref == last && $0.head != nil } : nil
        let chosen = worked ?? written ?? candidates.first { $0.head != nil } ?? candidates.first
        ref = chosen?.ref
        head = chosen?.head
        var writer: BranchID?
        var key: KeyID?
        var next = chosen?.head
        // The commits behind the head may all be others' that were taken over; the first of its own is soon found.
        for _ in 0..<1000 where key == nil {
            guard let id = next, let commit = try? graph.commit(id) else { break }
            if let signer = commit.authorKeyID.flatMap({ try? KeyID($0) }), pems.contains(signer) {
                key = signer
                writer = commit.branchID.flatMap { try? BranchID($0) }
            }
            next = commit.parents.first
        }
        if key == nil {
            let named = pending?["public_key_id"]?.text.flatMap { try? KeyID($0) }
            key = named.flatMap { pems.contains($0) ? $0 : nil } ?? (pems.count == 1 ? pems.first : nil)
        }
        self.writer = writer
        self.key = key
    }

    /// Whether this clone is one that has a branch.
    var needsBranch: Bool {
        guard vault.mode != .readOnly else { return false }
        guard let config else { return vault.mode == .full || key != nil }
        return config.myBranchID?.isEmpty == false
    }

    /// This clone's branch in an index, or, where it stands in none any more, the one to add; nil where it has none.
    func branch(in index: BranchIndex) throws(VaultError) -> BranchRecord? {
        guard needsBranch else { return nil }
        let id = config?.myBranchID.flatMap { try? BranchID($0) }
        if let id, let branch = index.branch(id: id) { return branch }
        let clones = index.branches.filter { $0.type == .clone }
        if config == nil {
            if let branch = clones.first(where: { $0.headRefID == ref }) { return branch }
            let signed = clones.filter { $0.publicKeyID.map(Self.signingKeys(vault).contains) == true }
            if let branch = signed.max(by: { $0.createdAtMs < $1.createdAtMs }) { return branch }
        }
        let random = vault.environment.random
        let named = try vault.trackedBranch(of: nil, index)
        return try decoding("naming the branch") { () throws(FormatError) in
            var (name, place) = (id ?? writer, ref)
            if name == nil { name = try BranchID.randomClone(using: random) }
            if place == nil { place = try RefID.random(.clone, using: random) }
            guard let name, let place else { return nil }
            return BranchRecord(
                branchID: name, name: "local", type: .clone, headRefID: place, publicKeyID: key,
                createdAtMs: vault.commitTimeMs(), creatorBranch: named.branchID)
        }
    }

    /// Refs that may be this clone's own, the likeliest first.
    private static func candidates(_ vault: Vault, _ pending: JSONValue?) -> [RefID] {
        let moves = (try? Reflog(files: vault.files).entries()) ?? []
        let stored = (try? vault.storedRefs()) ?? []
        let first = try? vault.ids.firstCloneRef()
        let named: [RefID?] = [
            vault.ownHeadRef(), pending?["head_ref_id"]?.text.flatMap { try? RefID($0) },
            moves.last { $0.ref.kind == .clone }?.ref, first.flatMap { stored.contains($0) ? $0 : nil },
        ]
        var seen: Set<RefID> = []
        let others = stored.filter { $0.kind == .clone }
        return (named.compactMap { $0 } + others).filter { $0.kind == .clone && seen.insert($0).inserted }
    }

    /// The keys whose private half is here.
    static func signingKeys(_ vault: Vault) -> Set<KeyID> {
        let entries = (try? vault.layout.local.entries()) ?? []
        return Set(
            entries.filter { $0.name.suffix(4) == ".pem".bytes[...] }
                .compactMap { try? KeyID(String(decoding: $0.name.dropLast(4), as: UTF8.self)) })
    }
}
