internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// One pass over a clone.
struct FsckOperation {
    let vault: Vault
    let options: FsckOptions
    let observer: any Observer

    func run() throws -> FsckReport {
        var report = FsckReport(
            checked: .init(), missing: [], corrupt: [], broken: [], dangling: 0, signatures: .init(), repaired: [],
            unrepaired: [])
        // Refs before objects: what a ref leads to is stored before it, so it stands in a list that is made later, also
        // while another command commits.
        let loaded = Result { () throws(VaultError) in try vault.loadState() }
        var starts: [ObjectID: String] = [:]
        if case .success(let state) = loaded { starts = try heads(state, &report) }
        var objects = options.ownFilesOnly ? CheckedObjects() : try list()
        if !options.connectivityOnly { try hashAll(&objects, &report) }
        let state: CloneState
        switch loaded {
        case .success(let loaded): state = loaded
        case .failure(let error):
            guard error.isDamage || error.isUnreadable else { throw error }
            let problem = finding(error.path ?? error.object ?? "state", .state, error.message)
            if error.isDamage { report.broken.append(problem) } else { report.unreadable.append(problem) }
            add(objects, except: [], tags: [], to: &report)
            if !options.connectivityOnly { report.checked.objects = objects.held.count }
            return finished(report)
        }
        try checkState(state, &report)
        try checkStashes(&report)
        if options.ownFilesOnly { return finished(report) }
        let walk = try FsckWalk(
            vault: vault, objects: objects, boundaries: state.config.shallowBoundaries,
            needed: try NeededObjects(vault: vault, state: state))
        try walk.run(from: starts)
        // A record of unpushed tags that does not read is told by `checkState`. It is read before the index, into which a
        // push moves them.
        let pending = (try? vault.pendingTags()) ?? []
        // What was committed while this ran is in the list of objects by chance.
        let later = (try? vault.loadState()) ?? state
        try walk.run(from: try heads(later, &report).filter { starts[$0.key] == nil })
        report.absent = walk.absent
        let reached = walk.reached
        report.checked.commits = reached.commits.count
        report.checked.trees = reached.trees.count
        report.checked.blobs = reached.blobs.count
        report.missing = walk.missing
        report.corrupt = walk.corrupt
        report.unreadable += walk.unreadable
        let tags = TagView(index: later.index, pending: pending)
        let tagObjects = Set((tags.live + later.index.tags).compactMap(\.tagID))
        add(objects, except: Set((walk.corrupt + walk.unreadable).map(\.id)), tags: tagObjects, to: &report)
        if !options.quick && !options.connectivityOnly { try openBlobs(reached.blobs, objects, &report) }
        if options.checkSignatures {
            try verify(reached.commits, walk.graph, later.index, &report)
            try verify(tags, objects, &report)
        }
        let known = Set(reached.commits).union(reached.trees).union(reached.blobs.keys)
            .union(tagObjects)
        report.dangling = objects.held.subtracting(known).count
        report.checked.objects = options.connectivityOnly ? known.count : objects.held.count
        return finished(report)
    }

    private func finished(_ report: FsckReport) -> FsckReport {
        var report = report
        report.missing.sort { $0.id < $1.id }
        report.corrupt.sort { $0.id < $1.id }
        report.unreadable.sort { $0.id < $1.id }
        // Found twice, where refs were read twice.
        report.broken = report.broken.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        report.unreadable = report.unreadable.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        report.unrepaired = (report.missing + report.corrupt + report.broken + report.unreadable + report.newer)
            .map(\.id)
        return report
    }

    /// What the branches name that must be whole here.
    private func heads(_ state: CloneState, _ report: inout FsckReport) throws(VaultError) -> [ObjectID: String] {
        var heads: [ObjectID: String] = [:]
        let traces = RefTraces(vault: vault, boundaries: state.config.shallowBoundaries)
        for branch in vault.localBranches(state.index, current: state.cloneBranch?.branchID) {
            do throws(VaultError) {
                if let head = try vault.refs.commit(of: branch.headRefID) {
                    heads[head] = heads[head] ?? branch.headRefID.text
                } else if let loss = try traces.loss(of: branch, state.index) {
                    throw loss
                }
            } catch {
                guard error.isDamage || error.isUnreadable else { throw error }
                let problem = finding(branch.headRefID.text, .ref, error.message)
                if error.isDamage { report.broken.append(problem) } else { report.unreadable.append(problem) }
            }
        }
        return heads
    }

    /// What stands under the names of objects.
    private func list() throws(VaultError) -> CheckedObjects {
        var objects = CheckedObjects()
        for (id, kind) in try vault.store.listing() {
            objects.held.insert(id)
            switch kind {
            case .regular, .unknown: break
            case .directory, .symbolicLink, .other: objects.damaged[id] = ObjectStore.misplaced(id).message
            }
        }
        return objects
    }

    /// Tells of damaged and unreadable objects that the walk through history did not come by.
    private func add(
        _ objects: CheckedObjects, except told: Set<String>, tags: Set<ObjectID>, to report: inout FsckReport
    ) {
        for (id, detail) in objects.damaged where !told.contains(id.text) {
            report.corrupt.append(finding(id.text, tags.contains(id) ? .tag : .other, detail))
        }
        for (id, detail) in objects.unreadable where !told.contains(id.text) {
            report.unreadable.append(finding(id.text, tags.contains(id) ? .tag : .other, detail))
        }
    }

    func finding(_ id: String, _ kind: FsckReport.Finding.Kind, _ detail: String) -> FsckReport.Finding {
        FsckReport.Finding(id: id, kind: kind, referencedBy: nil, path: nil, detail: detail)
    }

    /// Hashes every object held, on all cores; what does not fit its id is damaged.
    private func hashAll(_ objects: inout CheckedObjects, _ report: inout FsckReport) throws {
        let misplaced = objects.damaged
        let ids = objects.held.filter { misplaced[$0] == nil }.sorted()
        let state = Locked((objects: objects, bytes: Int64(0), done: 0))
        let store = vault.store
        let observer = observer
        let group = vault.environment.pool.groupSize(of: ids.count, most: 32)
        try vault.environment.pool.forEach(count: (ids.count + group - 1) / group) { index in
            for id in ids[index * group..<min(ids.count, (index + 1) * group)] {
                var problem: VaultError?
                var size: Int64 = 0
                do {
                    size = try hash(id, store)
                } catch let error as VaultError where error.isDamage || error.isUnreadable {
                    problem = error
                }
                let now = state.withLock { state -> (Int, Int64) in
                    if let problem { state.objects.note(problem, id) }
                    state.bytes += size
                    state.done += 1
                    return (state.done, state.bytes)
                }
                observer.progress(Progress(phase: .verify, done: now.0, total: ids.count, bytes: now.1))
            }
        }
        let result = state.withLock { $0 }
        objects = result.objects
        report.checked.bytes = result.bytes
    }

    func hash(_ id: ObjectID, _ store: ObjectStore) throws -> Int64 {
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
        _ blobs: [ObjectID: FsckWalk.BlobUse], _ objects: CheckedObjects, _ report: inout FsckReport
    ) throws {
        let uses = blobs.filter { objects.isSound($0.key) && $0.value.isHeld }.sorted { $0.key < $1.key }
        let reader = BlobReader(store: vault.store, cipher: vault.cipher)
        let problems = Locked<(corrupt: [FsckReport.Finding], unreadable: [FsckReport.Finding])>(([], []))
        let group = vault.environment.pool.groupSize(of: uses.count, most: 32)
        try vault.environment.pool.forEach(count: (uses.count + group - 1) / group) { index in
            for use in uses[index * group..<min(uses.count, (index + 1) * group)] {
                try vault.environment.pool.checkCancellation()
                do {
                    try open(use.value.entry, with: reader)
                } catch let error as VaultError where error.isDamage || error.isUnreadable {
                    let problem = FsckReport.Finding(
                        id: use.key.text, kind: .blob, referencedBy: use.value.tree.text, path: use.value.path,
                        detail: error.message)
                    problems.withLock {
                        if error.isDamage { $0.corrupt.append(problem) } else { $0.unreadable.append(problem) }
                    }
                }
            }
        }
        let found = problems.withLock { $0 }
        report.corrupt += found.corrupt
        report.unreadable += found.unreadable
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
        let statuses = try vault.environment.pool.map(count: commits.count) { position in
            let commit = try graph.commit(commits[position])
            return (checker.status(of: commit), checker.keyID(of: commit))
        }
        var lacking: [KeyID: Int] = [:]
        for (id, (status, key)) in zip(commits, statuses) {
            switch status {
            case .verified: report.signatures.verified += 1
            case .unsigned: report.signatures.unsigned += 1
            case .noKey, .missing:
                report.signatures.noKey += 1
                if let key { lacking[key, default: 0] += 1 }
            case .bad: report.signatures.bad.append(id)
            }
        }
        report.signatures.bad.sort()
        // That of a branch that is in no index came with its commits, or never.
        let listed = Set(index.branches.compactMap(\.publicKeyID))
        let told = Set((report.broken + report.unreadable).map(\.id))
        for (key, count) in lacking where listed.contains(key) && !told.contains(key.text) {
            guard case .some(.some) = try? vault.privateKey(key) else {
                report.lackingKeys.append(key)
                continue
            }
            let commits = count == 1 ? "of one commit" : "of \(count) commits"
            report.missing.append(
                finding(key.text, .key, "the public key is not here: the signatures \(commits) can not be checked"))
        }
    }

    private func verify(
        _ tags: TagView, _ objects: CheckedObjects, _ report: inout FsckReport
    ) throws(VaultError) {
        let reader = TagReader(vault: vault, index: tags.index)
        for entry in tags.live {
            if let id = entry.tagID, !objects.isSound(id) { continue }
            do throws(VaultError) {
                let status = try reader.look(at: entry).signature
                report.tags.count(status)
                if status == .bad { report.badTags.append(entry.name) }
            } catch {
                guard error.isUnreadable, let id = entry.tagID else { throw error }
                report.unreadable.append(finding(id.text, .tag, error.message))
            }
        }
    }
}

/// The objects of a clone as a check finds them.
struct CheckedObjects: Sendable {
    /// Everything that stands under the name of an object.
    var held: Set<ObjectID> = []
    /// Those that do not hold the bytes of their id, with what is wrong.
    var damaged: [ObjectID: String] = [:]
    /// Those that the system does not let us read.
    var unreadable: [ObjectID: String] = [:]

    func isSound(_ id: ObjectID) -> Bool { damaged[id] == nil && unreadable[id] == nil }

    mutating func note(_ problem: VaultError, _ id: ObjectID) {
        switch problem.code {
        // Another command has removed it since the list was made; if it is needed, the walk misses it.
        case .objectMissing: held.remove(id)
        case _ where problem.isUnreadable: unreadable[id] = problem.message
        default: damaged[id] = problem.message
        }
    }
}

extension VaultError {
    /// Whether this tells of damage in the vault or the clone, and not of a check that could not be done.
    var isDamage: Bool {
        switch code {
        case .objectCorrupt, .objectMissing, .decryptFailed, .refUnreadable, .refRewound, .unsafePath, .branchNotFound,
            .keyWrong, .signatureBad:
            true
        default: false
        }
    }

    /// Whether the system does not let a file be read, which says nothing of what it holds.
    var isUnreadable: Bool { code == .ioError || code == .permissionDenied }
}
