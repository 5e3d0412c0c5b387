internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Gives this clone a branch of its own: a random ref and a new key pair, registered at the remote by its first push.
    ///
    /// * `index`: The branches there are; it is stored with the new one.
    /// * `head`: What the branch names.
    func addOwnBranch(
        to index: BranchIndex, on named: BranchRecord, head: ObjectID?, scratch: ScratchArea
    ) throws -> BranchRecord {
        let random = environment.random
        let pair = try makeKey(keepsPrivate: true, scratch: scratch)
        let branch = try decoding("naming the branch") { () throws(FormatError) in
            BranchRecord(
                branchID: try BranchID.randomClone(using: random), name: "local", type: .clone,
                headRefID: try RefID.random(.clone, using: random), publicKeyID: pair.id,
                createdAtMs: commitTimeMs(), creatorBranch: named.branchID)
        }
        var extended = index
        extended.branches.append(branch)
        try storeIndex(extended, scratch: scratch)
        if let head { try storeRef(branch.headRefID, old: nil, new: head, scratch: scratch) }
        try recordPending(branch, head: head, scratch: scratch)
        return branch
    }

    /// Notes that a branch of this clone is not registered at the remote yet.
    func recordPending(_ branch: BranchRecord, head: ObjectID?, scratch: ScratchArea) throws(VaultError) {
        let pending = JSONValue.object([
            JSONMember(name: "index_id", value: .string(ids.index.text)),
            JSONMember(name: "head_ref_id", value: .string(branch.headRefID.text)),
            JSONMember(name: "public_key_id", value: .optional(branch.publicKeyID?.text)),
            JSONMember(name: "commit_id", value: .string(head?.text ?? "")),
        ])
        try files.write("pending_registration.json", pending, scratch: scratch)
    }

    /// Two inits with one vault key derive one clone ref id; the loser takes a fresh one (spec 05 §3.1).
    func renameOwnRef(_ own: BranchRecord, _ state: CloneState, _ scratch: ScratchArea) throws {
        guard let head = state.head else { return }
        let random = environment.random
        var index = state.index
        guard let position = index.branches.firstIndex(where: { $0.branchID == own.branchID }) else { return }
        let fresh = try decoding("naming a ref") { () throws(FormatError) in
            try RefID.random(.clone, using: random)
        }
        index.branches[position].headRefID = fresh
        try storeRef(fresh, old: nil, new: head, scratch: scratch)
        try storeIndex(index, scratch: scratch)
    }

    /// Every ref that is stored here, whether the index names it or not, sorted.
    func storedRefs() throws(VaultError) -> [RefID] {
        try attempt("cannot list the refs") { () throws(Errno) in try layout.refs.entries() }
            .compactMap { try? RefID(String(decoding: $0.name, as: UTF8.self)) }
            .sorted { $0.text < $1.text }
    }
}
