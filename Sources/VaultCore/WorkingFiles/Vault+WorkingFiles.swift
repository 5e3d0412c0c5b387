public import VaultFormat
internal import VaultSystem

extension Vault {
    /// Takes tracked files out of the vault, effective at the next commit (spec 10 B.13).
    ///
    /// * `recursive`: Folders too, with all that is tracked in them.
    /// * `cached`: Leave the files on disk. Commits leave them out from then on, until one names them.
    /// - Returns: The files.
    /// - Throws: `pathNotFound` for what is not tracked, `refused` for a folder without `recursive`, `dirtyTree` for
    ///   files with uncommitted edits, and where a link or a special file stands in their place. Nothing has changed
    ///   then.
    public func removeFiles(
        _ paths: [VaultPath], recursive: Bool = false, cached: Bool = false,
        observer: any Observer = SilentObserver()
    ) throws -> [VaultPath] {
        let lock = try lockForFiles("remove files")
        let state = try loadState()
        try refusePacks(state.config, "remove files")
        let (trees, head) = try headTree(state)
        var found: [VaultPath: FileEntry] = [:]
        for path in paths {
            switch try head.flatMap({ (id) throws(VaultError) in try trees.entry(path, in: id) }) {
            case .file(let entry)?: found[path] = entry
            case .folder(let id)?:
                guard recursive else {
                    throw VaultError(
                        .refused, "\(path) is a folder", hint: "vaultctl rm -r removes folders", path: path.description)
                }
                for file in try trees.files(id, in: path) { found[file.path] = file.entry }
            case nil: throw Self.notTracked(path)
            }
        }
        let removed = found.keys.sorted()
        try requireHeld(removed, "nothing was removed")
        let notStored = try notStored()
        var leftOut = try leftOut(state)
        // That a file is not on disk does not tell a commit that it was removed, where it never was there.
        let recorded =
            try cached
            ? removed : removed.filter { try notStored.contains($0) || (part.isSparse && kind($0) == nil) }
        if !cached {
            let differences = removed.map { TreeDifference(path: $0, old: found[$0], new: nil) }
            let blobs = BlobReader(store: store, cipher: cipher)
            let edit = WorkingEdit(
                vault: self, scratch: lock.scratch, observer: observer, incoming: blobs, outgoing: blobs)
            let plan = try edit.prepare(differences)
            let files = Set(plan.remove.map(\.path))
            try refuseKept(removed.filter { !files.contains($0) })
            _ = try edit.finish(plan, of: differences)
        }
        if !recorded.isEmpty {
            leftOut.pending.formUnion(recorded)
            try leftOut.write(files, scratch: lock.scratch)
        }
        return removed
    }

    /// Gives tracked files or folders of the working copy another place or name; also such that the next commit tracks,
    /// as one is that was moved already.
    ///
    /// * `destination`: A folder, or for one source a name that nothing has yet; nil means the vault's root.
    /// - Returns: Where each source went.
    /// - Throws: `pathNotFound` for what no commit takes or is not on disk, `refused` when something stands at the
    ///   destination, or when commits would leave the files out there. Nothing has changed then.
    public func moveFiles(
        _ sources: [VaultPath], to destination: VaultPath?
    ) throws -> [(from: VaultPath, to: VaultPath)] {
        let lock = try lockForFiles("move files")
        let state = try loadState()
        try refusePacks(state.config, "move files")
        let (trees, head) = try headTree(state)
        var moves: [(from: VaultPath, to: VaultPath)] = []
        var added: [VaultPath]?
        let isFolder = try destination.map { try kind($0) == .directory } ?? true
        for source in sources {
            if try head.flatMap({ (id) throws(VaultError) in try trees.entry(source, in: id) }) == nil {
                let files = try added ?? addedFiles(state, head, trees)
                added = files
                guard files.contains(where: { $0.isAtOrBelow(source) }) else { throw Self.notTracked(source) }
            }
            guard let kind = try kind(source), kind == .regular || kind == .directory else {
                throw VaultError(.pathNotFound, "\(source) is not on disk", path: source.description)
            }
            guard isFolder || sources.count == 1 else {
                throw VaultError(.refused, "several files can be moved into a folder only")
            }
            let target: VaultPath
            if isFolder {
                target = try decoding("the destination") { () throws(FormatError) in
                    try VaultPath.joining(destination, source.lastSegment)
                }
            } else {
                guard let destination else { continue }
                target = destination
            }
            guard !target.isAtOrBelow(source) else {
                throw VaultError(.refused, "\(source) can not be moved into itself", path: source.description)
            }
            guard try self.kind(target) == nil, !moves.contains(where: { $0.to == target }) else {
                throw VaultError(.refused, "there is something at \(target) already", path: target.description)
            }
            guard try target.parent.map({ try self.kind($0) == .directory }) ?? true else {
                throw VaultError(
                    .pathNotFound, "there is no folder \(target.parent?.description ?? "") to move to",
                    path: target.description)
            }
            moves.append((source, target))
        }
        try refuseLeavingOut(moves, state, trees, head, added ?? [])
        var done: [(from: VaultPath, to: VaultPath)] = []
        do {
            for move in moves {
                try rename(move.from, to: move.to)
                done.append(move)
            }
        } catch {
            for move in done.reversed() { try? rename(move.to, to: move.from) }
            throw error
        }
        _ = consume lock
        return moves
    }

    /// Refuses paths at which, or on the way to which, something stands that no commit looks at: they would stay tracked.
    private func refuseKept(_ paths: [VaultPath]) throws(VaultError) {
        for path in paths {
            var place: VaultPath?
            for segment in path.segments {
                let next = place.map { $0.child(segment) } ?? VaultPath(unchecked: segment)
                let kind = try kind(next)
                if kind == .directory {
                    place = next
                    continue
                }
                guard let kind, kind != .regular else { break }
                throw VaultError(
                    .dirtyTree,
                    "a link or a special file stands at \(next), so \(path) would stay in the vault; nothing was changed",
                    hint: "move it away, or use vaultctl rm --cached", path: path.description)
            }
        }
    }

    /// Refuses moves by which files would leave the vault: where rules keep untracked files out of commits.
    private func refuseLeavingOut(
        _ moves: [(from: VaultPath, to: VaultPath)], _ state: CloneState, _ trees: TreeReader, _ head: ObjectID?,
        _ added: [VaultPath]
    ) throws {
        let (rules, leftOut) = (try ignoreRules(state).rules, try leftOut(state))
        func check(_ path: VaultPath) throws(VaultError) {
            guard rules.reason(for: path, isFolder: false) != nil || leftOut.contains(path) else { return }
            throw VaultError(
                .refused, "commits leave \(path) out, so what is moved there would leave the vault; nothing was moved",
                hint: "vaultctl check-ignore -v tells the rule", path: path.description)
        }
        for move in moves {
            switch try head.flatMap({ (id) throws(VaultError) in try trees.entry(move.from, in: id) }) {
            case .folder(let id)?: for file in try trees.files(id) { try check(move.to.joined(file.path)) }
            case .file?: try check(move.to)
            case nil:
                for file in added where file.isAtOrBelow(move.from) {
                    try check(VaultPath(unchecked: move.to.bytes + file.bytes.dropFirst(move.from.bytes.count)))
                }
            }
        }
    }

    /// The files that no commit has yet and the next one takes.
    private func addedFiles(
        _ state: CloneState, _ head: ObjectID?, _ trees: TreeReader
    ) throws -> [VaultPath] {
        let tracked =
            try head.map { (id) throws(VaultError) in try trackedFiles(in: id, trees: trees) }
            ?? StatCache(tree: nil, entries: [])
        var changes = try look(tracked)
        try leftOut(state).apply(to: &changes, taking: [])
        return changes.added.map(\.path)
    }

    private func lockForFiles(_ what: String) throws -> CloneLock {
        try requireWritable(what)
        guard mode == .full else {
            throw VaultError(.refused, "a bare clone has no working copy to \(what) in", path: root)
        }
        return try lock(settling: true)
    }

    private func headTree(_ state: CloneState) throws(VaultError) -> (trees: TreeReader, tree: ObjectID?) {
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        return (
            treeReader(),
            try state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
        )
    }

    private static func notTracked(_ path: VaultPath) -> VaultError {
        VaultError(.pathNotFound, "\(path) is not tracked", hint: "vaultctl ls", path: path.description)
    }

    /// What stands at a path of the working copy; nil when nothing does.
    func kind(_ path: VaultPath) throws(VaultError) -> FileKind? {
        try attempt("cannot look at \(path)", path: path.description) { () throws(Errno) in
            do throws(Errno) {
                return try layout.root.openDirectory(beneath: path.parent?.bytes ?? []).status(of: path.lastSegment)
                    .kind
            } catch {
                switch error {
                case .noSuchFile, .notADirectory, .tooManyLinks, .nameTooLong: return nil
                default: throw error
                }
            }
        }
    }

    private func rename(_ from: VaultPath, to target: VaultPath) throws(VaultError) {
        try attempt("cannot move \(from)", path: from.description) { () throws(Errno) in
            let source = try layout.root.openDirectory(beneath: from.parent?.bytes ?? [])
            let folder = try layout.root.openDirectory(beneath: target.parent?.bytes ?? [])
            try source.rename(from.lastSegment, to: folder, as: target.lastSegment, replacing: false)
            try folder.sync()
            try source.sync()
        }
    }
}
