internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Gives the commits of a revision or range, newest first, until `body` returns false.
    ///
    /// - Throws: `revisionNotFound`, `objectMissing`, `objectCorrupt`, and what `body` throws.
    public func log(_ options: LogOptions = LogOptions(), _ body: (LogEntry) throws -> Bool) throws {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let resolver = RevisionResolver(vault: self, state: state, graph: graph)
        let trees = TreeReader(store: store, cipher: cipher)
        let checker = SignatureChecker(refs: refs, cipher: cipher, index: state.index)
        guard let range = try range(options.revision, resolver, state, graph) else { return }
        var entries: [LogEntry] = []
        var count = 0
        // Signatures are checked on all cores, some commits at a time.
        var block: [(id: ObjectID, commit: CommitObject)] = []
        let blockSize = options.checkSignatures ? 64 : 1
        func deliver() throws -> Bool {
            defer { block.removeAll(keepingCapacity: true) }
            let ready = block
            var signatures: [SignatureStatus?] = ready.map { _ in nil }
            if options.checkSignatures {
                signatures = try environment.pool.map(count: ready.count) { checker.status(of: ready[$0].commit) }
            }
            for ((id, commit), signature) in zip(ready, signatures) {
                var entry = LogEntry(commit: try describe(id, commit, index: state.index, signature: signature))
                if options.includeChanges {
                    entry.changes = TreeDiff.changes(
                        try differences(id, commit, graph, trees).filter { !$0.isSameContent })
                }
                if options.reverse { entries.append(entry) } else if try !body(entry) { return false }
            }
            return true
        }
        let walk = HistoryWalk(
            graph: graph, firstParent: options.firstParent, isLazy: options.limit != nil && range.included == nil)
        try walk.run(from: range.starts, within: range.included) { (id, commit) in
            if let limit = options.limit, count >= limit { return false }
            if !options.paths.isEmpty, try !touches(id, commit, options.paths, graph, trees) { return true }
            count += 1
            block.append((id, commit))
            return block.count < blockSize ? true : try deliver()
        }
        guard try deliver() else { return }
        for entry in entries.reversed() where try !body(entry) { return }
    }

    /// What a revision, or `REVISION:PATH`, is.
    ///
    /// - Throws: `revisionNotFound`, `pathNotFound`.
    public func show(_ spec: String, checkSignature: Bool = false) throws -> ShowResult {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = TreeReader(store: store, cipher: cipher)
        let resolver = RevisionResolver(vault: self, state: state, graph: graph)
        if let colon = spec.firstIndex(of: ":") {
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
        let commit = try graph.commit(id)
        let checker = SignatureChecker(refs: refs, cipher: cipher, index: state.index)
        let info = try describe(
            id, commit, index: state.index, signature: checkSignature ? checker.status(of: commit) : nil)
        let found = try differences(id, commit, graph, trees)
        let files = found.map { item in
            ChangedFile(
                path: item.path, status: item.old == nil ? .added : item.new == nil ? .deleted : .modified,
                sizeBefore: item.old?.size, sizeAfter: item.new?.size)
        }
        return .commit(LogEntry(commit: info, changes: TreeDiff.changes(found)), files: files)
    }

    /// Where a log starts and, for a range, what it is confined to; nil when there is no commit at all.
    ///
    /// `A..B` is what B has and A has not, `A...B` what B has beyond its merge base with A (spec 10 B.12).
    private func range(
        _ revision: String?, _ resolver: RevisionResolver, _ state: CloneState, _ graph: CommitGraph
    ) throws -> (starts: [ObjectID], included: Set<ObjectID>?)? {
        guard let revision else { return state.head.map { ([$0], nil) } }
        // A word with a slash is no range, but for remote branches on either side.
        let names = revision.contains("/") ? try savedRemotes().map(\.name) + [Self.originName] : []
        let isPath = names.reduce(revision) { $0.replacing($1 + "/", with: "") }.contains("/")
        guard !isPath, let dots = revision.firstRange(of: "..") else {
            return ([try resolver.resolve(revision)], nil)
        }
        let isFromBase = revision[dots.upperBound...].hasPrefix(".")
        let left = String(revision[..<dots.lowerBound])
        let right = String(revision[dots.upperBound...].dropFirst(isFromBase ? 1 : 0))
        let from = try resolver.resolve(left.isEmpty ? "HEAD" : left)
        let to = try resolver.resolve(right.isEmpty ? "HEAD" : right)
        let base = isFromBase ? try graph.mergeBase(from, to) : from
        return ([to], try graph.exclusive(to, not: base))
    }

    private func differences(
        _ id: ObjectID, _ commit: CommitObject, _ graph: CommitGraph, _ trees: TreeReader
    ) throws(VaultError) -> [TreeDifference] {
        var parentTree: ObjectID?
        if let parent = commit.parents.first, try store.holds(parent) { parentTree = try graph.tree(of: parent) }
        return try TreeDiff(trees: trees).files(parentTree, commit.tree(of: id))
    }

    /// Whether a commit changes one of the paths against every parent; a merge that takes one side does not.
    private func touches(
        _ id: ObjectID, _ commit: CommitObject, _ paths: [VaultPath], _ graph: CommitGraph, _ trees: TreeReader
    ) throws -> Bool {
        let tree = try commit.tree(of: id)
        let parents = try commit.parents.filter { try store.holds($0) }.map { try graph.tree(of: $0) }
        return try paths.contains { path in
            let here = try trees.entry(path, in: tree)
            if parents.isEmpty { return here != nil }
            return try parents.allSatisfy { try trees.entry(path, in: $0) != here }
        }
    }

    static func noPath(_ path: VaultPath, _ commit: ObjectID) -> VaultError {
        VaultError(
            .pathNotFound, "\(path) is not in \(commit.text)", hint: "vaultctl ls -r", path: path.description)
    }
}
