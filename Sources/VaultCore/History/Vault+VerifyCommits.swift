internal import VaultFormat

extension Vault {
    /// Checks the signatures of commits, newest first.
    ///
    /// * `revisions`: Which, or ranges of them; none means the head. A tag is followed only when it verifies itself.
    /// * `all`: Also of everything they reach. No commit is given twice.
    /// * `body`: Gets every commit with its `signature`.
    /// - Throws: `revisionNotFound`, `objectMissing`, `objectCorrupt`, `signatureBad` for such a tag, and what `body`
    ///   throws.
    public func verifyCommits(
        _ revisions: [String] = [], all: Bool = false, _ body: (CommitInfo) throws -> Void
    ) throws -> SignatureCounts {
        var counts = SignatureCounts()
        var seen: Set<ObjectID> = []
        let revisions = revisions.isEmpty ? ["HEAD"] : revisions
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let resolver = RevisionResolver(vault: self, state: state, graph: graph)
        for revision in revisions {
            let isWhole = try all || resolver.range(revision) != nil
            let options = LogOptions(revision: revision, limit: isWhole ? nil : 1, checkSignatures: true)
            try log(options) { entry in
                guard revisions.count == 1 || seen.insert(entry.commit.id).inserted else { return true }
                counts.count(entry.commit.signature ?? .unsigned)
                try body(entry.commit)
                return true
            }
        }
        return counts
    }
}
