internal import VaultFormat

/// The conditions of a log, the cheap ones first.
struct CommitFilter {
    private let vault: Vault
    private let index: BranchIndex
    private let graph: CommitGraph
    private let trees: TreeReader
    private let options: LogOptions
    private let pattern: Regex<AnyRegexOutput>?
    private let author: String?

    /// - Throws: `usage` for a pattern that is no regular expression.
    init(_ options: LogOptions, vault: Vault, index: BranchIndex, graph: CommitGraph, trees: TreeReader) throws {
        self.vault = vault
        self.index = index
        self.graph = graph
        self.trees = trees
        self.options = options
        author = options.ignoresCase ? options.author?.lowercased() : options.author
        pattern = try options.messagePattern.map { text in
            do {
                let plain = try Regex(text).anchorsMatchLineEndings().matchingSemantics(.unicodeScalar)
                return options.ignoresCase ? plain.ignoresCase() : plain
            } catch {
                throw VaultError(.usage, "'\(text)' is no regular expression", cause: error)
            }
        }
    }

    /// Whether every condition holds.
    func matches(_ id: ObjectID, _ commit: CommitObject) throws -> Bool {
        switch options.merges {
        case .included: break
        case .only: guard commit.parents.count > 1 else { return false }
        case .excluded: guard commit.parents.count < 2 else { return false }
        }
        if let since = options.sinceMs, commit.timestampMs < since { return false }
        if let until = options.untilMs, commit.timestampMs > until { return false }
        if author != nil, !isByAuthor(commit) { return false }
        if let pattern, try vault.message(of: commit).firstMatch(of: pattern) == nil { return false }
        return try options.paths.isEmpty || touches(id, commit)
    }

    private func isByAuthor(_ commit: CommitObject) -> Bool {
        guard let author else { return true }
        let branch = commit.branchID.flatMap { text in index.branches.first { $0.branchID.text == text } }
        return [branch?.name, commit.branchID, commit.authorKeyID].contains { text in
            guard let text else { return false }
            return (options.ignoresCase ? text.lowercased() : text).contains(author)
        }
    }

    /// Whether a commit changes one of the paths against every parent; a merge that takes one side does not.
    private func touches(_ id: ObjectID, _ commit: CommitObject) throws -> Bool {
        let tree = try commit.tree(of: id)
        let parents = try commit.parents.filter { try vault.store.holds($0) }.map { try graph.tree(of: $0) }
        return try options.paths.contains { path in
            let here = try trees.entry(path, in: tree)
            if parents.isEmpty { return here != nil }
            return try parents.allSatisfy { try trees.entry(path, in: $0) != here }
        }
    }
}
