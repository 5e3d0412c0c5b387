internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The steps of a rekey, while the old vault's lock is held and, by this value, the new one's.
struct RekeyWork: ~Copyable {
    private let old: Vault
    private let new: Vault
    private let state: CloneState
    private let lock: CloneLock
    private let observer: any Observer

    /// What the name of a folder with a replaced vault begins with; both programs leave such folders alone.
    static let oldPrefix = ".sg_vault_old_"

    init(old: Vault, state: CloneState, place: RekeyPlace, observer: any Observer) throws {
        let new = try place.vault(lockTimeout: old.lockTimeout)
        let lock = try new.lockWithoutRecovery()
        self.old = old
        self.new = new
        self.state = state
        self.lock = lock
        self.observer = observer
    }

    /// What the refs of this clone and of all named branches name.
    func oldHeads() throws -> [RefID: ObjectID] {
        var heads: [RefID: ObjectID] = [:]
        for branch in state.index.branches {
            do throws(VaultError) {
                guard let head = try old.refs.commit(of: branch.headRefID) else { continue }
                // Another clone's own ref may have come without its commits, or be damaged: it is nobody's state.
                let isOurs = branch.type == .named || branch.branchID == state.cloneBranch?.branchID
                if !isOurs { guard try old.store.holds(head) else { continue } }
                heads[branch.headRefID] = head
            } catch {
                guard error.code == .refUnreadable, branch.type != .named,
                    branch.branchID != state.cloneBranch?.branchID
                else { throw error }
            }
        }
        return heads
    }

    // MARK: Building

    /// Encrypts everything anew; what an interrupted run built is removed first.
    func build(_ journal: inout RekeyJournal) throws {
        try attempt("cannot empty the new vault") { () throws(Errno) in
            for folder in [new.layout.data, new.layout.refs, new.layout.keys, new.layout.indexes] {
                try folder.removeContents()
            }
        }
        let heads = try oldHeads()
        let batch = new.newBatch(width: state.idWidth, scratch: lock.scratch, isNewStore: true)
        let work = Reencryption(from: old, state, to: new, batch: batch, observer: observer)
        var index = state.index
        if !index.carriedTags.isEmpty {
            observer.warning("tags that only a newer version can read are left out: their ids are of the old key")
        }
        index.carriedTags = []
        // Nobody has known them under the new id, and the objects of deleted ones may be here no more.
        index.tags.removeAll(where: \.isDeleted)
        for position in index.branches.indices {
            let ref = index.branches[position].headRefID
            // The head of `current` has its place by the key; the reference looks for it there (spec 05 K17).
            if ref == old.ids.headRef { index.branches[position].headRefID = new.ids.headRef }
            guard let head = heads[ref] else { continue }
            let converted = try work.commit(head)
            try new.storeRef(index.branches[position].headRefID, old: nil, new: converted, scratch: lock.scratch)
        }
        for position in index.tags.indices {
            if let id = index.tags[position].tagID { index.tags[position].tagID = try work.tag(id) }
        }
        anchor(&index, heads[old.ids.headRef].flatMap { work.commits[$0] })
        try storeKeys(index)
        try new.storeIndex(index, scratch: lock.scratch)
        try storeShared(index)
        try batch.commit()
        try RekeyLocalFiles(old: old, new: new, scratch: lock.scratch).copy(journal.pending)
        try check()
        journal.heads = heads
        journal.oldHead = state.head
        journal.newHead = state.head.flatMap { work.commits[$0] }
        (journal.commits, journal.objects, journal.unsigned) = (work.commits.count, batch.count.objects, work.unsigned)
        journal.pending.phase = .built
        try attempt("cannot sync the new vault") { () throws(Errno) in try new.layout.vault.syncFileSystem() }
        try journal.write(new.files, scratch: lock.scratch)
    }

    /// Where signatures are required, they are from the commit on that is the head now: those before it were made over
    /// ids that are gone.
    private func anchor(_ index: inout BranchIndex, _ head: ObjectID?) {
        guard index.hasFeature("signatures-required") else { return }
        index.features.removeAll { $0.hasPrefix("signed-since-") }
        if let head { index.features.append("signed-since-" + String(head.hex.prefix(24))) }
    }

    private func storeKeys(_ index: BranchIndex) throws {
        for id in Set(index.branches.compactMap(\.publicKeyID)) {
            guard let bytes = try old.refs.bytes(of: .key(id), limit: Limits.keyPlaintext),
                let pem = SignatureChecker.pem(bytes, cipher: old.cipher)
            else { continue }
            let random = new.environment.random
            let cipher = new.cipher
            let stored = try decoding("storing a public key") { () throws(FormatError) in
                let plaintext = KeyObject.encode(pem: pem)
                return try cipher.sealRandom(plaintext.span, random: random)
            }
            try attempt("cannot store a public key") { () throws(Errno) in
                try lock.scratch.replace(
                    id.text.bytes, in: new.layout.keys, with: stored.span, mode: 0o666, durable: false)
            }
        }
    }

    private static let sharedName = "rekey-index"

    /// Keeps the index to publish where that is another one: branches that were never pushed are nobody else's.
    ///
    /// Its bytes have to be the same at every attempt.
    private func storeShared(_ index: BranchIndex) throws {
        try new.files.removeOwn(Self.sharedName)
        let kept = try old.unpushedBranches()
        var shared = index
        shared.branches.removeAll { kept.contains($0.branchID.text) || kept.contains($0.creatorBranch?.text ?? "") }
        guard shared.branches.count < index.branches.count else { return }
        let bytes = try new.refs.encodeIndex(shared, random: new.environment.random)
        let own = try new.layout.ownFolder(create: true)
        try attempt("cannot keep the index to publish") { () throws(Errno) in
            guard let own else { throw .readOnlyFileSystem }
            try lock.scratch.replace(Self.sharedName.bytes, in: own, with: bytes.span, mode: 0o600)
        }
    }

    /// The index to publish, as bytes and read.
    private func sharedIndex() throws -> (bytes: [UInt8], index: BranchIndex) {
        var bytes = try attempt("cannot read the index to publish") { () throws(Errno) in
            try new.layout.local.openIfPresent("vaultctl")?.contents(Self.sharedName, limit: Limits.indexPlaintext)
        }
        if bytes == nil { bytes = try new.refs.bytes(of: .index(new.ids.index), limit: Limits.indexPlaintext) }
        guard let bytes else {
            throw VaultError(.refUnreadable, "the new vault has no index", hint: "vaultctl rekey --abandon")
        }
        return (bytes, try new.refs.decodeIndex(bytes, new.ids.index))
    }

    /// The new vault is whole, decrypts, and no signature in it is bad.
    private func check() throws {
        try new.requireSound(checkingSignatures: true, observer: observer)
    }

    // MARK: Publishing

    /// Publishes the new vault, `current` last of all, and reads everything back.
    ///
    /// - Throws: `refused` when another vault is there, `serverError` when what is read back is not what was sent.
    func publish(to remote: any Remote, _ journal: inout RekeyJournal) async throws {
        let authorization = try new.keys.authorization()
        let publisher = Publisher(remote: remote, authorization: authorization, store: new.store, observer: observer)
        var objects: [(id: ObjectID, size: Int64?)] = []
        for id in try new.store.allIDs().sorted() { objects.append((id, try new.store.size(id))) }
        let (indexBytes, index) = try sharedIndex()
        var keys: [(id: KeyID, bytes: [UInt8])] = []
        for id in Set(index.branches.compactMap(\.publicKeyID)).sorted(by: { $0.text < $1.text }) {
            if let bytes = try new.refs.bytes(of: .key(id), limit: Limits.keyPlaintext) { keys.append((id, bytes)) }
        }
        try await publisher.send(objects, keys: keys)
        var refs: [(id: RefID, bytes: [UInt8])] = []
        for branch in index.branches where branch.type == .named && branch.headRefID != new.ids.headRef {
            if let bytes = try new.refs.bytes(of: .ref(branch.headRefID)) { refs.append((branch.headRefID, bytes)) }
        }
        for ref in refs {
            try await swap(publisher, PublishPlan(only: ref, expected: .absent))
        }
        guard let head = try new.refs.bytes(of: .ref(new.ids.headRef)) else {
            throw VaultError(.refUnreadable, "the new vault has no head", hint: "vaultctl rekey --abandon")
        }
        refs.append((new.ids.headRef, head))
        var last = PublishPlan(only: (new.ids.headRef, head), expected: .absent)
        last.index = (new.ids.index, .absent, indexBytes)
        if let own = index.branches.first(where: { $0.branchID == state.cloneBranch?.branchID }),
            let bytes = try new.refs.bytes(of: .ref(own.headRefID))
        {
            last.cloneRef = (own.headRefID, bytes)
        }
        try await swap(publisher, last)
        try await RekeyProof(remote: remote, pool: new.environment.pool, observer: observer).check(
            objects: objects.map(\.id), keys: keys, index: (new.ids.index, indexBytes), refs: refs)
        try accept(refs, from: remote)
        journal.pending.phase = .published
        try journal.write(new.files, scratch: lock.scratch)
    }

    private func swap(_ publisher: Publisher, _ plan: PublishPlan) async throws {
        if case .conflict(let file) = try await publisher.publish(plan) {
            throw VaultError(
                .refused, "\(publisher.remote.location) holds another vault under the new id (\(file.path))",
                hint: "vaultctl rekey --abandon, and then begin anew")
        }
    }

    /// What is there now is what the new vault has accepted.
    private func accept(_ refs: [(id: RefID, bytes: [UInt8])], from remote: any Remote) throws {
        guard let value = try new.files.readObject(CloneConfig.fileName) else { return }
        var config = try CloneConfig(reading: value)
        var heads = RemoteHeads(at: nil)
        let place = new.place(of: remote.location)
        for ref in refs {
            let head = try new.refs.decode(ref.bytes, of: ref.id)
            try heads.accept(head, for: ref.id, files: new.files, config: &config, scratch: lock.scratch)
            try new.recordSeen(
                ref.id, head, bytes: ref.bytes, accepted: head, at: place, scratch: lock.scratch)
        }
    }

    // MARK: The end

    /// Lets the vaults change places: the old one gets a name that both programs leave alone.
    func swap(_ journal: inout RekeyJournal) throws -> RekeyResult {
        let folder = "\(Self.oldPrefix)\(old.environment.clock.nowMs)"
        journal.pending.phase = .swapped
        journal.pending.oldFolder = folder
        try journal.write(new.files, scratch: lock.scratch)
        try new.files.removeOwn(Self.sharedName)
        let root = old.layout.root
        try attempt("cannot put the new vault in place", path: old.root) { () throws(Errno) in
            try root.rename(CloneLayout.vaultName, to: root, as: folder.bytes, replacing: false)
            do throws(Errno) {
                // From here on only the new one can get the name; whoever opens the clone next gives it.
                try old.environment.failPoints.hit(.rekeyBetweenRenames)
                try root.rename(CloneLayout.newName, to: root, as: CloneLayout.vaultName, replacing: false)
            } catch {
                let isUndone =
                    (try? root.rename(folder.bytes, to: root, as: CloneLayout.vaultName, replacing: false)) != nil
                // Who opened the clone in between has given the new one its name: then this is done.
                guard !isUndone, (try? new.layout.isNamed(CloneLayout.vaultName)) == true else { throw error }
            }
            try root.sync()
        }
        return RekeyResult(
            oldVaultID: journal.pending.oldVaultID, newVaultID: journal.pending.newVaultID, oldHead: journal.oldHead,
            newHead: journal.newHead, commits: journal.commits, objects: journal.objects, unsigned: journal.unsigned,
            server: journal.pending.newServer, oldFolder: folder)
    }
}

extension PublishPlan {
    /// A plan that moves one ref and sends nothing.
    init(only ref: (id: RefID, bytes: [UInt8]), expected: Expected) {
        self.init(
            commits: [], objects: [], keys: [], index: nil, cloneRef: nil, namedRef: (ref.id, expected, ref.bytes),
            size: 0)
    }
}
