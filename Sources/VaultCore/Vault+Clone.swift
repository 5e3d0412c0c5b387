internal import VaultCrypto
public import VaultFormat
package import VaultSystem

extension Vault {
    /// Copies a vault from a remote into a new folder: history, trees and contents, all of them checked, then the
    /// working copy (spec 05 §4).
    ///
    /// The folder gets its name only when everything is there.
    ///
    /// * `remote`: Where the vault is.
    /// * `key`: A vault key, or a read key with its vault id for a read-only clone.
    /// * `path`: A folder that is absent or empty.
    /// - Throws: `notAVault` when the remote has no such vault, `keyWrong` when it has one that this key does not
    ///   open, `directoryNotEmpty`, `noSpace` before anything is fetched when that can be told, `objectMissing`,
    ///   `objectCorrupt`, `signatureBad`, `unsafePath`, or what the remote throws. Nothing is left behind then, but for
    ///   the objects that were fetched, beside the folder, when they are to be kept.
    public static func clone(
        from remote: any Remote, key: borrowing AccessKey, to path: String, options: CloneOptions = CloneOptions(),
        observer: any Observer = SilentObserver()
    ) async throws -> CloneResult {
        try await clone(
            from: remote, key: CloneKey(key, options: options), to: FilePath(path), options: options,
            environment: .production(), observer: observer)
    }

    /// The same with the file system, clock and randomness handed in.
    package static func clone(
        from remote: any Remote, key: CloneKey, to path: FilePath, options: CloneOptions,
        environment: VaultEnvironment, observer: any Observer
    ) async throws -> CloneResult {
        let place = try ClonePlace(path, resumes: options.resumes, environment: environment)
        do {
            let operation = CloneOperation(
                remote: remote, key: key, options: options, environment: environment, observer: observer)
            var result = try await operation.run(in: place)
            result.directory = try place.publish()
            return result
        } catch {
            if options.keepPartial || options.resumes { place.keepObjects() } else { place.discard() }
            throw error
        }
    }
}

/// One run of `clone`.
private struct CloneOperation {
    let remote: any Remote
    let key: CloneKey
    let options: CloneOptions
    let environment: VaultEnvironment
    let observer: any Observer

    func run(in place: ClonePlace) async throws -> CloneResult {
        let new = try place.makeClone(keys: key.holder, mode: key.mode, environment: environment)
        let vault = new.vault
        let snapshot = try await vault.snapshot(of: remote, ref: vault.ids.headRef)
        guard !snapshot.isAbsent else { throw await nothingThere(vault) }
        let index = snapshot.index.map { usableIndex($0, vault) } ?? vault.fallbackIndex()
        let named = try vault.trackedBranch(of: nil, index)
        let part = try heldPart()
        vault.heldPart.withLock { $0 = part }
        // A part of a vault is found by walking; what a leftover has is told by the list alone.
        let listed = part.isPartial && place.partial.isEmpty ? [] : try await remote.list(.all)
        if snapshot.refBytes == nil, listed.contains(.ref(snapshot.ref)) { throw absent(.ref(snapshot.ref)) }
        let objects = listed.compactMap { if case .object(let id) = $0 { id } else { nil } }.sorted()
        let batch = vault.newBatch(width: index.idWidth, scratch: new.scratch, isNewStore: true)
        let resumed = try adopt(objects, of: place, into: batch)
        if !part.isPartial { try await checkSpace(place.root, held: batch.count.bytes) }
        let fetcher = ObjectFetcher(remote: remote, batch: batch, observer: observer)
        // What nothing refers to may be anything; the walk below insists on what is needed.
        var sweep = fetcher
        sweep.skipsCorrupt = true
        let mutable = Collected()
        let closure = ClosureFetcher(vault: vault, fetcher: fetcher)
        let leftOut = try await sweep.sweep(
            part.isPartial ? [] : objects.filter { !batch.stages($0) },
            others: smallFiles(snapshot, index, listed), into: mutable)
        if !leftOut.isEmpty { try await settle(leftOut, snapshot.head, closure, sweep, into: mutable) }
        let heads = try storeMutable(vault, snapshot, index, mutable.all, new.scratch)
        let head = snapshot.head
        let (commits, boundaries) = try await closure.fetchHistory(
            from: [head].compactMap { $0 } + heads, depth: options.depth
        ) { _ in false }
        try await closure.fetchContents(of: commits, known: [])
        // The list of all there is has these keys among the others.
        if listed.isEmpty {
            try await vault.fetchSigners(of: commits, closure.graph, index, from: remote, scratch: new.scratch)
        }
        if let head { try checkScope(closure.trees, in: closure.graph.tree(of: head)) }
        try await TagFetcher(vault: vault, remote: remote, staged: closure.staged).fetch(index, scratch: new.scratch)
        let graph =
            boundaries.isEmpty
            ? closure.graph : CommitGraph(store: closure.staged, cipher: vault.cipher, boundaries: boundaries)
        let unverified = try checkSignatures(
            vault, index, graph, head: head, commits: commits, boundaries, held: objects.filter { batch.stages($0) })
        let counts = batch.count
        try batch.commit()
        var branch: BranchRecord?
        if key.canWrite {
            branch = try vault.addOwnBranch(to: index, on: named, head: snapshot.head, scratch: new.scratch)
        }
        try writeLocal(new, snapshot, branch, boundaries)
        var checkout: Checkout.Outcome?
        if let head, key.mode != .bare, !options.noCheckout {
            checkout = try new.checkOut(
                closure.graph.tree(of: head), trees: closure.trees,
                blobs: BlobReader(store: vault.store, cipher: vault.cipher, batch: batch), in: place, observer)
        }
        return CloneResult(
            directory: place.path.text, vaultID: vault.vaultID, mode: key.mode, branch: named.name,
            cloneBranchID: branch?.branchID.text, head: head, commits: commits.count, objects: counts.objects,
            bytes: counts.bytes, resumed: resumed, files: checkout?.written.count ?? 0, unverified: unverified,
            notStored: checkout?.notStored ?? [])
    }

    private func heldPart() throws(VaultError) -> HeldPart {
        if options.bare, !options.scope.isEmpty || options.noCheckout {
            throw VaultError(.usage, "a bare clone has no working copy to leave files out of")
        }
        if let depth = options.depth, depth < 1 { throw VaultError(.usage, "a history has at least one level") }
        var part = HeldPart()
        part.scope = Scope(options.scope)
        part.isSparse = options.noCheckout
        part.isShallow = options.depth != nil
        return part
    }

    /// Refuses folders that the vault does not have: most likely they are mistyped.
    private func checkScope(_ trees: TreeReader, in tree: ObjectID) throws(VaultError) {
        for path in options.scope where try trees.entry(path, in: tree) == nil {
            throw VaultError(
                .pathNotFound, "\(path) is not in the vault", hint: "clone with --no-checkout, then vaultctl ls",
                path: path.description)
        }
    }

    /// Fetches what a sweep left out, but for what the folders say is large: the walk that follows fetches that.
    private func settle(
        _ files: [FileID], _ head: ObjectID?, _ closure: ClosureFetcher, _ fetcher: ObjectFetcher,
        into mutable: Collected
    ) async throws {
        var objects: [ObjectID] = []
        var others: [FileID] = []
        for file in files { if case .object(let id) = file { objects.append(id) } else { others.append(file) } }
        var large: Set<ObjectID> = []
        if let head {
            large = try await closure.largeContents(of: head, others: others, into: mutable)
            others = []
        }
        let batch = fetcher.batch
        _ = try await fetcher.fetch(
            objects.filter { !large.contains($0) && !batch.stages($0) }, others: others, into: mutable)
    }

    /// The index to work with; one without `current` is completed by the derived branch (spec 05 §4.1).
    private func usableIndex(_ index: BranchIndex, _ vault: Vault) -> BranchIndex {
        guard !index.branches.contains(where: { $0.name == "current" && $0.type == .named }) else { return index }
        var completed = index
        completed.branches += vault.fallbackIndex().branches
        return completed
    }

    /// Tells a wrong key from a place without a vault.
    private func nothingThere(_ vault: Vault) async -> VaultError {
        let others = (try? await remote.list(.indexes)) ?? []
        // Only this key gives the name of its index.
        let own = FileID.index(vault.ids.index)
        if others.contains(own) { return absent(own) }
        if others.isEmpty {
            return VaultError(
                .notAVault, "\(remote.location) holds no vault \(vault.vaultID.text)",
                hint: "check the address; a vault is there only after its first push")
        }
        return VaultError(
            .keyWrong, "\(remote.location) holds a vault that this key does not open", hint: "check the vault key")
    }

    /// A file that the remote's own list has and the remote has not: a copy that was published in part.
    private func absent(_ file: FileID) -> VaultError {
        VaultError(
            .objectMissing, "\(remote.location) lists \(file.path) and does not have it",
            hint: "publish the whole folder again", object: file.path)
    }

    /// Takes over what interrupted clones had fetched, as far as the remote has it too: the place may have been meant
    /// for another vault.
    ///
    /// - Returns: How many objects.
    private func adopt(_ objects: [ObjectID], of place: ClonePlace, into batch: ObjectBatch) throws -> Int {
        var count = 0
        for left in place.partial {
            if let folder = left.objects {
                count += try environment.pool.map(count: objects.count) {
                    try batch.stages(objects[$0]) ? false : batch.adopt(objects[$0], from: folder)
                }.count { $0 }
            }
            // Keys of the interrupted clone may be in it, and nothing else of it is of use.
            try attempt("cannot remove what an interrupted clone left") { () throws(Errno) in try left.remove() }
        }
        return count
    }

    /// Says before anything is fetched that the copy can not fit, where the remote can tell its size.
    ///
    /// * `held`: Bytes that are here already.
    private func checkSpace(_ root: any Directory, held: Int64) async throws {
        guard let stored = try await remote.storedBytes() else { return }
        let needed = stored - held
        let free = try attempt("cannot ask for free space") { () throws(Errno) in try root.availableSpace() }
        // The store, and the working copy, which is at most about as large for a vault with one version of each file.
        guard needed > free.bytes else { return }
        throw VaultError(
            .noSpace, "the vault needs at least \(needed) bytes and \(free.bytes) are free",
            hint: "free some space, or clone elsewhere")
    }

    /// Keys and the other branches' refs.
    private func smallFiles(_ snapshot: RemoteSnapshot, _ index: BranchIndex, _ listed: [FileID]) -> [FileID] {
        var wanted: Set<FileID> = []
        for branch in index.branches {
            if branch.headRefID != snapshot.ref { wanted.insert(.ref(branch.headRefID)) }
            if let key = branch.publicKeyID { wanted.insert(.key(key)) }
        }
        for id in listed {
            switch id {
            case .key, .ref: if id != .ref(snapshot.ref) { wanted.insert(id) }
            default: break
            }
        }
        return wanted.sorted { $0.path < $1.path }
    }

    /// Stores keys and the other branches' refs; gives the heads of the other named branches.
    private func storeMutable(
        _ vault: Vault, _ snapshot: RemoteSnapshot, _ index: BranchIndex, _ found: [FileID: RemoteFile],
        _ scratch: ScratchArea
    ) throws -> [ObjectID] {
        var heads: [ObjectID] = []
        let namedRefs = Set(index.branches.filter { $0.type == .named }.map(\.headRefID))
        for (id, file) in found {
            guard case .content(let bytes) = file else { continue }
            switch id {
            case .key:
                guard SignatureChecker.pem(bytes, cipher: vault.cipher) != nil else { continue }
                try store(bytes, id, vault, scratch)
            case .ref(let ref):
                // A named ref must read; another clone's own ref is nobody's state (spec 02 §6).
                if namedRefs.contains(ref) {
                    if let head = try vault.refs.decode(bytes, of: ref) { heads.append(head) }
                } else if (try? vault.refs.decode(bytes, of: ref)) == nil {
                    continue
                }
                try store(bytes, id, vault, scratch)
            default: break
            }
        }
        if let bytes = snapshot.refBytes { try store(bytes, .ref(snapshot.ref), vault, scratch) }
        return heads.sorted()
    }

    private func store(_ bytes: [UInt8], _ id: FileID, _ vault: Vault, _ scratch: ScratchArea) throws {
        let place = try vault.layout.place(of: id)
        try attempt("cannot store \(id.path)") { () throws(Errno) in
            try scratch.replace(place.name, in: place.folder, with: bytes.span, mode: 0o666, durable: false)
        }
    }

    private func checkSignatures(
        _ vault: Vault, _ index: BranchIndex, _ graph: CommitGraph, head: ObjectID?, commits: [ObjectID],
        _ boundaries: Set<ObjectID>, held: [ObjectID]
    ) throws -> [(commit: ObjectID, status: SignatureStatus)] {
        let checker = SignatureChecker(refs: vault.refs, cipher: vault.cipher, index: index)
        if let head {
            try SignaturePolicy(index: index, graph: graph, checker: checker, boundaries: boundaries, held: held)
                .enforce(head: head, new: { () throws(VaultError) in try graph.ancestors(of: [head]) }, isClone: true)
        }
        let statuses = try environment.pool.map(count: commits.count) {
            checker.status(of: try graph.commit(commits[$0]))
        }
        return zip(commits, statuses).filter { $0.1 != .verified }.map { (commit: $0.0, status: $0.1) }
            .sorted { $0.commit < $1.commit }
    }

    private func writeLocal(
        _ new: NewClone, _ snapshot: RemoteSnapshot, _ branch: BranchRecord?, _ boundaries: Set<ObjectID>
    ) throws {
        let vault = new.vault
        if branch == nil {
            // The exact bytes: nothing was added to the index.
            if let bytes = snapshot.indexBytes, let index = snapshot.index {
                try vault.storeIndex(index, bytes: bytes, scratch: new.scratch)
            }
        }
        var config = CloneConfig(
            myBranchID: branch?.branchID.text, isReadOnly: key.mode == .readOnly, lastRemoteHead: snapshot.head)
        config.isSparse = options.noCheckout
        config.scopePaths = Scope(options.scope).texts
        config.shallowBoundaries = boundaries
        if options.noCheckout { try vault.writeCheckoutRecord([], scratch: new.scratch) }
        try vault.files.write(CloneConfig.fileName, config.json, scratch: new.scratch)
        if let server = options.server { try vault.files.write("base_url", server.bytes, scratch: new.scratch) }
        let place = vault.place(of: remote.location)
        try vault.recordSeen(
            snapshot.ref, snapshot.head, bytes: snapshot.refBytes, accepted: snapshot.head, at: place,
            scratch: new.scratch)
        if try vault.recordedPlace() != place {
            var config = config
            var heads = RemoteHeads(at: place)
            try heads.accept(
                snapshot.head, for: snapshot.ref, files: vault.files, config: &config, scratch: new.scratch)
        }
        switch key.mode {
        case .readOnly:
            try new.writeReadOnlyMode()
        case .full:
            try key.withText { text throws(VaultError) in
                if let writeKey = key.writeKey {
                    try new.cacheKeys(text: text, read: vault.readKey, write: writeKey)
                }
                try new.write("vault_key", secret: text)
            }
        case .bare: break
        }
    }
}

extension NewClone {
    /// `clone_mode.json` of a read-only clone.
    func writeReadOnlyMode() throws(VaultError) { try vault.writeReadOnlyMode(scratch) }
}

extension Vault {
    /// `clone_mode.json` of a read-only clone (spec 03 §2.2).
    func writeReadOnlyMode(_ scratch: ScratchArea) throws(VaultError) {
        let hex = try decoding("writing the read key") { () throws(FormatError) in try readKey.hex() }
        let value = hex.withBytes { bytes in
            JSONValue.object([
                JSONMember(name: "mode", value: .string("read-only")),
                JSONMember(name: "vault_id", value: .string(vaultID.text)),
                JSONMember(name: "read_key", value: .string(String(copying: bytes))),
                JSONMember(name: "branch_name", value: .string("current")),
            ])
        }
        try files.write("clone_mode.json", value, scratch: scratch)
    }
}

extension String {
    /// A text from ASCII bytes.
    init(copying bytes: Span<UInt8>) {
        self.init(unicodeScalars: bytes.indices.map { Unicode.Scalar(bytes[$0]) })
    }

    private init(unicodeScalars: [Unicode.Scalar]) {
        self.init()
        self.unicodeScalars.append(contentsOf: unicodeScalars)
    }
}
