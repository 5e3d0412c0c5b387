internal import VaultFormat
internal import VaultSystem

/// The working copy during a merge: files of either side put into it, the copies of theirs taken out of it.
///
/// Every step may be repeated: the merge's record changes last.
struct MergeFiles {
    let vault: Vault
    let scratch: ScratchArea
    let observer: any Observer
    let sides: MergeSides

    init(vault: Vault, scratch: ScratchArea, observer: any Observer) throws(VaultError) {
        guard vault.mode == .full else {
            throw VaultError(.refused, "this clone has no working copy to merge in", path: vault.root)
        }
        self.vault = vault
        self.scratch = scratch
        self.observer = observer
        sides = try MergeSides(vault: vault)
    }

    // MARK: Ending

    func abort() throws -> MergeAbort {
        guard sides.state.head == sides.merge.ours else {
            throw VaultError(
                .mergeInProgress,
                "the branch has moved since the merge began, so there is no way back to its beginning",
                hint: "vaultctl merge --continue")
        }
        let given = try sides.givenTree(scratch)
        let conflicts = Set(sides.merge.paths)
        let copies = Set(conflicts.map { $0.copied(for: $0) })
        // What was there before the merge began is not its own.
        let touched = try TreeDiff(trees: sides.trees).files(sides.ours, given)
            .filter { !sides.merge.kept.contains($0.path) }
        var removed: [VaultPath] = []
        var written: [CheckoutItem] = []
        // Edits made since to what merged without a conflict are a person's work.
        var careful: [TreeDifference] = []
        let selection = vault.part.isSparse ? try Selection.read(vault.files) : nil
        for item in touched {
            let isCopy = item.old == nil && item.path.isAtOrBelow(oneOf: copies)
            let isPlain = !isCopy && !conflicts.contains(item.path)
            let isLeftOut = try item.old.map { try self.isLeftOut(item.path, $0, selection) } ?? false
            if isPlain, isLeftOut, try mark(item.path) == nil { continue }
            if isPlain, try mark(item.path) != nil {
                careful.append(TreeDifference(path: item.path, old: item.new, new: item.old))
            } else if let old = item.old, !isLeftOut {
                written.append(CheckoutItem(path: item.path, entry: old))
            } else {
                removed.append(item.path)
            }
        }
        let plan = try CheckoutGuard(
            root: vault.layout.root, blobs: BlobReader(store: vault.store, cipher: vault.cipher),
            pool: vault.environment.pool
        ).plan(careful)
        // What was decided since goes back too.
        var names = Set(written.map(\.path))
        for path in sides.merge.paths {
            for item in try sides.files(at: path, in: sides.ours) where names.insert(item.path).inserted {
                if try isLeftOut(item.path, item.entry, selection) {
                    removed.append(item.path)
                } else {
                    written.append(item)
                }
            }
            removed += try sides.files(at: path, in: sides.theirs).map(\.path).filter { !names.contains($0) }
        }
        // One that was begun has put it aside already.
        let stash =
            try sides.merge.isEnding
            ? nil : keepHandiwork(at: written.map(\.path) + removed, given)
        // From here on there is no way but to its end, also for the command after one that died.
        var record = sides.merge
        record.isEnding = true
        try record.write(vault.files, scratch: scratch)
        try put(
            written + plan.write.map { CheckoutItem(path: $0.path, entry: $0.entry) },
            removing: removed + plan.remove.map(\.path))
        try MergeState.remove(vault.files)
        return MergeAbort(restored: touched.map(\.path), stash: stash)
    }

    /// Puts aside what was written at conflicting paths since the merge began: no commit has it.
    private func keepHandiwork(at paths: [VaultPath], _ given: ObjectID) throws -> StashInfo? {
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: sides.state.config.shallowBoundaries)
        let comparer = FileComparer(vault: vault, graph: graph, trees: sides.trees)
        let contents = CheckoutGuard(
            root: vault.layout.root, blobs: BlobReader(store: vault.store, cipher: vault.cipher),
            pool: vault.environment.pool)
        var own: [VaultPath] = []
        for path in Set(paths).sorted() where try mark(path) != nil {
            guard let hash = try comparer.hashOfFile(path) else { continue }
            let isKnown = try [given, sides.ours, sides.theirs].contains { tree in
                guard let entry = try sides.trees.entry(path, in: tree)?.file else { return false }
                return try contents.contentHash(entry) == hash
            }
            if !isKnown { own.append(path) }
        }
        return try vault.shelve(
            own, message: "merge --abort", sides.state, sides.trees, scratch: scratch)
    }

    /// Whether a file of the head was not in the working copy of a sparse clone when the merge began.
    private func isLeftOut(
        _ path: VaultPath, _ entry: FileEntry, _ selection: Selection?
    ) throws(VaultError) -> Bool {
        guard let selection else { return false }
        return try !vault.isWritten(path, entry.blobID, selection)
    }

    // MARK: Resolving

    func resolve(_ choice: Resolution, _ paths: [VaultPath]?) throws -> [Conflict] {
        guard !sides.merge.isEnding else {
            throw VaultError(.mergeInProgress, "the merge was being ended", hint: "vaultctl merge --abort")
        }
        let chosen = paths ?? sides.merge.conflicts
        var conflicts: [MergeConflict] = []
        for path in chosen { conflicts.append(try sides.conflict(path)) }
        if case .content = choice, chosen.count != 1 {
            throw VaultError(.usage, "one content is for one path")
        }
        var merge = sides.merge
        var decided: [Conflict] = []
        for conflict in conflicts { try decide(conflict, choice) }
        // Once for all: until then the same decisions may be made again.
        let settled = Set(chosen)
        merge.conflicts.removeAll { settled.contains($0) }
        merge.resolved = Set(merge.resolved).union(settled).sorted()
        try merge.write(vault.files, scratch: scratch)
        for path in chosen {
            var described = try sides.described(path)
            described.isResolved = true
            decided.append(described)
        }
        return decided
    }

    private func decide(_ conflict: MergeConflict, _ choice: Resolution) throws {
        let path = conflict.path
        // A tracked file of such a name is no copy.
        let copies = try sides.files(at: path, in: sides.theirs).map { $0.path.copied(for: path) }.filter { copy in
            try sides.trees.entry(copy, in: sides.ours) == nil && sides.trees.entry(copy, in: sides.theirs) == nil
        }
        switch choice {
        case .ours, .theirs:
            let isOurs = if case .ours = choice { true } else { false }
            let (wanted, other) = isOurs ? (sides.ours, sides.theirs) : (sides.theirs, sides.ours)
            let items = try sides.files(at: path, in: wanted)
            let names = Set(items.map(\.path))
            let others = try sides.files(at: path, in: other).map(\.path).filter { !names.contains($0) }
            try put(items, removing: others + copies)
        case .union:
            let blobs = BlobReader(store: vault.store, cipher: vault.cipher)
            guard !conflict.isFileAndFolder, let ours = try conflict.ours.flatMap({ try blobs.text($0) }),
                let theirs = try conflict.theirs.flatMap({ try blobs.text($0) })
            else {
                throw VaultError(
                    .refused, "\(path) is not a text on both sides, so there is no union of it", path: path.description)
            }
            let base = try conflict.base.flatMap { try blobs.text($0) } ?? []
            guard let union = TextMerge.merge(base: base, ours: ours, theirs: theirs, union: true) else {
                throw VaultError(.refused, "\(path) has too many lines for a union", path: path.description)
            }
            try put(union, at: path)
            try put([], removing: copies)
        case .content(let bytes):
            try put(bytes, at: path)
            try put([], removing: copies)
        case .workingFile: try put([], removing: copies)
        }
    }

    // MARK: Files

    /// Removes files, and then writes others in place of whatever file stands at their paths.
    private func put(_ items: [CheckoutItem], removing removed: [VaultPath]) throws {
        let checkout = Checkout(
            root: vault.layout.root, scratch: scratch,
            blobs: BlobReader(store: vault.store, cipher: vault.cipher), pool: vault.environment.pool,
            observer: observer, failPoints: vault.environment.failPoints)
        var removals: [CheckoutRemoval] = []
        for path in removed {
            guard let mark = try mark(path) else { continue }
            removals.append(CheckoutRemoval(path: path, expected: mark))
        }
        try checkout.remove(removals)
        let writes = try items.sorted { $0.path < $1.path }.map { item in
            var item = item
            if let mark = try mark(item.path) { item.expected = .file(mark) }
            return item
        }
        let outcome = try checkout.write(writes)
        try checkout.sync(writes.map(\.path), removed: removed)
        guard outcome.notStored.isEmpty else {
            let all = try vault.notStored().union(outcome.notStored.map { VaultPath(unchecked: $0.path) })
            return try vault.recordNotStored(all, scratch: scratch)
        }
    }

    /// Writes bytes at a path, in folders that are made where they are absent; a file that is there keeps its mode.
    private func put(_ bytes: [UInt8], at path: VaultPath) throws {
        let name = path.lastSegment
        let (failure, place) = ("cannot write \(path)", path.description)
        let (folder, existing) = try attempt(failure, path: place) { () throws(Errno) in
            var folder = vault.layout.root
            for segment in path.parent?.segments ?? [] {
                folder = try folder.openDirectory(segment, creatingWith: 0o777)
            }
            return (folder, try folder.statusIfPresent(of: name))
        }
        var pending = try PendingFile(in: scratch, replacing: existing)
        try attempt(failure, path: place) { () throws(Errno) in
            try pending.file.write(bytes.span)
            try pending.file.sync()
            try pending.publish(as: name, in: folder, replacing: existing != nil)
            try folder.sync()
        }
    }

    /// The numbers of the plain file at a path; nil when there is none.
    private func mark(_ path: VaultPath) throws -> FileMark? {
        try attempt("cannot look at \(path)", path: path.description) { () throws(Errno) in
            do throws(Errno) {
                let folder = try vault.layout.root.openDirectory(beneath: path.parent?.bytes ?? [])
                let status = try folder.status(of: path.lastSegment)
                return status.kind == .regular ? FileMark(status) : nil
            } catch {
                switch error {
                case .noSuchFile, .notADirectory, .tooManyLinks, .nameTooLong: return nil
                default: throw error
                }
            }
        }
    }
}
