internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Checks that everything the clone's history reaches is there and sound, that refs, index, keys and state read,
    /// and that signatures verify (spec 05 §12).
    ///
    /// * `remote`: Where `options.repair` fetches missing and corrupt objects from.
    /// - Throws: only when the check itself could not be done. What it finds is in the report.
    public func fsck(
        _ options: FsckOptions = FsckOptions(), repairFrom remote: (any Remote)? = nil,
        observer: any Observer = SilentObserver()
    ) async throws -> FsckReport {
        guard options.repair, let remote else {
            return try FsckOperation(vault: self, options: options, observer: observer).run()
        }
        let lock = try lockWithoutRecovery()
        var repaired = try await mendMutable(from: remote, lock.scratch)
        repaired += try restoreOwnRef(lock.scratch)
        var report = try FsckOperation(vault: self, options: options, observer: observer).run()
        // Every round may reach objects behind those the last one brought; none is fetched twice.
        var tried: Set<ObjectID> = []
        var fetched: Set<ObjectID> = []
        while true {
            let wanted = Set((report.missing + report.corrupt).compactMap { try? ObjectID($0.id) })
                .subtracting(tried)
            if wanted.isEmpty { break }
            tried.formUnion(wanted)
            let batch = newBatch(width: .short, scratch: lock.scratch)
            let absent = try await ObjectFetcher(
                remote: remote, batch: batch, observer: observer, skipsCorrupt: true
            )
            .fetch(wanted.sorted())
            let brought = wanted.subtracting(absent)
            // Only what can be replaced is moved away: an object that merely could not be read may be the last copy.
            for finding in report.corrupt {
                if let id = try? ObjectID(finding.id), brought.contains(id) { store.quarantine(id) }
            }
            try batch.commit()
            fetched.formUnion(brought)
            if brought.isEmpty { break }
            report = try FsckOperation(vault: self, options: options, observer: observer).run()
        }
        let left = Set(report.unrepaired)
        repaired += fetched.map(\.text).filter { !left.contains($0) }
        report.repaired = repaired.sorted()
        return report
    }
}

extension Vault {
    /// Puts a lost ref of this clone back to the commit that it last named, when that is held.
    fileprivate func restoreOwnRef(_ scratch: ScratchArea) throws(VaultError) -> [String] {
        guard let state = try? loadState(allowingLostRef: true), state.head == nil, state.cloneBranch != nil,
            let last = try lastCommit(of: state.headRef, state.namedBranch), try store.holds(last)
        else { return [] }
        try storeRef(state.headRef, old: nil, new: last, scratch: scratch)
        return [state.headRef.text]
    }
}

/// One pass over a clone.
private struct FsckOperation {
    let vault: Vault
    let options: FsckOptions
    let observer: any Observer

    func run() throws -> FsckReport {
        var report = FsckReport(
            checked: .init(), missing: [], corrupt: [], broken: [], dangling: 0, signatures: .init(), repaired: [],
            unrepaired: [])
        let held = try vault.store.allIDs().sorted()
        let damaged = options.connectivityOnly ? [:] : try hashAll(held, &report)
        let loaded = Result { () throws(VaultError) in try vault.loadState() }
        if case .failure(let error) = loaded, error.isDamage {
            report.broken.append(finding("state", .state, error.message))
            return finished(report)
        }
        let state = try loaded.get()
        try checkState(state, &report)
        let walk = try FsckWalk(
            vault: vault, held: Set(held), damaged: damaged, boundaries: state.config.shallowBoundaries,
            needed: try NeededObjects(vault: vault, state: state))
        var starts: [ObjectID: String] = [:]
        for branch in state.index.branches {
            do throws(VaultError) {
                let isOwn = branch.branchID == state.cloneBranch?.branchID || branch.type == .named
                guard isOwn, let head = try vault.refs.commit(of: branch.headRefID) else { continue }
                starts[head] = starts[head] ?? branch.headRefID.text
            } catch {
                guard error.isDamage else { throw error }
                report.broken.append(finding(branch.headRefID.text, .ref, error.message))
            }
        }
        try walk.run(from: starts)
        report.absent = walk.absent
        let reached = walk.reached
        report.checked.commits = reached.commits.count
        report.checked.trees = reached.trees.count
        report.checked.blobs = reached.blobs.count
        report.missing = walk.missing
        report.corrupt = walk.corrupt
        for (id, detail) in damaged where !walk.corrupt.contains(where: { $0.id == id.text }) {
            report.corrupt.append(finding(id.text, .other, detail))
        }
        if !options.quick && !options.connectivityOnly { try openBlobs(reached.blobs, damaged, &report) }
        if options.checkSignatures { try verify(reached.commits, walk.graph, state.index, &report) }
        let known = Set(reached.commits).union(reached.trees).union(reached.blobs.keys)
            .union(state.index.tags.compactMap(\.tagID))
        report.dangling = held.filter { !known.contains($0) }.count
        if !options.connectivityOnly {
            report.checked.objects = held.count
        } else {
            report.checked.objects = known.count
        }
        return finished(report)
    }

    private func finished(_ report: FsckReport) -> FsckReport {
        var report = report
        report.missing.sort { $0.id < $1.id }
        report.corrupt.sort { $0.id < $1.id }
        report.unrepaired = (report.missing + report.corrupt + report.broken).map(\.id)
        return report
    }

    private func finding(_ id: String, _ kind: FsckReport.Finding.Kind, _ detail: String) -> FsckReport.Finding {
        FsckReport.Finding(id: id, kind: kind, referencedBy: nil, path: nil, detail: detail)
    }

    /// Hashes every object held, on all cores; what does not fit its id is damaged.
    private func hashAll(_ ids: [ObjectID], _ report: inout FsckReport) throws -> [ObjectID: String] {
        let state = Locked((damaged: [ObjectID: String](), bytes: Int64(0), done: 0))
        let store = vault.store
        let observer = observer
        let group = vault.environment.pool.groupSize(of: ids.count, most: 32)
        try vault.environment.pool.forEach(count: (ids.count + group - 1) / group) { index in
            for id in ids[index * group..<min(ids.count, (index + 1) * group)] {
                var problem: String?
                var size: Int64 = 0
                do {
                    size = try hash(id, store)
                } catch let error as VaultError where error.isDamage {
                    problem = error.message
                }
                let now = state.withLock { state -> (Int, Int64) in
                    if let problem { state.damaged[id] = problem }
                    state.bytes += size
                    state.done += 1
                    return (state.done, state.bytes)
                }
                observer.progress(Progress(phase: .verify, done: now.0, total: ids.count, bytes: now.1))
            }
        }
        let result = state.withLock { $0 }
        report.checked.bytes = result.bytes
        return result.damaged
    }

    private func hash(_ id: ObjectID, _ store: ObjectStore) throws -> Int64 {
        let (file, size) = try store.open(id)
        let (digest, read): ([UInt8], Int64)
        do {
            (digest, read) = try FileHasher(pool: vault.environment.pool).digest(of: file, sizeHint: size)
        } catch let error as Errno {
            throw VaultError.io(error, "cannot read object \(id.text)", path: id.text)
        }
        guard id.matches(digest: digest) else {
            throw VaultError(.objectCorrupt, "the bytes are not those of the id", object: id.text)
        }
        return read
    }

    /// Decrypts every blob that hashed well: a writer with the wrong key is found here.
    private func openBlobs(
        _ blobs: [ObjectID: FsckWalk.BlobUse], _ damaged: [ObjectID: String], _ report: inout FsckReport
    ) throws {
        let uses = blobs.filter { damaged[$0.key] == nil && $0.value.isHeld }.sorted { $0.key < $1.key }
        let reader = BlobReader(store: vault.store, cipher: vault.cipher)
        let problems = Locked<[FsckReport.Finding]>([])
        let group = vault.environment.pool.groupSize(of: uses.count, most: 32)
        try vault.environment.pool.forEach(count: (uses.count + group - 1) / group) { index in
            for use in uses[index * group..<min(uses.count, (index + 1) * group)] {
                try vault.environment.pool.checkCancellation()
                do {
                    try open(use.value.entry, with: reader)
                } catch let error as VaultError where error.isDamage {
                    problems.withLock {
                        $0.append(
                            FsckReport.Finding(
                                id: use.key.text, kind: .blob, referencedBy: use.value.tree.text,
                                path: use.value.path, detail: error.message))
                    }
                }
            }
        }
        report.corrupt += problems.withLock { $0 }
    }

    /// Decrypts one blob and compares it with what its entry says of it.
    private func open(_ entry: FileEntry, with reader: BlobReader) throws {
        let hash = try IncrementalHash()
        var size: Int64 = 0
        try reader.stream(entry, check: .done) { chunk in
            try vault.environment.pool.checkCancellation()
            size += Int64(chunk.count)
            try hash.update(chunk)
        }
        guard let expected = entry.contentHash else { return }
        guard size == entry.size, ContentHash(digest: try hash.finish()) == expected else {
            throw VaultError(
                .objectCorrupt, "the content is not the one that its folder records", object: entry.blobID.text)
        }
    }

    private func verify(
        _ commits: [ObjectID], _ graph: CommitGraph, _ index: BranchIndex, _ report: inout FsckReport
    ) throws {
        let checker = SignatureChecker(refs: vault.refs, cipher: vault.cipher, index: index)
        let statuses = try vault.environment.pool.map(count: commits.count) {
            checker.status(of: try graph.commit(commits[$0]))
        }
        for (id, status) in zip(commits, statuses) {
            switch status {
            case .verified: report.signatures.verified += 1
            case .unsigned: report.signatures.unsigned += 1
            case .noKey, .missing: report.signatures.noKey += 1
            case .bad: report.signatures.bad.append(id)
            }
        }
        report.signatures.bad.sort()
    }

    /// Keys of every branch, baselines and state files.
    private func checkState(_ state: CloneState, _ report: inout FsckReport) throws(VaultError) {
        for branch in state.index.branches {
            guard let key = branch.publicKeyID else { continue }
            do throws(VaultError) {
                guard let bytes = try vault.refs.bytes(of: .key(key), limit: Limits.keyPlaintext) else {
                    // A clone holds the keys of branches it has seen; another clone's may come with the next pull.
                    if branch.branchID == state.cloneBranch?.branchID {
                        report.broken.append(finding(key.text, .key, "this clone's public key is missing"))
                    }
                    continue
                }
                guard SignatureChecker.pem(bytes, cipher: vault.cipher) != nil else {
                    report.broken.append(finding(key.text, .key, "the public key does not read"))
                    continue
                }
            } catch {
                guard error.isDamage else { throw error }
                report.broken.append(finding(key.text, .key, error.message))
            }
        }
        let files = vault.files
        func check(_ read: () throws(VaultError) -> Void) throws(VaultError) {
            do throws(VaultError) { try read() } catch {
                switch error.code {
                case .ioError, .permissionDenied, .formatUnsupported: throw error
                default: break
                }
                report.broken.append(finding(error.path ?? "local", .state, error.message))
            }
        }
        try check { () throws(VaultError) in
            _ = try RemoteHeads(files: files, config: state.config, tracked: state.namedBranch.headRefID)
        }
        try check { () throws(VaultError) in _ = try RemoteHeads.hasOthers(files) }
        try check { () throws(VaultError) in _ = try vault.mergeState() }
        try check { () throws(VaultError) in _ = try files.readObject("pending_registration.json") }
        try check { () throws(VaultError) in _ = try vault.savedRemotes() }
        try check { () throws(VaultError) in _ = try Journal.read(files) }
        try check { () throws(VaultError) in _ = try vault.notStored() }
        try check { () throws(VaultError) in _ = try CloneSettings(files: files) }
    }
}

/// Follows everything reachable and notes what is missing or does not decode.
private final class FsckWalk {
    struct BlobUse: Sendable {
        var entry: FileEntry
        var tree: ObjectID
        var path: VaultPath
        var isHeld: Bool
    }

    let graph: CommitGraph
    private let vault: Vault
    private let trees: TreeReader
    private let held: Set<ObjectID>
    private let damaged: [ObjectID: String]
    private let needed: NeededObjects
    private var walked = WalkedPlaces()
    private(set) var absent = 0
    private(set) var missing: [FsckReport.Finding] = []
    private(set) var corrupt: [FsckReport.Finding] = []
    private(set) var reached: (commits: [ObjectID], trees: Set<ObjectID>, blobs: [ObjectID: BlobUse]) = ([], [], [:])

    init(
        vault: Vault, held: Set<ObjectID>, damaged: [ObjectID: String], boundaries: Set<ObjectID>,
        needed: NeededObjects
    ) throws {
        self.needed = needed
        self.vault = vault
        self.held = held
        self.damaged = damaged
        graph = CommitGraph(store: vault.store, cipher: vault.cipher, boundaries: boundaries)
        trees = vault.treeReader()
    }

    func run(from starts: [ObjectID: String]) throws {
        var seen: Set<ObjectID> = []
        var pending = starts.map { (id: $0.key, by: $0.value) }
        while let next = pending.popLast() {
            guard seen.insert(next.id).inserted, present(next.id, .commit, by: next.by, path: nil) else { continue }
            do throws(VaultError) {
                let commit = try graph.commit(next.id)
                reached.commits.append(next.id)
                for parent in try graph.parents(next.id) { pending.append((parent, next.id.text)) }
                try walkTree(commit.tree(of: next.id), by: next.id)
            } catch {
                try note(error, next.id, .commit, by: next.by)
            }
        }
    }

    private func walkTree(_ root: ObjectID, by commit: ObjectID) throws(VaultError) {
        let scope = trees.scope
        var pending: [(id: ObjectID, prefix: VaultPath?, by: ObjectID, depth: Int)] = [(root, nil, commit, 0)]
        while let next = pending.popLast() {
            // One folder may stand at several places, of which not all are held.
            guard reached.trees.insert(next.id).inserted || !scope.isWhole && walked.insert(next.id, next.prefix),
                present(next.id, .tree, by: next.by.text, path: next.prefix)
            else { continue }
            guard next.depth <= Limits.treeDepth else {
                let detail = "folders nest deeper than \(Limits.treeDepth) levels"
                corrupt.append(
                    .init(id: next.id.text, kind: .tree, referencedBy: next.by.text, path: nil, detail: detail))
                continue
            }
            do throws(VaultError) {
                for entry in try trees.tree(next.id).entries {
                    let path = try TreeReader.path(
                        next.prefix, entry.name, isFolder: entry.target.folder != nil)
                    switch entry.target {
                    case .folder(let id):
                        if scope.enters(path) { pending.append((id, path, next.id, next.depth + 1)) }
                    case .file(let file):
                        guard scope.holds(path), reached.blobs[file.blobID] == nil else { continue }
                        let isHeld = present(file.blobID, .blob, by: next.id.text, path: path)
                        reached.blobs[file.blobID] = BlobUse(
                            entry: file, tree: next.id, path: path, isHeld: isHeld && held.contains(file.blobID))
                    }
                }
            } catch {
                try note(error, next.id, .tree, by: next.by.text)
            }
        }
    }

    /// Whether an object is there and sound; notes it when not.
    private func present(_ id: ObjectID, _ kind: FsckReport.Finding.Kind, by: String, path: VaultPath?) -> Bool {
        if let detail = damaged[id] {
            corrupt.append(.init(id: id.text, kind: kind, referencedBy: by, path: path, detail: detail))
            return false
        }
        if held.contains(id) { return true }
        if needed.allowsAbsent(id, kind, at: path) {
            absent += 1
            return false
        }
        missing.append(.init(id: id.text, kind: kind, referencedBy: by, path: path, detail: "not in this clone"))
        return false
    }

    private func note(
        _ error: VaultError, _ id: ObjectID, _ kind: FsckReport.Finding.Kind, by: String
    ) throws(VaultError) {
        switch error.code {
        case .objectCorrupt, .decryptFailed, .unsafePath:
            corrupt.append(.init(id: id.text, kind: kind, referencedBy: by, path: nil, detail: error.message))
        case .objectMissing:
            missing.append(.init(id: id.text, kind: kind, referencedBy: by, path: nil, detail: error.message))
        default: throw error
        }
    }
}

extension VaultError {
    /// Whether this tells of damage in the vault or the clone, and not of a check that could not be done.
    fileprivate var isDamage: Bool {
        switch code {
        case .objectCorrupt, .objectMissing, .decryptFailed, .refUnreadable, .refRewound, .unsafePath, .branchNotFound,
            .keyWrong, .signatureBad:
            true
        default: false
        }
    }
}
