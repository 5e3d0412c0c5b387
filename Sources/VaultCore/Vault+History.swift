internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Gives the commits of a revision or range, newest first, until `body` returns false.
    ///
    /// No commit comes before any of its children. With a limit, without a range and a graph, no more of history is read
    /// than is asked for; of the children of one commit one with a wrong clock may then come after it.
    ///
    /// - Throws: `revisionNotFound`, `usage` (a pattern that is no regular expression), `objectMissing`, `objectCorrupt`,
    ///   and what `body` throws.
    public func log(_ options: LogOptions = LogOptions(), _ body: (LogEntry) throws -> Bool) throws {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let teller = EntryTeller(
            vault: self, index: state.index, graph: graph,
            comparer: FileComparer(vault: self, graph: graph, trees: trees), options: options)
        let filter = try CommitFilter(options, vault: self, index: state.index, graph: graph, trees: trees)
        let resolver = RevisionResolver(vault: self, state: state, graph: graph)
        guard let range = try span(options.revision, resolver, state, graph) else { return }
        var drawing: GraphDrawing? = options.includeGraph && !options.reverse ? GraphDrawing() : nil
        // Signatures are checked on all cores, some commits at a time.
        var block: [(id: ObjectID, graph: LogGraph?)] = []
        let blockSize = options.checkSignatures ? 64 : 1
        func deliver() throws -> Bool {
            defer { block.removeAll(keepingCapacity: true) }
            for entry in try teller.entries(block) where try !body(entry) { return false }
            return true
        }
        func take(_ id: ObjectID, _ graph: LogGraph?) throws -> Bool {
            block.append((id, graph))
            return block.count < blockSize ? true : try deliver()
        }
        var backwards: [ObjectID] = []
        var count = 0
        let walk = HistoryWalk(
            graph: graph, firstParent: options.firstParent,
            isLazy: options.limit != nil && range.included == nil && drawing == nil)
        try walk.run(from: range.starts, within: range.included) { (id, commit, parents) in
            if let limit = options.limit, count >= limit { return false }
            let isShown = try filter.matches(id, commit)
            let graph = drawing?.add(id, parents: parents, isShown: isShown)
            guard isShown else { return true }
            count += 1
            if options.reverse {
                backwards.append(id)
                return true
            }
            return try take(id, graph)
        }
        for id in backwards.reversed() where try !take(id, nil) { return }
        _ = try deliver()
    }

    /// Refuses where a log, told with what each commit changed, would need contents that are not here; for work
    /// that gives out its results as they come.
    ///
    /// * `withFiles`: The contents of the changed files are told as well.
    /// - Throws: `objectMissing` for all of them.
    public func requireLog(_ options: LogOptions, withFiles: Bool) throws {
        _ = try loadState()
        guard part.isPartial else { return }
        var first: VaultError?
        var missing: Set<ObjectID> = []
        try log(options) { entry in
            do {
                if withFiles { try entry.requireFiles(DiffOptions(paths: options.paths)) }
            } catch let error as VaultError where error.code == .objectMissing {
                first = first ?? error
                missing.formUnion(error.missing)
            }
            return true
        }
        if let first { throw first.lacking(missing.sorted()) }
    }

    /// The commits at which history ends in a shallow clone; none where all of it is here.
    public func historyEnds() throws -> [ObjectID] {
        try loadState().config.shallowBoundaries.sorted()
    }

    /// What a revision, `REVISION:PATH` or a tag is.
    ///
    /// - Throws: `revisionNotFound`, `pathNotFound`, `signatureBad` (a tag that does not verify).
    public func show(_ spec: String, checkSignature: Bool = false) throws -> ShowResult {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let resolver = RevisionResolver(vault: self, state: state, graph: graph)
        let named = spec.hasPrefix("tag:") ? spec.dropFirst(4) : spec[...]
        if let colon = named.firstIndex(of: ":") {
            let revision = String(spec[..<colon])
            let id = try resolver.resolve(revision.isEmpty ? "HEAD" : revision)
            let rest = String(spec[spec.index(after: colon)...])
            guard !rest.isEmpty else { return .folder(nil, commit: id) }
            let path = try decoding("'\(rest)'") { () throws(FormatError) in try VaultPath(rest) }
            switch try trees.entry(path, in: graph.tree(of: id)) {
            case .file?: return .file(path, commit: id)
            case .folder?: return .folder(path, commit: id)
            case nil: throw Self.noPath(path, id)
            }
        }
        let id = try resolver.resolve(spec)
        let options = LogOptions(checkSignatures: checkSignature, includeChanges: true)
        let teller = EntryTeller(
            vault: self, index: state.index, graph: graph,
            comparer: FileComparer(vault: self, graph: graph, trees: trees), options: options)
        let entry = try teller.entry(id)
        if let tag = try resolver.tag(spec) { return .tag(tag, entry) }
        return .commit(entry)
    }

    /// Where a log starts and, for a range, what it is confined to; nil when there is no commit at all.
    ///
    /// `A..B` is what B has and A has not, `A...B` what B has beyond its merge base with A (spec 10 B.12).
    private func span(
        _ revision: String?, _ resolver: RevisionResolver, _ state: CloneState, _ graph: CommitGraph
    ) throws -> (starts: [ObjectID], included: Set<ObjectID>?)? {
        guard let revision else { return state.head.map { ([$0], nil) } }
        guard let range = try resolver.range(revision) else { return ([try resolver.resolve(revision)], nil) }
        return ([range.to], try graph.exclusive(range.to, not: range.from))
    }

    static func noPath(_ path: VaultPath, _ commit: ObjectID) -> VaultError {
        VaultError(
            .pathNotFound, "\(path) is not in \(commit.text)", hint: "vaultctl ls -r", path: path.description)
    }
}

/// Makes the entries of a log.
private struct EntryTeller {
    let vault: Vault
    let index: BranchIndex
    let graph: CommitGraph
    let comparer: FileComparer
    let options: LogOptions
    private let checker: SignatureChecker

    init(vault: Vault, index: BranchIndex, graph: CommitGraph, comparer: FileComparer, options: LogOptions) {
        self.vault = vault
        self.index = index
        self.graph = graph
        self.comparer = comparer
        self.options = options
        checker = SignatureChecker(refs: vault.refs, cipher: vault.cipher, index: index)
    }

    func entry(_ id: ObjectID) throws -> LogEntry {
        try entries([(id, nil)])[0]
    }

    func entries(_ block: [(id: ObjectID, graph: LogGraph?)]) throws -> [LogEntry] {
        let commits = try block.map { try graph.commit($0.id) }
        var signatures: [SignatureStatus?] = commits.map { _ in nil }
        if options.checkSignatures {
            let checker = checker
            signatures = try vault.environment.pool.map(count: commits.count) { checker.status(of: commits[$0]) }
        }
        var result: [LogEntry] = []
        for (position, (id, graph)) in block.enumerated() {
            let info = try vault.describe(id, commits[position], index: index, signature: signatures[position])
            var entry = LogEntry(commit: info, graph: graph, comparer: comparer)
            if options.includeChanges { try tell(of: id, &entry) }
            result.append(entry)
        }
        return result
    }

    private func tell(of id: ObjectID, _ entry: inout LogEntry) throws {
        var changes = Changes()
        for item in try comparer.items(of: id, below: []) {
            switch item.status {
            case .added: changes.added.append(item.path)
            case .modified: changes.modified.append(item.path)
            case .deleted: changes.deleted.append(item.path)
            case .renamed:
                entry.renamed.append(RenamedFile(oldPath: item.oldPath ?? item.path, path: item.path))
            }
        }
        entry.changes = changes
    }
}
