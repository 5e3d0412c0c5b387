internal import VaultFormat

/// Merges the trees of two commits and stores what comes of it.
struct Merger {
    let vault: Vault
    let trees: TreeReader
    let batch: ObjectBatch
    let deflates: Bool
    /// Merge the lines of texts that both sides changed.
    let mergesTexts: Bool
    /// Take names that differ in case only for conflicts.
    var separatesCases = true

    /// A merge of two trees, staged in the batch.
    struct Outcome: Sendable {
        /// The tree with the changes of both sides, ours where they conflict.
        var tree: ObjectID
        var conflicts: [MergeConflict]
        /// The same tree with their files beside the conflicting ones; what the working copy is to hold.
        var withCopies: ObjectID
    }

    func merge(base: ObjectID?, ours: ObjectID, theirs: ObjectID) throws -> Outcome {
        var result = try ThreeWayMerge(trees: trees, separatesCases: separatesCases).merge(
            base: base, ours: ours, theirs: theirs)
        if mergesTexts {
            try requireTexts(result.conflicts)
            try mergeTexts(&result)
        }
        let editor = TreeEditor(trees: trees, cipher: vault.cipher, batch: batch)
        let tree = try editor.apply(result.edits, carrying: result.carried, to: ours)
        let staged = vault.treeReader(StagedStore(store: vault.store, batch: batch))
        // A tracked file that has such a name stays what it is; theirs can still be shown and chosen.
        let copies = try result.copies.filter { copy in
            var place: VaultPath? = copy.path
            while let path = place {
                if let taken = try staged.entry(path, in: tree) {
                    if path == copy.path { return false }
                    if case .file = taken { return false }
                }
                place = path.parent
            }
            return true
        }
        let withCopies = try TreeEditor(trees: staged, cipher: vault.cipher, batch: batch).apply(copies, to: tree)
        return Outcome(tree: tree, conflicts: result.conflicts, withCopies: withCopies)
    }

    /// What a merge by lines reads, asked for at once.
    private func requireTexts(_ conflicts: [MergeConflict]) throws(VaultError) {
        let entries = conflicts.lazy.filter {
            !$0.isFileAndFolder && $0.base != nil && $0.ours != nil && $0.theirs != nil
        }
        .flatMap { conflict in
            [conflict.base, conflict.ours, conflict.theirs].compactMap { $0 }
                .filter { $0.size <= Int64(TextMerge.sizeLimit) }.map { (path: conflict.path, entry: $0) }
        }
        try vault.store.require(entries)
    }

    /// Takes the conflicts out that a merge by lines settles.
    private func mergeTexts(_ result: inout ThreeWayMerge.Result) throws {
        var settled: Set<VaultPath> = []
        let writer = BlobWriter(
            cipher: vault.cipher, batch: batch, random: vault.environment.random, deflates: deflates)
        for conflict in result.conflicts where !conflict.isFileAndFolder {
            guard let base = try text(conflict.base), let ours = try text(conflict.ours),
                let theirs = try text(conflict.theirs),
                let merged = TextMerge.merge(base: base, ours: ours, theirs: theirs)
            else { continue }
            let entry = try writer.store(merged).entry(contentType: ContentType.guess(name: conflict.path.lastSegment))
            result.edits.append(TreeEditor.Edit(path: conflict.path, entry: entry))
            settled.insert(conflict.path)
        }
        guard !settled.isEmpty else { return }
        result.conflicts.removeAll { settled.contains($0.path) }
        let copies = Set(settled.map { $0.copied(for: $0) })
        result.copies.removeAll { copies.contains($0.path) }
        result.edits.sort { $0.path < $1.path }
    }

    private func text(_ entry: FileEntry?) throws -> [UInt8]? {
        guard let entry, entry.size <= Int64(TextMerge.sizeLimit) else { return nil }
        return try BlobReader(store: vault.store, cipher: vault.cipher).text(entry)
    }
}

extension BlobReader {
    /// The content of a file that is text of a size to be merged; nil for any other.
    func text(_ entry: FileEntry) throws -> [UInt8]? {
        guard entry.size <= Int64(TextMerge.sizeLimit) else { return nil }
        var bytes: [UInt8] = []
        var isSmall = true
        try stream(entry) { chunk in
            isSmall = isSmall && bytes.count + chunk.count <= TextMerge.sizeLimit
            guard isSmall else { return }
            for index in chunk.indices { bytes.append(chunk[index]) }
        }
        return isSmall && TextMerge.isText(bytes) ? bytes : nil
    }
}
