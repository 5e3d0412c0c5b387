internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Puts uncommitted work aside, untracked files included, and gives the working copy the state of the head.
    ///
    /// The work is on disk, encrypted with the read key, before the first file changes.
    ///
    /// - Returns: Nil when there was nothing to put aside.
    /// - Throws: `mergeInProgress`, `permissionDenied` for what can not be read, `dirtyTree` for a file that changed
    ///   while this ran. Nothing has changed then.
    public func stash(message: String? = nil, observer: any Observer = SilentObserver()) throws -> StashInfo? {
        try requireStashable("stash")
        let begun = (try? StashJournal.read(files)) ?? nil
        let lock = try lock(settling: true)
        try refuseDuringMerge()
        let state = try loadState()
        try refusePacks(state.config, "stash")
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        var edits = try look(trackedFiles(of: state.head, graph: graph, trees: trees))
        if let path = edits.unreadable.first?.path {
            throw unreadable(path, isTracked: edits.isTracked(path))
        }
        let notStored = try notStored()
        edits.deleted.removeAll { notStored.contains($0.path) }
        let leftOut = try leftOut(state)
        edits.added.removeAll { leftOut.contains($0.path) }
        guard !edits.paths.isEmpty else {
            // The same command again, after one that was interrupted and is finished now.
            return begun.flatMap { $0.verb == "stash" ? info($0.name) : nil }
        }
        return try putAside(
            edits, before: "stash", message: message, state, graph, trees, scratch: lock.scratch, observer: observer)
    }

    /// The stashes, the newest first.
    public func stashes() throws -> [StashInfo] {
        try StashShelf(vault: self).all().enumerated().map { $1.info($0) }
    }

    /// Drops a stash for good.
    ///
    /// * `expected`: What was seen under this number: another command may have made or dropped one since.
    /// - Throws: `revisionNotFound` when there is none of that number, `refused` when it is not the expected one.
    @discardableResult
    public func dropStash(_ number: Int = 0, expected: StashInfo? = nil) throws -> StashInfo {
        try requireStashable("drop a stash")
        let lock = try lock()
        let shelf = StashShelf(vault: self)
        let record = try shelf.record(number)
        if let expected, record.info(number) != expected {
            throw VaultError(
                .refused, "stash \(number) is another one by now; nothing was dropped", hint: "vaultctl stash list")
        }
        try shelf.remove(record)
        _ = consume lock
        return record.info(number)
    }

    /// Brings stashed work back into the working copy.
    ///
    /// Where the head has changed since, texts are merged line by line.
    ///
    /// * `drop`: Drop the stash once its work is back and durable.
    /// - Throws: `conflicts` when commits changed the same since, `dirtyTree` when uncommitted work is in the way,
    ///   `revisionNotFound`, `mergeInProgress`, `objectCorrupt`. Nothing has changed then, and the stash is kept.
    public func applyStash(
        _ number: Int = 0, drop: Bool = false, observer: any Observer = SilentObserver()
    ) throws -> StashApplied {
        try requireStashable("apply a stash")
        let lock = try lock(settling: true)
        try refuseDuringMerge()
        return try applyStash(number, drop: drop, scratch: lock.scratch, observer: observer)
    }

    /// The same for a command that holds the lock.
    func applyStash(
        _ number: Int, drop: Bool, scratch: ScratchArea, observer: any Observer
    ) throws -> StashApplied {
        try applyStash(StashShelf(vault: self).record(number), number, drop: drop, scratch: scratch, observer: observer)
    }

    /// The same for a stash that was looked up.
    func applyStash(
        _ listed: StashRecord, _ number: Int, drop: Bool, scratch: ScratchArea, observer: any Observer
    ) throws -> StashApplied {
        let state = try loadState()
        try refusePacks(state.config, "apply a stash")
        let shelf = StashShelf(vault: self)
        if let damage = listed.damage { throw damage }
        var record = listed
        let info = listed.info(number)
        var unpacked: [UInt8]?
        defer { if let unpacked { shelf.removeUnfinished(unpacked) } }
        let folder: any Directory
        if record.isOwn {
            folder = try shelf.folder(record.name)
        } else {
            let made = try shelf.newFolder(record.timeMs)
            unpacked = made.name
            folder = made.folder
            record = try shelf.unpack(record, into: folder, scratch)
        }
        let applying = StashMerge(vault: self, state: state, shelf: shelf, folder: folder, scratch: scratch)
        let (differences, merged) = try applying.differences(record)
        let edit = WorkingEdit(
            vault: self, scratch: scratch, observer: observer, incoming: shelf.blobs(in: folder),
            outgoing: BlobReader(store: store, cipher: cipher), syncsWhatIsThere: drop)
        let outcome = try edit.finish(edit.prepare(differences), of: differences)
        // What this file system can not hold is in the stash alone.
        let isDropped = drop && outcome.notStored.isEmpty
        // That one, whatever its number is by now: the reference takes no lock.
        if isDropped { try shelf.remove(listed) }
        return StashApplied(stash: info, isDropped: isDropped, merged: merged, notWritten: outcome.notStored)
    }

    func requireStashable(_ what: String) throws(VaultError) {
        try requireWritable(what)
        guard mode == .full else {
            throw VaultError(.refused, "a bare clone has no working copy, so there is nothing to \(what)", path: root)
        }
    }

    /// A stash under the number that it has now.
    private func info(_ name: [UInt8]) -> StashInfo? {
        let all = (try? StashShelf(vault: self).all()) ?? []
        return all.firstIndex { $0.isOwn && $0.name == name }.map { all[$0].info($0) }
    }

    /// Stores changes of the working copy and takes them out of it, all or, when it is interrupted before they are
    /// stored, none; from then on the next writing command goes on with it.
    ///
    /// * `verb`: The command that this is a part of.
    func putAside(
        _ edits: WorkingChanges, before verb: String, message: String?, _ state: CloneState, _ graph: CommitGraph,
        _ trees: TreeReader, scratch: ScratchArea, observer: any Observer
    ) throws -> StashInfo {
        let stash = try NewStash(self, scratch)
        do {
            let head = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
            var stashed: [StashedFile] = []
            var differences: [TreeDifference] = []
            func take(_ path: VaultPath, _ kind: StashedFile.Kind, _ entry: FileEntry?) throws {
                stashed.append(StashedFile(path: path, kind: kind, entry: entry))
                let old = try head.flatMap { (id) throws(VaultError) in try trees.entry(path, in: id) }?.file
                differences.append(TreeDifference(path: path, old: entry, new: old))
            }
            // What is gone since it was seen is a deletion, or nothing.
            for item in edits.added {
                if let entry = try stored(item.path, stash.writer) { try take(item.path, .added, entry) }
            }
            for item in edits.modified {
                let entry = try stored(item.path, stash.writer)
                try take(item.path, entry == nil ? .deleted : .modified, entry)
            }
            for item in edits.deleted { try take(item.path, .deleted, nil) }
            stashed.sort { $0.path < $1.path }
            differences.sort { $0.path < $1.path }
            let edit = WorkingEdit(
                vault: self, scratch: scratch, observer: observer,
                incoming: BlobReader(store: store, cipher: cipher), outgoing: stash.shelf.blobs(in: stash.folder))
            let plan = try edit.prepare(differences)
            try stash.batch.commit()
            let record = StashRecord(
                name: stash.name, timeMs: stash.timeMs, base: state.head, branch: state.namedBranch.name,
                message: message,
                files: stashed)
            try StashJournal(verb: verb, name: stash.name).write(files, scratch: scratch)
            try stash.shelf.seal(record, in: stash.folder, scratch)
            _ = try edit.finish(plan, of: differences) { try StashJournal.remove(files) }
            try StashJournal.remove(files)
            // The work is put aside, whatever becomes of the list.
            return info(stash.name) ?? record.info(0)
        } catch {
            // One that is sealed stays: the work may be nowhere else.
            if (try? stash.folder.statusIfPresent(of: "manifest".bytes)) == .some(nil) {
                stash.shelf.removeUnfinished(stash.name)
                try? StashJournal.remove(files)
            }
            throw error
        }
    }

    /// Stores files of the working copy as a stash on the head, and leaves them where they are.
    ///
    /// - Returns: Nil without files.
    func shelve(
        _ paths: [VaultPath], message: String, _ state: CloneState, _ trees: TreeReader, scratch: ScratchArea
    ) throws -> StashInfo? {
        guard !paths.isEmpty else { return nil }
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let head = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        let stash = try NewStash(self, scratch)
        do {
            let files = try paths.sorted().map { path in
                let old = try head.flatMap { (id) throws(VaultError) in try trees.entry(path, in: id) }
                return StashedFile(
                    path: path, kind: old?.file == nil ? .added : .modified, entry: try stored(path, stash.writer))
            }
            try stash.batch.commit()
            let record = StashRecord(
                name: stash.name, timeMs: stash.timeMs, base: state.head, branch: state.namedBranch.name,
                message: message,
                files: files)
            try stash.shelf.seal(record, in: stash.folder, scratch)
            return info(stash.name) ?? record.info(0)
        } catch {
            stash.shelf.removeUnfinished(stash.name)
            throw error
        }
    }

    /// Encrypts a file of the working copy; one that changes meanwhile is read again, at most three times.
    ///
    /// - Returns: Nil for one that is gone.
    private func stored(_ path: VaultPath, _ writer: BlobWriter) throws -> FileEntry? {
        do {
            return try present(path, writer)
        } catch let error as VaultError where isGone(path, after: error) {
            return nil
        }
    }

    private func present(_ path: VaultPath, _ writer: BlobWriter) throws -> FileEntry {
        let folder = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
            try layout.root.openDirectory(beneath: path.parent?.bytes ?? [])
        }
        for _ in 0..<3 {
            let file: any File
            let before: FileStatus
            do throws(Errno) {
                file = try folder.openFile(path.lastSegment)
                before = try file.status()
            } catch {
                throw VaultError.unreadable(error, path.bytes, isTracked: false)
            }
            guard before.kind == .regular else { break }
            let blob = try writer.store(file, sizeHint: before.size)
            let after = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
                try folder.status(of: path.lastSegment)
            }
            guard StatKey(before) == StatKey(after), blob.size == before.size else { continue }
            return blob.entry(contentType: ContentType.guess(name: path.lastSegment))
        }
        throw VaultError(
            .ioError, "\(path) kept changing while it was read", hint: "run the command again when it is quiet",
            path: path.description)
    }
}

/// Decides what applying a stash does to each path, where the head may have moved on since.
struct StashMerge {
    let vault: Vault
    let state: CloneState
    let shelf: StashShelf
    let folder: any Directory
    let scratch: ScratchArea

    /// What each path holds in the head and what it is to hold, and the paths whose texts were merged.
    ///
    /// - Throws: `conflicts`.
    func differences(_ record: StashRecord) throws -> (differences: [TreeDifference], merged: [VaultPath]) {
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        let trees = vault.treeReader()
        let head = try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        var base: ObjectID?
        if let id = record.base, try vault.store.holds(id) { base = try graph.tree(of: id) }
        func entry(_ path: VaultPath, _ tree: ObjectID?) throws(VaultError) -> FileEntry? {
            try tree.flatMap { (id) throws(VaultError) in try trees.entry(path, in: id) }?.file
        }
        let batch = shelf.batch(into: folder, scratch, width: .long)
        let writer = BlobWriter(
            cipher: vault.cipher, batch: batch, random: vault.environment.random, deflates: false)
        var differences: [TreeDifference] = []
        var merged: [VaultPath] = []
        var conflicts: [VaultPath] = []
        for file in record.files {
            let (now, before) = (try entry(file.path, head), try entry(file.path, base))
            if Self.same(file.entry, now) { continue }
            if Self.same(before, now) {
                differences.append(TreeDifference(path: file.path, old: now, new: file.entry))
            } else if let text = try mergedText(before, now, file.entry) {
                let new = try writer.store(text).entry(contentType: ContentType.guess(name: file.path.lastSegment))
                differences.append(TreeDifference(path: file.path, old: now, new: new))
                merged.append(file.path)
            } else {
                conflicts.append(file.path)
            }
        }
        guard conflicts.isEmpty else {
            let shown = conflicts.prefix(5).map(\.description).joined(separator: ", ")
            throw VaultError(
                .conflicts,
                "commits since the stash changed \(shown)\(conflicts.count > 5 ? " and more" : "") as well; "
                    + "nothing was changed and the stash is kept",
                hint: "vaultctl switch -c NAME --from REV, with the commit the stash was made on, and apply it there",
                path: conflicts.first?.description)
        }
        try batch.commit()
        return (differences, merged)
    }

    private static func same(_ left: FileEntry?, _ right: FileEntry?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): left.holdsSameContent(as: right)
        default: false
        }
    }

    private func mergedText(_ base: FileEntry?, _ ours: FileEntry?, _ theirs: FileEntry?) throws -> [UInt8]? {
        guard let base, let ours, let theirs else { return nil }
        let blobs = BlobReader(store: vault.store, cipher: vault.cipher)
        guard let before = try blobs.text(base), let now = try blobs.text(ours),
            let stashed = try shelf.blobs(in: folder).text(theirs)
        else { return nil }
        return TextMerge.merge(base: before, ours: now, theirs: stashed)
    }
}

/// A stash in the making: its folder, and what writes contents into it.
private struct NewStash {
    let shelf: StashShelf
    let timeMs: Int64
    let name: [UInt8]
    let folder: any Directory
    let batch: ObjectBatch
    let writer: BlobWriter

    init(_ vault: Vault, _ scratch: ScratchArea) throws(VaultError) {
        shelf = StashShelf(vault: vault)
        timeMs = vault.environment.clock.nowMs
        (name, folder) = try shelf.newFolder(timeMs)
        batch = shelf.batch(into: folder, scratch, width: .long)
        writer = BlobWriter(cipher: vault.cipher, batch: batch, random: vault.environment.random, deflates: true)
    }
}
