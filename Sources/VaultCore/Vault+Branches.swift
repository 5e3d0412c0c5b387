internal import VaultCrypto
public import VaultFormat
internal import VaultSystem

extension Vault {
    /// The named branches, the one that is worked on first, then by name; those deleted here are left out.
    public func branches() throws -> [BranchInfo] {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let hidden = try branchIDs(in: Self.hiddenName)
        let unpushed = try branchIDs(in: Self.unpushedName)
        let server = try recordedServer()
        let place = server.map { self.place(of: $0) }
        var result: [BranchInfo] = []
        for branch in state.index.branches where branch.type == .named && !hidden.contains(branch.branchID.text) {
            var info = BranchInfo(
                name: branch.name, id: branch.branchID.text,
                isCurrent: branch.branchID == state.namedBranch.branchID, head: try localHead(of: branch, state),
                upstreamHead: nil, ahead: nil, behind: nil, isPushed: !unpushed.contains(branch.branchID.text))
            if let place { info.upstreamHead = try seenHead(at: place, ref: branch.headRefID)?.commit }
            if let head = info.head, let upstream = info.upstreamHead, try store.holds(upstream) {
                let (ahead, behind) = try graph.divergence(head, upstream)
                (info.ahead, info.behind) = (ahead, behind)
            }
            result.append(info)
        }
        return result.sorted { $0.isCurrent != $1.isCurrent ? $0.isCurrent : $0.name < $1.name }
    }

    /// Makes a named branch; nothing is sent before its first push (spec 05 §10).
    ///
    /// * `revision`: Where it begins; nil means the head.
    /// - Throws: `nameTaken`, `usage` for what can be no name, `revisionNotFound`, `readOnlyClone`.
    @discardableResult
    public func createBranch(_ name: String, at revision: String? = nil) throws -> ObjectID {
        try requireWritable("make a branch")
        let lock = try lock(settling: true)
        let (branch, head) = try planned(name, at: revision, loadState())
        try record(branch, at: head, lock.scratch)
        return head
    }

    /// A named branch to be made, and where it begins; nothing of it is stored.
    private func planned(
        _ name: String, at revision: String?, _ state: CloneState
    ) throws -> (branch: BranchRecord, head: ObjectID) {
        try Self.checkWritable(state.index)
        try refusePacks(state.config, "make branches")
        try checkName(name, state.index)
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let head = try RevisionResolver(vault: self, state: state, graph: graph).resolve(revision ?? "HEAD")
        let random = environment.random
        let branch = try decoding("naming the branch") { () throws(FormatError) in
            BranchRecord(
                branchID: try BranchID.randomNamed(using: random), name: name, type: .named,
                headRefID: try RefID.random(.named, using: random), publicKeyID: nil, createdAtMs: commitTimeMs(),
                creatorBranch: nil)
        }
        return (branch, head)
    }

    /// Stores a planned branch: its key, its ref, and then its place in the index.
    private func record(_ branch: BranchRecord, at head: ObjectID, _ scratch: ScratchArea) throws {
        var branch = branch
        branch.publicKeyID = try makeKey(keepsPrivate: branch.type == .clone, scratch: scratch).id
        try storeRef(branch.headRefID, old: nil, new: head, scratch: scratch)
        if branch.type == .named {
            var unpushed = try branchIDs(in: Self.unpushedName)
            unpushed.insert(branch.branchID.text)
            try record(unpushed, in: Self.unpushedName, scratch)
        }
        var index = try loadState().index
        index.branches.append(branch)
        try storeIndex(index, scratch: scratch)
    }

    private func checkName(_ name: String, _ index: BranchIndex) throws(VaultError) {
        guard BranchRecord.isValidName(name) else {
            throw VaultError(.usage, "a branch name has 1 to 64 letters, digits, '_' and '-'")
        }
        if let why = Self.misleading(name) {
            throw VaultError(.usage, "'\(name)' can be no name of a branch: \(why)")
        }
        guard !index.branches.contains(where: { $0.name == name && $0.type == .named }) else {
            throw VaultError(.nameTaken, "there is a branch '\(name)' already", hint: "vaultctl switch \(name)")
        }
    }

    /// Why a name would be taken for something else wherever a branch can be named; nil when it would not.
    private static func misleading(_ name: String) -> String? {
        if name.hasPrefix("-") { return "it would be an option" }
        if name == "HEAD" { return "HEAD is the commit that is worked on" }
        let isHex = name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }
        // The whole digits of an id are what every list prints; fewer are a word like any other.
        let isObject = (isHex && [12, 32].contains(name.utf8.count)) || name.hasPrefix("obj-")
        return isObject || (try? BranchID(name)) != nil ? "it looks like an id" : nil
    }

    /// Renames a branch that was made here and never pushed.
    ///
    /// - Throws: `branchNotFound`, `nameTaken`, `refused` for a branch that others may know.
    public func renameBranch(_ old: String, to new: String) throws {
        try requireWritable("rename a branch")
        let lock = try lock(settling: true)
        let state = try loadState()
        try Self.checkWritable(state.index)
        let unpushed = try branchIDs(in: Self.unpushedName)
        // Where others made one of the same name, this clone's is meant: it is the one that can get another.
        let own = state.index.branches.first { $0.name == old && unpushed.contains($0.branchID.text) }
        let branch = try own ?? named(old, state.index)
        guard unpushed.contains(branch.branchID.text) else {
            throw VaultError(
                .refused, "the branch '\(old)' has been pushed, and others know it by its name",
                hint: "make another branch from it")
        }
        try checkName(new, state.index)
        var index = state.index
        for position in index.branches.indices where index.branches[position].branchID == branch.branchID {
            index.branches[position].name = new
        }
        try storeIndex(index, scratch: lock.scratch)
    }

    /// Deletes a branch in this clone; the format has no way to delete one for others (spec 05 §10).
    ///
    /// * `force`: Also when it has commits that no other branch here contains.
    /// - Throws: `branchNotFound`, `refused` for the branch that is worked on, or for work that would be lost.
    public func deleteBranch(_ name: String, force: Bool = false) throws -> BranchDeletion {
        try requireWritable("delete a branch")
        let lock = try lock(settling: true)
        let state = try loadState()
        try Self.checkWritable(state.index)
        let branch = try named(name, state.index)
        guard branch.branchID != state.namedBranch.branchID else {
            throw VaultError(.refused, "this clone works on the branch '\(name)'", hint: "switch to another one first")
        }
        if !force { try checkMerged(branch, state) }
        let head = try localHead(of: branch, state)
        var unpushed = try branchIDs(in: Self.unpushedName)
        guard unpushed.remove(branch.branchID.text) != nil else {
            var hidden = try branchIDs(in: Self.hiddenName)
            hidden.insert(branch.branchID.text)
            try record(hidden, in: Self.hiddenName, lock.scratch)
            return BranchDeletion(end: .hidden, head: head)
        }
        var index = state.index
        index.branches.removeAll { $0.branchID == branch.branchID || $0.creatorBranch == branch.branchID }
        try storeIndex(index, scratch: lock.scratch)
        try record(unpushed, in: Self.unpushedName, lock.scratch)
        return BranchDeletion(end: .removed, head: head)
    }

    /// Refuses to drop commits that only this branch has.
    private func checkMerged(_ branch: BranchRecord, _ state: CloneState) throws(VaultError) {
        guard let head = try localHead(of: branch, state), try store.holds(head) else { return }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        for other in state.index.branches where other.type == .named && other.branchID != branch.branchID {
            guard let there = try localHead(of: other, state), try store.holds(there) else { continue }
            if try graph.isAncestor(head, of: there) { return }
        }
        // What the remote has of it is not lost either.
        if let seen = try recordedServer().flatMap({ (url) throws(VaultError) in
            try seenHead(at: place(of: url), ref: branch.headRefID)?.commit
        }), try store.holds(seen), try graph.isAncestor(head, of: seen) {
            return
        }
        throw VaultError(
            .refused, "the branch '\(branch.name)' has commits that no other branch has",
            hint: "merge it first, or delete it with -D", object: head.text)
    }

    // MARK: Switching

    /// Works on another branch from now on: its files come into the working copy, uncommitted work that they do not
    /// touch is taken along (spec 05 §10).
    ///
    /// * `creating`: Make the branch first.
    /// * `revision`: Where a new branch begins.
    /// * `discards`: Put edits of tracked files aside, as a stash, instead of taking them along.
    /// - Throws: `branchNotFound`, `revisionNotFound` for a branch whose commits were never fetched, `dirtyTree`,
    ///   `nameTaken`, `mergeInProgress`, `refused` in a clone without a branch of its own.
    public func switchBranch(
        to name: String, creating: Bool = false, from revision: String? = nil, discards: Bool = false,
        observer: any Observer = SilentObserver()
    ) throws -> SwitchResult {
        try requireWritable("switch branches")
        let lock = try lock(settling: true)
        try refuseDuringMerge()
        try refusePacks(try loadState().config, "switch branches")
        let state = try loadState()
        let made = creating ? try planned(name, at: revision, state) : nil
        let target = try made?.branch ?? named(name, state.index)
        guard let own = state.cloneBranch else {
            throw VaultError(.branchNotFound, "this clone has no branch of its own", hint: "clone again")
        }
        guard target.branchID != state.namedBranch.branchID else {
            return SwitchResult(
                branch: target.name, head: state.head, changes: Changes(), kept: Changes(), notWritten: [])
        }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let start =
            try made.map { try BranchStart(own: ownRecord(for: target), head: $0.head, isNew: true) }
            ?? branchStart(for: target, state, graph)
        let (branch, head) = (start.own, start.head)
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: treeReader(),
            scratch: lock.scratch, observer: observer)
        let stash =
            try discards
            ? putEditsAside(before: "switch", state, scratch: lock.scratch, observer: observer) : nil
        // Uncommitted work in the way stops it before there is a branch.
        let outcome: WorkingCopyMove.Outcome
        do {
            outcome = try move.run(to: head, verb: "switch", branch: branch.branchID) {
                if let made { try record(made.branch, at: made.head, lock.scratch) }
                if start.isNew {
                    try record(branch, at: head, lock.scratch)
                } else if let old = start.moves {
                    try storeRef(branch.headRefID, old: old, new: head, scratch: lock.scratch)
                }
            } finish: {
                try workOn(branch.branchID, scratch: lock.scratch)
            }
        } catch {
            guard let stash else { throw error }
            throw bringBack(stash, after: error, scratch: lock.scratch, observer: observer)
        }
        try recordOwnHead(head, ref: branch.headRefID, scratch: lock.scratch)
        var hidden = try branchIDs(in: Self.hiddenName)
        if hidden.remove(target.branchID.text) != nil { try record(hidden, in: Self.hiddenName, lock.scratch) }
        try files.writeOwn(
            Self.previousName, [JSONMember(name: "branch_id", value: .optional(own.creatorBranch?.text))],
            scratch: lock.scratch, durable: false)
        return SwitchResult(
            branch: target.name, head: head, changes: outcome.changes, kept: outcome.kept,
            notWritten: outcome.notStored, stash: stash)
    }

    /// The name of the branch that was worked on before; nil when there was none.
    public func previousBranch() throws -> String? {
        guard let text = try files.readOwn(Self.previousName)?["branch_id"]?.text, let id = try? BranchID(text) else {
            return nil
        }
        return try loadState().index.branch(id: id)?.name
    }

    /// What a switch works on: this clone's own branch on a named one, and the head to begin at.
    private struct BranchStart {
        var own: BranchRecord
        var head: ObjectID
        /// The branch is not stored yet.
        var isNew = false
        /// Where the branch's ref is now, when it has to move to the head.
        var moves: ObjectID?
    }

    /// The newest branch of this clone on a named one whose key is here, or a new one; nothing is stored.
    private func branchStart(
        for named: BranchRecord, _ state: CloneState, _ graph: CommitGraph
    ) throws -> BranchStart {
        let shared = try refs.commit(of: named.headRefID)
        if let shared, try store.holds(shared) {
            // A clone or a fetch has brought it; what it asks of signatures is asked before it is worked on.
            try enforcePolicy(of: state.index, graph, head: shared, beyond: state.head)
        }
        let own = try ownBranch(on: named, state)
        if let own { try requireRef(of: own, state) }
        if let own, let head = try refs.commit(of: own.headRefID) {
            guard let shared, shared != head, try store.holds(shared), try graph.isAncestor(head, of: shared) else {
                return BranchStart(own: own, head: head)
            }
            return BranchStart(own: own, head: shared, moves: head)
        }
        guard let head = shared, try store.holds(head) else {
            throw VaultError(
                .revisionNotFound, "the commits of the branch '\(named.name)' were never fetched here",
                hint: "vaultctl switch --fetch \(named.name)")
        }
        return BranchStart(own: try ownRecord(for: named), head: head, isNew: true)
    }

    /// A new branch of this clone on a named one.
    private func ownRecord(for named: BranchRecord) throws(VaultError) -> BranchRecord {
        let random = environment.random
        return try decoding("naming the branch") { () throws(FormatError) in
            BranchRecord(
                branchID: try BranchID.randomClone(using: random), name: "clone-\(named.name)".cut(to: 64),
                type: .clone, headRefID: try RefID.random(.clone, using: random), publicKeyID: nil,
                createdAtMs: commitTimeMs(), creatorBranch: named.branchID)
        }
    }

    /// Names the branch that this clone works on.
    func workOn(_ id: BranchID, scratch: ScratchArea) throws(VaultError) {
        var state = try loadState()
        guard state.index.branch(id: id) != nil else {
            throw VaultError(.branchNotFound, "the branch \(id.text) is not in the branch index", object: id.text)
        }
        if !state.config.remoteHeadsFile, state.config.lastRemoteHead != nil {
            // The old form of the baseline is for one branch only.
            let ref = state.namedBranch.headRefID
            var heads = try RemoteHeads(files: files, config: state.config, tracked: ref)
            try heads.accept(heads[ref], for: ref, files: files, config: &state.config, scratch: scratch)
        }
        state.config.myBranchID = id.text
        try files.write(CloneConfig.fileName, state.config.json, scratch: scratch)
    }

    // MARK: Looking

    private func named(_ name: String, _ index: BranchIndex) throws(VaultError) -> BranchRecord {
        guard let branch = index.branches.first(where: { $0.name == name && $0.type == .named }) else {
            throw VaultError(
                .branchNotFound, "there is no branch '\(name)' here", hint: "vaultctl branch --list", object: name)
        }
        return branch
    }

    /// This clone's newest branch on a named one whose private key is here.
    private func ownBranch(on named: BranchRecord, _ state: CloneState) throws(VaultError) -> BranchRecord? {
        let candidates = state.index.branches.filter { $0.type == .clone && $0.creatorBranch == named.branchID }
            .sorted { ($0.createdAtMs, $0.branchID.text) > ($1.createdAtMs, $1.branchID.text) }
        for branch in candidates {
            guard let key = branch.publicKeyID else { continue }
            let isHere = try attempt("cannot look for signing keys") { () throws(Errno) in
                try layout.local.statusIfPresent(of: "\(key.text).pem".bytes) != nil
            }
            if isHere { return branch }
        }
        return nil
    }

    /// The head of a branch with what this clone has committed to it; of a clone's own branch its ref alone.
    func localHead(of branch: BranchRecord, _ state: CloneState) throws(VaultError) -> ObjectID? {
        if branch.branchID == state.namedBranch.branchID { return state.head }
        let shared = try refs.commit(of: branch.headRefID)
        guard branch.type == .named, let own = try ownBranch(on: branch, state) else { return shared }
        try requireRef(of: own, state)
        guard let head = try refs.commit(of: own.headRefID)
        else { return shared }
        guard let shared, shared != head, try store.holds(shared) else { return head }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        return try graph.isAncestor(head, of: shared) ? shared : head
    }

    // MARK: Own records

    private static var hiddenName: String { "hidden-branches.json" }
    private static var unpushedName: String { OwnRecord.unpushedBranches }
    private static var previousName: String { "previous-branch.json" }

    private func branchIDs(in name: String) throws(VaultError) -> Set<String> {
        Set((try files.readOwn(name)?["branches"]?.items ?? []).compactMap(\.text))
    }

    private func record(_ ids: Set<String>, in name: String, _ scratch: ScratchArea) throws(VaultError) {
        guard !ids.isEmpty else { return try files.removeOwn(name) }
        try files.writeOwn(
            name, [JSONMember(name: "branches", value: .array(ids.sorted().map { .string($0) }))], scratch: scratch)
    }

    /// The ids of branches that were made here and never pushed.
    func unpushedBranches() throws(VaultError) -> Set<String> { try branchIDs(in: Self.unpushedName) }

    func recordUnpushed(_ ids: Set<String>, scratch: ScratchArea) throws(VaultError) {
        try record(ids, in: Self.unpushedName, scratch)
    }

    /// Notes that others know a branch from now on.
    func recordPushed(_ branch: BranchRecord, scratch: ScratchArea) throws(VaultError) {
        var unpushed = try branchIDs(in: Self.unpushedName)
        guard unpushed.remove(branch.branchID.text) != nil else { return }
        try record(unpushed, in: Self.unpushedName, scratch)
    }
}

extension String {
    /// The first bytes of an ASCII text.
    fileprivate func cut(to count: Int) -> String { String(decoding: utf8.prefix(count), as: UTF8.self) }
}
