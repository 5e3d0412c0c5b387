internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Makes a commit that takes the changes of an earlier one back (spec 10 B.13).
    ///
    /// A merge of the head with the state before that commit, over that commit; texts are merged line by line.
    ///
    /// - Throws: `conflicts` when later commits changed the same, `refused` for a merge and for a commit that the head
    ///   does not contain, `dirtyTree`, `mergeInProgress`. Nothing has changed then.
    public func revert(
        _ revision: String, message: String? = nil, observer: any Observer = SilentObserver()
    ) throws -> RevertResult {
        try requireWritable("revert")
        try checkMessage(message)
        let lock = try lockWithoutRecovery()
        let begun = try settle(lock, asking: "revert")
        try refuseDuringMerge()
        let state = try loadState()
        try Self.checkWritable(state.index)
        try refusePacks(state.config, "revert")
        guard let branch = state.cloneBranch else {
            throw VaultError(.branchNotFound, "this clone has no branch of its own to commit to", hint: "clone again")
        }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        // Named by somebody who saw the command fail, and with it the head before its move.
        var before = state
        if let begun { before.head = begun.from }
        let target = try RevisionResolver(vault: self, state: before, graph: graph).resolve(revision)
        guard let head = state.head, try graph.isAncestor(target, of: head) else {
            throw VaultError(
                .refused, "\(revision) is not in the history of this branch", hint: "vaultctl log", object: target.text)
        }
        let undone = try graph.commit(target)
        guard undone.parents.count < 2 else {
            throw VaultError(
                .refused, "\(revision) is a merge: which of its sides is to be taken back is not known",
                hint: "revert the commits of one side", object: target.text)
        }
        let batch = newBatch(width: state.idWidth, scratch: lock.scratch)
        let trees = treeReader(StagedStore(store: store, batch: batch))
        let earlier =
            if let parent = undone.parents.first {
                try graph.tree(of: parent)
            } else {
                try TreeEditor(trees: trees, cipher: cipher, batch: batch).apply([], to: nil)
            }
        let ours = try graph.tree(of: head)
        let merged = try Merger(
            vault: self, trees: trees, batch: batch, deflates: state.deflatesBlobs,
            mergesTexts: true
        ).merge(base: graph.tree(of: target), ours: ours, theirs: earlier)
        guard merged.conflicts.isEmpty else {
            let shown = merged.conflicts.prefix(5).map(\.path.description).joined(separator: ", ")
            throw VaultError(
                .conflicts,
                "later commits changed \(shown)\(merged.conflicts.count > 5 ? " and more" : "") as well; "
                    + "nothing was changed",
                hint: "change these files by hand and commit", path: merged.conflicts.first?.path.description)
        }
        var result = RevertResult(
            commit: nil, branch: state.namedBranch.name, changes: Changes(), kept: Changes(), notWritten: [])
        guard merged.tree != ours else {
            // Begun by the command before, and finished now.
            if let begun {
                try recordOwnHead(begun.to, ref: begun.ref, scratch: lock.scratch)
                result.commit = try describe(begun.to, graph.commit(begun.to), index: state.index)
            }
            return result
        }
        let key = try commitKey(branch, state.index, observer: observer)
        let text = try message ?? Self.revertMessage(try self.message(of: undone), target)
        let (id, commit) = try CommitBuilder(cipher: cipher, random: environment.random, branch: branch, key: key)
            .build(tree: merged.tree, parents: [head], message: text, timeMs: commitTimeMs(), batch: batch)
        try batch.commit()
        let move = WorkingCopyMove(
            vault: self, state: state, graph: graph, trees: treeReader(),
            scratch: lock.scratch, observer: observer)
        let scratch = lock.scratch
        let outcome = try move.run(to: id, verb: "revert") {
            try moveRef(state.headRef, from: head, to: id, scratch: scratch)
        }
        try recordOwnHead(id, ref: state.headRef, scratch: scratch)
        result.commit = try describe(id, commit, index: state.index)
        (result.changes, result.kept, result.notWritten) = (
            outcome.changes, outcome.kept, outcome.notStored
        )
        return result
    }

    /// The reference's words.
    static func revertMessage(_ message: String, _ id: ObjectID) -> String {
        let subject = message.isEmpty ? id.text : String(message.prefix { !$0.isNewline })
        // The format holds 740 bytes; 200 characters may be four bytes each, so the subject is cut by bytes.
        var shown = ""
        for character in subject.prefix(200) {
            guard shown.utf8.count + character.utf8.count <= 600 else { break }
            shown.append(character)
        }
        return "Revert \"\(shown)\"\n\nThis reverts commit \(id.text)."
    }
}
