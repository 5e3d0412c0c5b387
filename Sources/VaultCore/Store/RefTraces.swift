internal import VaultFormat
internal import VaultSystem

/// What this clone's records tell of a ref that is missing or does not read: the log of moves, the head this program
/// wrote last, the registration that waits for a push, and a copy that was set aside.
struct RefTraces {
    private let vault: Vault
    private let graph: CommitGraph
    private let logged: [RefID: ObjectID]
    private let unpushed: Set<String>

    /// * `boundaries`: Where history ends in a shallow clone.
    init(vault: Vault, boundaries: Set<ObjectID>) {
        self.vault = vault
        graph = CommitGraph(store: vault.store, cipher: vault.cipher, boundaries: boundaries)
        var last: [RefID: ObjectID] = [:]
        // A record that does not read tells nothing; the check names it.
        for move in (try? Reflog(files: vault.files).entries()) ?? [] { last[move.ref] = move.new }
        logged = last
        unpushed = (try? vault.unpushedBranches()) ?? []
    }

    /// Every commit that some record says the ref named last; the log's first.
    func commits(of ref: RefID) -> [ObjectID] {
        var all: [ObjectID] = []
        func add(_ id: ObjectID?) { if let id, !all.contains(id) { all.append(id) } }
        add(logged[ref])
        if vault.ownHeadRef() == ref { add(vault.ownHead()) }
        if let bytes = setAside(ref) { add((try? vault.refs.decode(bytes, of: ref)) ?? nil) }
        let pending = try? vault.files.readObject("pending_registration.json")
        if pending?["head_ref_id"]?.textValue == ref.text {
            add(pending?["commit_id"]?.textValue.flatMap { try? ObjectID($0) })
        }
        return all
    }

    /// The bytes of the ref in the quarantine.
    private func setAside(_ ref: RefID) -> [UInt8]? {
        guard let own = try? vault.layout.ownFolder(create: false),
            let folder = try? own.openDirectory("quarantine".bytes)
        else { return nil }
        return (try? folder.contents(ref.text.bytes, limit: Limits.refPlaintext)) ?? nil
    }

    /// The one to go on from, of what the records name and some others: the commit that descends from the rest, and of
    /// those that stand apart the newest; nil when none is held.
    func best(of ref: RefID, or others: [ObjectID] = []) throws(VaultError) -> ObjectID? {
        var best: ObjectID?
        for id in commits(of: ref) + others where try vault.store.holds(id) {
            guard let commit = try? graph.commit(id) else { continue }
            guard let known = best else {
                best = id
                continue
            }
            switch try? graph.relation(id, known) {
            case .ahead: best = id
            case .apart, nil:
                if let other = try? graph.commit(known), commit.timestampMs > other.timestampMs { best = id }
            case .same, .behind: break
            }
        }
        return best
    }

    /// Why a branch of this clone that has no ref is lost; nil when it never had a commit here.
    func loss(of branch: BranchRecord, _ index: BranchIndex) throws(VaultError) -> VaultError? {
        let ref = branch.headRefID
        let whose = branch.type == .clone ? "this clone's branch" : "the branch '\(branch.name)'"
        func lost(_ detail: String) -> VaultError {
            VaultError(
                .refUnreadable, "\(whose) is lost: its ref \(ref.text) is missing; \(detail)",
                hint: "vaultctl fsck --repair", object: ref.text)
        }
        if let last = try best(of: ref) ?? commits(of: ref).first { return lost("it last named \(last.text)") }
        if branch.type == .clone {
            let named = try vault.trackedBranch(of: branch, index)
            // A branch of this clone begins where the named one is.
            if let head = try? vault.refs.commit(of: named.headRefID) {
                return lost("no record tells what it named; the branch '\(named.name)' is at \(head.text)")
            }
        }
        guard setAside(ref) != nil || unpushed.contains(branch.branchID.text) else { return nil }
        return lost("no record tells what it named")
    }
}

extension Vault {
    /// The branches whose refs have to be whole here: the named ones and, after them, all that are this clone's own.
    ///
    /// Its own are those whose key is here, and those that it moved, whose key may be lost.
    ///
    /// * `current`: The branch that is worked on, if it is one of its own.
    func localBranches(_ index: BranchIndex, current: BranchID?) -> [BranchRecord] {
        guard mode != .readOnly else { return index.namedBranches }
        let keys = OwnBranchTrace.signingKeys(self)
        let moved = Set(((try? Reflog(files: files).entries()) ?? []).map(\.ref))
        let own = index.branches.filter { branch in
            branch.type == .clone
                && (branch.branchID == current || moved.contains(branch.headRefID)
                    || branch.publicKeyID.map(keys.contains) == true)
        }
        return index.namedBranches + own
    }

    /// Refuses to go on where a branch of this clone has no ref and once had one.
    ///
    /// - Throws: `refUnreadable`.
    func requireRef(of branch: BranchRecord, _ state: CloneState) throws(VaultError) {
        guard try refs.commit(of: branch.headRefID) == nil else { return }
        let traces = RefTraces(vault: self, boundaries: state.config.shallowBoundaries)
        if let loss = try traces.loss(of: branch, state.index) { throw loss }
    }
}
