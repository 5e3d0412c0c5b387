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
    /// Checks everything that a new clone holds.
    ///
    /// - Throws: `objectMissing`, `objectCorrupt` or the like naming the first thing that is wrong.
    func requireSound(checkingSignatures: Bool = false, observer: any Observer) throws {
        let options = FsckOptions(checkSignatures: checkingSignatures)
        let report = try FsckOperation(vault: self, options: options, observer: observer).run()
        if let bad = report.signatures.bad.first {
            throw VaultError(.signatureBad, "the signature of commit \(bad.text) is bad", object: bad.text)
        }
        guard let first = (report.missing + report.corrupt + report.broken).first else { return }
        let code: VaultError.Code = report.missing.isEmpty ? .objectCorrupt : .objectMissing
        throw VaultError(
            code, "the vault is not whole: \(first.kind.rawValue) \(first.id): \(first.detail)", object: first.id)
    }

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
        // A record of unpushed tags that does not read is told by `checkState`.
        let tags = (try? vault.tagView(state.index)) ?? TagView(index: state.index, pending: [])
        let tagObjects = Set((tags.live + state.index.tags).compactMap(\.tagID))
        for (id, detail) in damaged where !walk.corrupt.contains(where: { $0.id == id.text }) {
            report.corrupt.append(finding(id.text, tagObjects.contains(id) ? .tag : .other, detail))
        }
        if !options.quick && !options.connectivityOnly { try openBlobs(reached.blobs, damaged, &report) }
        if options.checkSignatures {
            try verify(reached.commits, walk.graph, state.index, &report)
            try verify(tags, damaged, &report)
        }
        let known = Set(reached.commits).union(reached.trees).union(reached.blobs.keys)
            .union(tagObjects)
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

    private func verify(
        _ tags: TagView, _ damaged: [ObjectID: String], _ report: inout FsckReport
    ) throws(VaultError) {
        let reader = TagReader(vault: vault, index: tags.index)
        for entry in tags.live {
            if let id = entry.tagID, damaged[id] != nil { continue }
            let status = try reader.look(at: entry).signature
            report.tags.count(status)
            if status == .bad { report.badTags.append(entry.name) }
        }
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
        try check { () throws(VaultError) in _ = try StashJournal.read(files) }
        try check { () throws(VaultError) in _ = try vault.notStored() }
        try check { () throws(VaultError) in _ = try vault.pendingTags() }
        try check { () throws(VaultError) in _ = try CloneSettings(files: files) }
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
