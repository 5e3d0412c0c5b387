internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A merge that waits for a person (spec 03 §2.4): `local/merge_state.json`, which the reference reads and writes as
/// well, and beside it what only this program needs, in `local/vaultctl/merge.json`.
struct MergeState: Sendable, Equatable {
    /// The head that the merge began at; nil in files of old versions that do not tell.
    var ours: ObjectID?
    /// The commit that is merged.
    var theirs: ObjectID?
    var base: ObjectID?
    var startedMs: Int64
    /// Paths that need a decision.
    var conflicts: [VaultPath]
    var resolved: [VaultPath]
    /// The tree that the working copy was given; nil for a merge that another program began.
    var given: ObjectID?
    /// Paths that held what the merge would have written before it began.
    var kept: Set<VaultPath> = []
    /// The message of the commit to come.
    var message: String?
    /// It is being ended; only that can go on.
    var isEnding = false

    static let fileName = "merge_state.json"
    private static let ownName = "merge.json"

    /// Every path that conflicted.
    var paths: [VaultPath] { (conflicts + resolved).sorted() }

    // MARK: Reading

    /// - Throws: `objectCorrupt` for a file that does not tell what is merged, or names a path that is none: a conflict
    ///   that is passed over would be lost with the next commit.
    static func read(_ files: LocalFiles) throws(VaultError) -> MergeState? {
        guard let value = try files.readObject(fileName) else { return nil }
        let (ours, theirs) = (
            try id(["ours_commit_id", "clone_commit_id"], value),
            try id(["theirs_commit_id", "named_commit_id"], value)
        )
        var own = try files.readOwn(ownName)
        // What another merge left is not this one's.
        if theirs == nil || own?["theirs"]?.text != theirs?.text || own?["ours"]?.text != ours?.text { own = nil }
        let names = MergePathNames(own)
        let listed = try texts(value["conflict_paths"])
        let legacy = listed.isEmpty ? try texts(value["conflicts"]) : []
        let (conflicts, resolved) = try names.paths(
            conflicts: listed.isEmpty ? legacy : listed, resolved: texts(value["resolved_paths"]), damaged)
        var state = MergeState(
            ours: ours, theirs: theirs, base: try id(["lca_id"], value), startedMs: value["started_at"]?.int ?? 0,
            conflicts: conflicts, resolved: resolved)
        if let own {
            state.given = own["given"]?.text.flatMap { try? ObjectID($0) }
            state.kept = Set(MergePathNames.decoded(own["kept"]))
            state.message = own["message"]?.text
            state.isEnding = own["ending"]?.boolean == true
        }
        return state
    }

    /// The first of several members that holds an id; nil where they are absent or empty.
    private static func id(_ names: [String], _ value: JSONValue) throws(VaultError) -> ObjectID? {
        for name in names {
            guard let member = value[name: name], member != .null, member != .string("") else { continue }
            guard let text = member.text, let id = try? ObjectID(text) else { throw damaged("\(name) is no object id") }
            return id
        }
        return nil
    }

    /// The names in a list, or, in files of old versions, those of the members of an object.
    private static func texts(_ value: JSONValue?) throws(VaultError) -> [String] {
        switch value {
        case nil, .null?: return []
        case .object(let members)?: return members.map(\.name)
        case .array(let items)?:
            var texts: [String] = []
            for item in items {
                guard let text = item.text else { throw damaged("a path is no text") }
                texts.append(text)
            }
            return texts
        default: throw damaged("the paths are no list")
        }
    }

    private static func damaged(_ why: String) -> VaultError {
        VaultError(
            .objectCorrupt, "local/\(fileName) does not read: \(why)",
            hint: "vaultctl fsck", path: "local/\(fileName)")
    }

    // MARK: Writing

    /// Stores both files; the shared one last, for it is what makes a merge.
    func write(_ files: LocalFiles, scratch: ScratchArea) throws(VaultError) {
        func texts(_ paths: [VaultPath]) -> JSONValue { .array(paths.map { .string(MergePathNames.text($0)) }) }
        try files.writeOwn(
            Self.ownName,
            [
                JSONMember(name: "ours", value: .optional(ours?.text)),
                JSONMember(name: "theirs", value: .optional(theirs?.text)),
                JSONMember(name: "given", value: .optional(given?.text)),
                JSONMember(name: "message", value: .optional(message)),
                JSONMember(name: "ending", value: .bool(isEnding)),
                JSONMember(name: "kept", value: MergePathNames.encoded(kept.sorted())),
                JSONMember(name: "paths", value: MergePathNames.encoded(paths)),
                JSONMember(name: "resolved", value: MergePathNames.encoded(resolved)),
            ], scratch: scratch)
        try files.write(
            Self.fileName,
            .object([
                JSONMember(name: "schema_version", value: .integer(1)),
                JSONMember(name: "ours_commit_id", value: .string(ours?.text ?? "")),
                JSONMember(name: "theirs_commit_id", value: .string(theirs?.text ?? "")),
                JSONMember(name: "lca_id", value: .string(base?.text ?? "")),
                // The reference has whole seconds.
                JSONMember(name: "started_at", value: .integer(startedMs / 1000 * 1000)),
                JSONMember(name: "conflict_paths", value: texts(conflicts)),
                JSONMember(name: "resolved_paths", value: texts(resolved)),
            ]), scratch: scratch)
    }

    // MARK: Ending

    /// Refuses a commit that would end a merge which is not ready.
    func requireReady(
        for options: CommitOptions, at head: ObjectID?, _ graph: CommitGraph
    ) throws(VaultError) {
        guard !isEnding else {
            throw VaultError(.mergeInProgress, "the merge was being ended", hint: "vaultctl merge --abort")
        }
        if let first = conflicts.first {
            let more = conflicts.count > 1 ? " and \(conflicts.count - 1) more" : ""
            throw VaultError(
                .conflicts, "the merge has unresolved conflicts: \(first)\(more)", hint: "vaultctl resolve --list",
                path: first.description)
        }
        guard options.paths.isEmpty, !options.amend else {
            throw VaultError(
                .mergeInProgress, "a merge is in progress, and its commit takes everything",
                hint: "vaultctl merge --continue")
        }
        var goesOn = theirs != nil
        if let ours, let head, ours != head {
            // The reference takes no lock and commits during a merge.
            goesOn = try graph.isAncestor(ours, of: head)
        }
        guard goesOn else {
            throw VaultError(
                .mergeInProgress, "the branch has moved since the merge began; its commit would undo that",
                hint: "finish or abort it with the tool that started it")
        }
    }

    /// Ends a merge; the shared file goes first.
    static func remove(_ files: LocalFiles) throws(VaultError) {
        try files.remove(fileName)
        try files.removeOwn(ownName)
    }
}

extension Vault {
    /// The merge in progress; nil when there is none.
    ///
    /// A state that a commit of this merge left behind, because its command died, counts as none.
    func mergeState() throws(VaultError) -> MergeState? {
        guard let merge = try MergeState.read(files) else { return nil }
        guard let theirs = merge.theirs, let state = try? loadState(), let head = state.head, head != merge.ours,
            (try? CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
                .isAncestor(theirs, of: head)) == true
        else { return merge }
        return nil
    }

    /// Refuses what would get in the way of a merge that waits.
    func refuseDuringMerge() throws(VaultError) {
        guard try mergeState() != nil else { return }
        throw VaultError(
            .mergeInProgress, "a merge is in progress", hint: "vaultctl merge --continue, or vaultctl merge --abort")
    }
}
