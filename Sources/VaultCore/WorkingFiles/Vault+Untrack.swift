internal import VaultCrypto
public import VaultFormat
internal import VaultSystem

/// The answer of `Vault.untrackFolder`.
public struct UntrackResult: Sendable {
    /// The commit.
    public var commit: CommitInfo
    /// The named branch that is worked on.
    public var branch: String
    /// The files that are not tracked any more; those on disk stay there.
    public var removed: [VaultPath]
    /// The line that was added to `.gitignore`; nil when a rule ignored the folder already.
    public var rule: String?
}

extension Vault {
    /// Takes a folder out of the vault in one commit and leaves its files on disk; a rule that ignores it is added where
    /// there is none (spec 10 B.13).
    ///
    /// Earlier commits keep what they have.
    ///
    /// - Throws: `pathNotFound` when nothing is tracked there, `dirtyTree` for a `.gitignore` with uncommitted edits,
    ///   `refused` for a name that no plain rule can stand for, `mergeInProgress`, `readOnlyClone`. Nothing has changed
    ///   then.
    public func untrackFolder(
        _ folder: VaultPath, message: String? = nil, sign: Bool = true, observer: any Observer = SilentObserver()
    ) throws -> UntrackResult {
        try requireWritable("commit")
        guard mode == .full else {
            throw VaultError(.refused, "a bare clone has no files to keep", hint: "vaultctl rm in a clone", path: root)
        }
        try checkMessage(message)
        let lock = try lock(settling: true)
        try refuseDuringMerge()
        let state = try loadState()
        try Self.checkWritable(state.index)
        try refusePacks(state.config, "commit")
        try requireHeld([folder], "nothing was changed")
        guard let branch = state.cloneBranch else {
            throw VaultError(.branchNotFound, "this clone has no branch of its own to commit to", hint: "clone again")
        }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let batch = newBatch(width: state.idWidth, scratch: lock.scratch)
        let trees = treeReader(StagedStore(store: store, batch: batch))
        guard let head = state.head, case .folder(let id)? = try trees.entry(folder, in: graph.tree(of: head)) else {
            throw VaultError(
                .pathNotFound, "\(folder) is no folder of the vault", hint: "vaultctl ls", path: folder.description)
        }
        let base = try graph.tree(of: head)
        let removed = try trees.files(id, in: folder).map(\.path)
        var edits = removed.map { TreeEditor.Edit(path: $0, entry: nil) }
        var changed: [TreeDifference] = []
        let rules = try newRules(for: folder, in: base, trees, state)
        if let rules {
            let writer = BlobWriter(
                cipher: cipher, batch: batch, random: environment.random, deflates: state.deflatesBlobs)
            let entry = try writer.store(rules.content).entry(contentType: ContentType.guess(name: Self.rulesName))
            edits.append(TreeEditor.Edit(path: Self.rulesPath, entry: entry))
            changed = [TreeDifference(path: Self.rulesPath, old: rules.old, new: entry)]
        }
        edits.sort { $0.path < $1.path }
        let tree = try TreeEditor(trees: trees, cipher: cipher, batch: batch).apply(edits, to: base)
        let key = try commitKey(branch, state.index, signs: sign, observer: observer)
        let (commit, object) = try CommitBuilder(cipher: cipher, random: environment.random, branch: branch, key: key)
            .build(
                tree: tree, parents: [head], message: message ?? "Stop tracking \(folder)/", timeMs: commitTimeMs(),
                batch: batch)
        try batch.commit()
        let blobs = BlobReader(store: store, cipher: cipher)
        let edit = WorkingEdit(vault: self, scratch: lock.scratch, observer: observer, incoming: blobs, outgoing: blobs)
        // Looks at .gitignore again: what was written into it since it was read stays.
        _ = try edit.finish(edit.prepare(changed), of: changed)
        do {
            try moveRef(state.headRef, from: head, to: commit, scratch: lock.scratch)
        } catch {
            // Another program moved the head.
            if error.code == .remoteMoved {
                let back = changed.map { TreeDifference(path: $0.path, old: $0.new, new: $0.old) }
                _ = try? edit.finish(edit.prepare(back), of: back)
            }
            throw error
        }
        try recordCheckout(added: rules == nil ? [] : [Self.rulesPath], removed: removed, scratch: lock.scratch)
        try recordOwnHead(commit, ref: state.headRef, scratch: lock.scratch)
        return UntrackResult(
            commit: try describe(commit, object, index: state.index), branch: state.namedBranch.name,
            removed: removed, rule: rules?.line)
    }

    private static var rulesName: [UInt8] { ".gitignore".bytes }
    private static var rulesPath: VaultPath { VaultPath(unchecked: rulesName) }

    /// `.gitignore` with a line for the folder; nil when a rule ignores it already.
    private func newRules(
        for folder: VaultPath, in tree: ObjectID, _ trees: TreeReader, _ state: CloneState
    ) throws -> (content: [UInt8], line: String, old: FileEntry?)? {
        let (rules, _) = try ignoreRules(state)
        var place: VaultPath? = folder
        while let next = place {
            if rules.reasonForFolder(next.bytes) != nil { return nil }
            place = next.parent
        }
        let disk = try attempt("cannot read .gitignore", path: ".gitignore") { () throws(Errno) in
            try layout.root.contents(Self.rulesName, limit: Limits.ignoreFile)
        }
        let entry = try trees.entry(Self.rulesPath, in: tree)?.file
        let hash = try disk.map { bytes in
            ContentHash(digest: try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) })
        }
        guard hash == entry?.contentHash else {
            throw VaultError(
                .dirtyTree, ".gitignore has uncommitted changes; nothing was changed",
                hint: "vaultctl commit .gitignore",
                path: ".gitignore")
        }
        var content = disk ?? []
        if let last = content.last, last != 0x0A { content.append(0x0A) }
        content += folder.bytes + "/\n".bytes
        guard
            try decoding(".gitignore", { () throws(FormatError) in try IgnoreRules(gitignore: content) })
                .reasonForFolder(folder.bytes) != nil
        else {
            throw VaultError(
                .refused, "no plain rule stands for \(folder); nothing was changed",
                hint: "write a rule into .gitignore, commit it, and run the command again", path: folder.description)
        }
        return (content, "\(PathQuoting.text(folder.bytes))/", entry)
    }
}
