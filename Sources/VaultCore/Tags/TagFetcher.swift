internal import VaultFormat
internal import VaultSystem

/// Brings the objects of tags here, and the keys that they are checked with.
struct TagFetcher {
    let vault: Vault
    let remote: any Remote
    let staged: StagedStore

    /// Fetches what is not here of the tags of an index.
    ///
    /// A tag is no part of history: one that the remote lacks, or answers with other bytes, is told as missing where
    /// tags are told, and spoils nothing else.
    func fetch(_ index: BranchIndex, scratch: ScratchArea) async throws {
        var wanted: [ObjectID: TagEntry] = [:]
        for entry in index.liveTags {
            guard let id = entry.tagID, try !staged.holds(id) else { continue }
            wanted[id] = entry
        }
        guard !wanted.isEmpty else { return }
        let batch = staged.batch
        try await remote.read(wanted.keys.sorted().map { .object($0) }) { file, found in
            // What is larger than a tag can be is none.
            guard case .object(let id) = file, case .content(let bytes) = found,
                bytes.count <= Limits.metadataPlaintext, let object = try? VerifiedObject(checking: bytes, as: id)
            else { return }
            try batch.add(object)
        }
        let reader = TagReader(vault: vault, index: index, objects: staged)
        try await vault.fetchKeys(Set(wanted.values.compactMap(reader.taggerKey)), from: remote, scratch: scratch)
    }

    /// What changed between two indexes.
    func changes(from old: BranchIndex, to new: BranchIndex) throws(VaultError) -> [TagChange] {
        guard old.tags != new.tags else { return [] }
        let reader = TagReader(vault: vault, index: new, objects: staged)
        let known = old.tagsByName
        var result: [TagChange] = []
        for entry in new.tags {
            let before = known[entry.name]
            let isNew = before?.isDeleted != false
            if entry.isDeleted {
                if !isNew { result.append(TagChange(name: entry.name, kind: .deleted, target: nil)) }
            } else if isNew || before?.tagID != entry.tagID {
                let target = try reader.look(at: entry).target
                result.append(TagChange(name: entry.name, kind: isNew ? .added : .moved, target: target))
            }
        }
        return result
    }
}

extension BranchIndex {
    /// The entries that this version can read.
    var tagsByName: [String: TagEntry] {
        Dictionary(tags.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension Vault {
    /// Fetches the keys that commits were signed with: that of a branch that was merged before it was pushed is in no
    /// index, and came with its commits.
    func fetchSigners(
        of commits: [ObjectID], _ graph: CommitGraph, _ index: BranchIndex, from remote: any Remote,
        scratch: ScratchArea
    ) async throws {
        let keys = SignatureChecker(refs: refs, cipher: cipher, index: index)
        var signers: Set<KeyID> = []
        for id in commits { if let key = keys.keyID(of: try graph.commit(id)) { signers.insert(key) } }
        try await fetchKeys(signers, from: remote, scratch: scratch)
    }

    /// Fetches public keys that are not here; what is no public key of this vault is not kept (spec 02 §9).
    func fetchKeys(_ ids: Set<KeyID>, from remote: any Remote, scratch: ScratchArea) async throws {
        let missing = ids.filter { (try? refs.bytes(of: .key($0), limit: Limits.keyPlaintext)) == .some(nil) }
        guard !missing.isEmpty else { return }
        let found = try await remote.readAll(missing.sorted { $0.text < $1.text }.map { .key($0) })
        for (id, file) in found {
            guard case .content(let bytes) = file, SignatureChecker.pem(bytes, cipher: cipher) != nil else { continue }
            let place = try layout.place(of: id)
            try attempt("cannot store a public key") { () throws(Errno) in
                try scratch.replace(place.name, in: place.folder, with: bytes.span, mode: 0o666)
            }
        }
    }
}
