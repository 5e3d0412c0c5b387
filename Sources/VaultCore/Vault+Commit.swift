internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Records the working copy as a commit of this clone's branch (spec 05 §5).
    ///
    /// Nothing is sent.
    ///
    /// - Returns: A result without a commit when there was nothing to record.
    /// - Throws: `mergeInProgress`, `secretInCommit`, `permissionDenied` for unreadable tracked files, `readOnlyClone`,
    ///   `usage` for a message over 740 bytes, `locked`, or an I/O error. Nothing has changed then.
    public func commit(_ options: CommitOptions = CommitOptions(), observer: any Observer = SilentObserver())
        throws -> CommitResult
    {
        try requireWritable("commit")
        guard mode == .full else {
            throw VaultError(.refused, "a bare clone has no working copy to commit", hint: "vaultctl write", path: root)
        }
        try checkMessage(options.message)
        let lock = try lock(settling: true)
        return try CommitOperation(vault: self, options: options, observer: observer, lock: lock).run()
    }

    /// Refuses a message that the format can not hold, and one with the vault's own key: whoever can read the vault
    /// could then write to it.
    func checkMessage(_ message: String?) throws(VaultError) {
        guard let message else { return }
        guard message.utf8.count <= Limits.metadataText else {
            throw VaultError(
                .usage, "the message has \(message.utf8.count) bytes; the format allows \(Limits.metadataText)")
        }
        let bytes = message.bytes
        guard try keyFinders().contains(where: { $0.finds(in: bytes.span) }) else { return }
        throw VaultError(
            .secretInCommit, "the message holds this vault's own key, so nothing was committed",
            hint: "write the message without the key")
    }

    /// Find the keys that no commit may hold: this vault's own, and the one that a rekey under way gives it.
    func keyFinders() throws(VaultError) -> [KeyFinder] {
        var finders: [KeyFinder] = []
        if let own = try keyFinder() { finders.append(own) }
        if let place = try RekeyPlace.open(self), let text = try Self.vaultKeyText(place.layout) {
            let next = text.withBytes { try? KeyFinder(keyText: $0) }
            if let next { finders.append(next) }
        }
        return finders
    }

    /// Finds this vault's key in text; nil when only the read key is at hand, or a damaged file in the key's place.
    func keyFinder() throws(VaultError) -> KeyFinder? {
        if let finder = keys.finder { return finder }
        guard mode == .full, let text = try Self.vaultKeyText(layout) else { return nil }
        let writeKey = keys.heldWriteKey
        return text.withBytes { try? KeyFinder(keyText: $0, writeKey: writeKey) }
    }
}

/// One run of `commit`.
private struct CommitOperation: ~Copyable {
    let vault: Vault
    let options: CommitOptions
    let observer: any Observer
    let lock: CloneLock

    func run() throws -> CommitResult {
        let state = try vault.loadState()
        try Vault.checkWritable(state.index)
        try vault.refusePacks(state.config, "commit")
        let merge = try vault.mergeState()
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: state.config.shallowBoundaries)
        let trees = vault.treeReader()
        try merge?.requireReady(for: options, at: state.head, graph)
        // A merge starts from what it gave the working copy, not from the head.
        let base =
            try merge == nil
            ? state.head.map { (id) throws(VaultError) in try graph.tree(of: id) }
            : MergeSides(vault: vault).decidedTree(lock.scratch)
        var tracked = StatCache(tree: nil, entries: [])
        if let base { tracked = try vault.trackedFiles(in: base, trees: trees) }
        observer.progress(Progress(phase: .scan, done: 0))
        var changes = try vault.look(tracked)
        try check(changes)
        let notStored = try vault.notStored()
        changes.deleted.removeAll { notStored.contains($0.path) }
        try vault.leftOut(state).apply(to: &changes, taking: options.paths)
        select(&changes)
        try vault.requireHeld(
            (changes.added + changes.modified).map(\.path), "nothing was committed")
        if !changes.changes.isEmpty || merge != nil {
            // Before everything is encrypted for nothing.
            try vault.requireSignable(ownBranch(state), state.index, signs: options.sign)
        }
        let batch = vault.newBatch(width: state.idWidth, scratch: lock.scratch)
        let (stored, gone) = try encrypt(changes, state: state, batch: batch)
        changes.vanished(gone)
        return try record(changes, stored, merge, base, state: state, graph: graph, trees: trees, batch: batch)
    }

    /// Refuses what can not be recorded truthfully.
    private func check(_ changes: WorkingChanges) throws(VaultError) {
        if let first = changes.unreadable.first(where: { isSelected($0.path) }) {
            throw vault.unreadable(first.path, isTracked: changes.isTracked(first.path))
        }
        if options.strict, let first = changes.skipped.first(where: { isSelected($0.path) }) {
            throw VaultError(
                .refused, "\(PathQuoting.text(first.path)) can not be stored (\(first.reason.rawValue))",
                hint: "remove it, or commit without --strict", path: PathQuoting.text(first.path))
        }
    }

    private func isSelected(_ path: [UInt8]) -> Bool {
        let path = VaultPath(unchecked: path)
        return options.paths.isEmpty || options.paths.contains { path.overlaps($0) }
    }

    private func select(_ changes: inout WorkingChanges) {
        guard !options.paths.isEmpty else { return }
        let paths = options.paths
        func outside(_ path: VaultPath) -> Bool { !paths.contains { path.isAtOrBelow($0) } }
        changes.added.removeAll { outside($0.path) }
        changes.modified.removeAll { outside($0.path) }
        changes.deleted.removeAll { outside($0.path) }
    }

    private struct Stored: Sendable {
        var path: VaultPath
        var blob: StoredBlob
        var stat: StatKey
        /// The content turned out to be what the head has.
        var isUnchanged: Bool
    }

    /// Encrypts added and modified files, several at once.
    ///
    /// - Returns: What was stored, and the files that went since they were seen.
    private func encrypt(
        _ changes: WorkingChanges, state: CloneState, batch: ObjectBatch
    ) throws -> (stored: [Stored], gone: [ScanResult.Candidate]) {
        let candidates = changes.added + changes.modified
        guard !candidates.isEmpty else { return ([], []) }
        let secrets = try SecretGuard(
            local: vault.layout.local, allowed: options.allowSecret,
            scansContent: try vault.settings().scansForSecrets, ownKeys: try vault.keyFinders())
        for candidate in candidates {
            try secrets.checkName(candidate.path)
            try secrets.checkIdentity(candidate.path, candidate.status)
        }
        let writer = BlobWriter(
            cipher: vault.cipher, batch: batch, random: vault.environment.random, deflates: state.deflatesBlobs)
        let done = Locked((files: 0, bytes: Int64(0)))
        let gone = Locked<[ScanResult.Candidate]>([])
        let observer = observer
        let root = vault.layout.root
        let tracked = changes.cache
        // Candidates of one folder stand together, so the folder of the last file is usually that of the next.
        let group = 32
        let groups = (candidates.count + group - 1) / group
        let parts = try vault.environment.pool.map(count: groups) { index -> [Stored] in
            var folder: (path: [UInt8], directory: any Directory)?
            var part: [Stored] = []
            for candidate in candidates[index * group..<min(candidates.count, (index + 1) * group)] {
                try batch.pool.checkCancellation()
                let parent = candidate.path.parent?.bytes ?? []
                let old = candidate.tracked.map { tracked.entries[$0] }
                let (blob, stat): (StoredBlob, StatKey)
                do {
                    let directory: any Directory
                    if let folder, folder.path == parent {
                        directory = folder.directory
                    } else {
                        directory = try attempt("cannot read \(candidate.path)", path: candidate.path.description) {
                            () throws(Errno) in try root.openDirectory(beneath: parent)
                        }
                        folder = (parent, directory)
                    }
                    (blob, stat) = try FileStorer(writer: writer, secrets: secrets).store(
                        candidate.path, in: directory)
                } catch let error as VaultError where vault.isGone(candidate.path, after: error) {
                    gone.withLock { $0.append(candidate) }
                    continue
                }
                part.append(
                    Stored(
                        path: candidate.path, blob: blob, stat: stat,
                        isUnchanged: old?.contentHash == blob.contentHash && old?.size == blob.size))
                let sum = done.withLock { done -> (Int, Int64) in
                    done.files += 1
                    done.bytes += blob.size
                    return (done.files, done.bytes)
                }
                observer.progress(
                    Progress(phase: .encrypt, done: sum.0, total: candidates.count, bytes: sum.1))
            }
            return part
        }
        return (parts.flatMap { $0 }.sorted { $0.path < $1.path }, gone.withLock { $0 })
    }

    private func record(
        _ changes: WorkingChanges, _ stored: [Stored], _ merge: MergeState?, _ base: ObjectID?, state: CloneState,
        graph: CommitGraph, trees: TreeReader, batch: ObjectBatch
    ) throws -> CommitResult {
        let headCommit = try state.head.map { (id) throws(VaultError) in try graph.commit(id) }
        var edits: [TreeEditor.Edit] = []
        var real = Changes(added: changes.added.map(\.path), deleted: changes.deleted.map(\.path))
        for item in stored where !item.isUnchanged {
            edits.append(
                TreeEditor.Edit(path: item.path, entry: item.blob.entry(contentType: contentType(item.path))))
            if changes.modified.contains(path: item.path) { real.modified.append(item.path) }
        }
        edits += changes.deleted.map { TreeEditor.Edit(path: $0.path, entry: nil) }
        edits.sort { $0.path < $1.path }
        let editor = TreeEditor(trees: trees, cipher: vault.cipher, batch: batch)
        let tree = try editor.apply(edits, to: base)
        let named = state.namedBranch.name
        var parents = try parents(state, headCommit)
        if let theirs = merge?.theirs, !parents.contains(theirs) { parents.append(theirs) }
        if tree == headCommit?.treeID, merge == nil, !options.allowEmpty, !(options.amend && options.message != nil) {
            updateCache(changes, stored, edits, tree: tree)
            return CommitResult(
                commit: nil, branch: named, changes: Changes(), skipped: changes.skipped, signed: false)
        }
        let key = try vault.commitKey(ownBranch(state), state.index, signs: options.sign, observer: observer)
        let builder = CommitBuilder(
            cipher: vault.cipher, random: vault.environment.random, branch: state.cloneBranch, key: key)
        let message = try message(real, amending: headCommit, merge, state)
        let (id, commit) = try builder.build(
            tree: tree, parents: parents, message: message, timeMs: vault.commitTimeMs(), batch: batch)
        try batch.commit()
        if merge != nil {
            // Told against the head, as of every commit.
            real = TreeDiff.changes(
                try TreeDiff(trees: trees).files(headCommit?.treeID, tree).filter { !$0.isSameContent })
        }
        try attempt("interrupted") { () throws(Errno) in try vault.environment.failPoints.hit(.commitBeforeRef) }
        try vault.moveRef(state.headRef, from: state.head, to: id, scratch: lock.scratch)
        // The commit is made: what can not be brought up to date now is put right by the commands that look at it.
        if merge != nil { try? MergeState.remove(vault.files) }
        try? vault.leftOut(state).committed(real, before: changes.cache, in: vault, scratch: lock.scratch)
        updateCache(changes, stored, edits, tree: tree)
        try? vault.recordOwnHead(id, ref: state.headRef, scratch: lock.scratch)
        try vault.recordCheckout(
            added: stored.map(\.path), removed: changes.deleted.map(\.path), scratch: lock.scratch)
        return CommitResult(
            commit: try vault.describe(id, commit, index: state.index), branch: named, changes: real,
            skipped: changes.skipped, signed: key != nil)
    }

    private func ownBranch(_ state: CloneState) throws(VaultError) -> BranchRecord {
        guard let branch = state.cloneBranch else {
            throw VaultError(.branchNotFound, "this clone has no branch of its own to commit to", hint: "clone again")
        }
        return branch
    }

    private func parents(_ state: CloneState, _ head: CommitObject?) throws(VaultError) -> [ObjectID] {
        guard options.amend else { return state.head.map { [$0] } ?? [] }
        guard let head, let id = state.head else {
            throw VaultError(.revisionNotFound, "there is no commit to amend")
        }
        guard head.parents.count < 2 else {
            throw VaultError(.refused, "a merge can not be amended", hint: "make another commit")
        }
        if try vault.isPublished(id, state: state) {
            throw VaultError(
                .refused, "the last commit has been pushed; amending it would rewrite what others have",
                hint: "make another commit")
        }
        return head.parents
    }

    private func message(
        _ changes: Changes, amending head: CommitObject?, _ merge: MergeState?, _ state: CloneState
    ) throws(VaultError) -> String {
        if let message = options.message, !message.isEmpty { return message }
        if let merge {
            return merge.message ?? "Merge \(state.namedBranch.name) into \(state.cloneBranch?.name ?? "local")"
        }
        if options.amend, let head { return try vault.message(of: head) }
        // The reference's own words (spec 02 §5.4), so that both tools' histories read alike.
        return "Commit: \(changes.added.count) added, \(changes.modified.count) modified, "
            + "\(changes.deleted.count) deleted"
    }

    private func contentType(_ path: VaultPath) -> String {
        ContentType.guess(name: path.lastSegment)
    }

    private func updateCache(
        _ changes: WorkingChanges, _ stored: [Stored], _ edits: [TreeEditor.Edit], tree: ObjectID
    ) {
        let proven = changes.racyAfterNs
        var cache = changes.cache
        // Both are in the order of their paths, and each edit that stores a file comes from one stored file.
        var next = 0
        cache.apply(edits, tree: tree) { path in
            while next < stored.count, stored[next].path < path { next += 1 }
            guard next < stored.count, stored[next].path == path, stored[next].stat.modifiedNs < proven else {
                return nil
            }
            return stored[next].stat
        }
        cache.store(layout: vault.layout, scratch: lock.scratch)
    }
}

extension [ScanResult.Candidate] {
    /// Whether a sorted list of candidates holds the path.
    fileprivate func contains(path: VaultPath) -> Bool {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].path < path { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].path == path
    }
}

/// Reads one file of the working copy, checks it for secrets and encrypts it.
struct FileStorer {
    let writer: BlobWriter
    let secrets: SecretGuard
    private static let attempts = 3

    init(writer: BlobWriter, secrets: SecretGuard) {
        self.writer = writer
        self.secrets = secrets
    }

    /// A file that changes while it is read is read again, at most three times (spec 03 §5).
    func store(_ path: VaultPath, in folder: any Directory) throws -> (StoredBlob, StatKey) {
        for _ in 0..<Self.attempts {
            let (file, before) = try open(path, in: folder)
            guard before.kind == .regular else {
                throw VaultError(
                    .refused, "\(path) was replaced by something that is not a file while it was read",
                    hint: "run the command again", path: path.description)
            }
            try secrets.checkIdentity(path, before)
            let blob = try store(path, file, size: before.size)
            try secrets.checkCopy(path, digest: blob.digest)
            let after = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
                try folder.status(of: path.lastSegment)
            }
            if StatKey(before) == StatKey(after), blob.size == before.size { return (blob, StatKey(after)) }
        }
        throw VaultError(
            .ioError, "\(path) kept changing while it was read", hint: "run the command again when it is quiet",
            path: path.description)
    }

    /// Looks through an open file for secrets and encrypts it.
    private func store(_ path: VaultPath, _ file: any File, size: Int64) throws -> StoredBlob {
        guard size <= SecretGuard.searchLimit else {
            let head = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
                try file.read(upTo: 4)
            }
            if secrets.wantsContent(path, head: head) { try secrets.checkContent(path, file, size: size) }
            try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in try file.seek(to: 0) }
            return try writer.store(file, sizeHint: size)
        }
        let (content, isWhole) = try whole(file, size, path)
        if isWhole {
            try secrets.checkContent(path, content)
            return try writer.store(content)
        }
        // It has grown, and is read again because of that.
        return try writer.store(head: content, rest: file)
    }

    /// The content of a small file, and whether that is all of it: a file may grow while it is read.
    private func whole(
        _ file: any File, _ size: Int64, _ path: VaultPath
    ) throws(VaultError) -> (content: [UInt8], isWhole: Bool) {
        let limit = Int(SecretGuard.searchLimit) + 1
        let content = try attempt("cannot read \(path)", path: path.description) { () throws(Errno) in
            var content = try file.read(upTo: Int(size) + 1)
            // What has its size is not asked for its end: had it grown since, the caller would see that.
            if content.count == Int(size) { return content }
            content += try file.read(fillingUpTo: limit - content.count, sizeHint: limit)
            return content
        }
        return (content, content.count < limit)
    }

    private func open(_ path: VaultPath, in folder: any Directory) throws(VaultError) -> (any File, FileStatus) {
        do throws(Errno) {
            let file = try folder.openFile(path.lastSegment)
            return (file, try file.status())
        } catch {
            throw VaultError.unreadable(error, path.bytes, isTracked: false)
        }
    }
}
