internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// What a clone's own files say at one moment: the branch index, the branches this clone works with, its head.
struct CloneState: Sendable {
    var config: CloneConfig
    var index: BranchIndex
    /// False for a vault without a stored index (spec 02 §7, "absent index").
    var hasStoredIndex: Bool
    /// This clone's own branch; nil on read-only clones.
    var cloneBranch: BranchRecord?
    /// The named branch it works against.
    var namedBranch: BranchRecord
    /// The head of this clone: its clone branch's, or the named branch's where there is none.
    var head: ObjectID?

    /// The ref that local commits move.
    var headRef: RefID { cloneBranch?.headRefID ?? namedBranch.headRefID }
    var idWidth: IDWidth { index.idWidth }
    var deflatesBlobs: Bool { index.hasFeature("blob-deflate") }
}

extension Vault {
    /// Reads the clone's state and applies the format gate (spec 06 §1).
    ///
    /// - Throws: `formatUnsupported`, `refUnreadable`, `objectCorrupt`, `branchNotFound`, `keyWrong`.
    func loadState() throws(VaultError) -> CloneState {
        let config: CloneConfig
        if let value = try files.readObject(CloneConfig.fileName) {
            config = try CloneConfig(reading: value)
        } else {
            throw VaultError(
                .objectCorrupt, "local/config.json is missing, so this clone's branch is not known",
                hint: "vaultctl fsck --repair", path: "local/config.json")
        }
        try note(config)
        let stored: BranchIndex?
        do throws(VaultError) { stored = try refs.index(ids.index) } catch {
            if error.code == .refUnreadable { try requireFittingKey() }
            throw error
        }
        if stored == nil, try refs.bytes(of: .ref(ids.headRef)) == nil { try requireFittingKey() }
        if stored == nil, mode != .readOnly, config.myBranchID?.isEmpty == false {
            throw VaultError(
                .refUnreadable, "the branch index \(ids.index.text) is missing", hint: "vaultctl fsck --repair",
                object: ids.index.text)
        }
        let index = stored ?? fallbackIndex()
        try Self.checkGate(index)
        let cloneBranch = try ownBranch(config, index)
        let named = try trackedBranch(of: cloneBranch, index)
        let headRef = cloneBranch?.headRefID ?? named.headRefID
        let head = try refs.commit(of: headRef)
        if head == nil {
            let traces = RefTraces(vault: self, boundaries: config.shallowBoundaries)
            if let loss = try traces.loss(of: cloneBranch ?? named, index) { throw loss }
        }
        return CloneState(
            config: config, index: index, hasStoredIndex: stored != nil, cloneBranch: cloneBranch, namedBranch: named,
            head: head)
    }

    /// Refuses vaults this version can not use: a newer minimum client, or packs (spec 06 §1.1).
    static func checkGate(_ index: BranchIndex) throws(VaultError) {
        try decoding("this vault can not be opened") { () throws(FormatError) in try index.checkGate() }
        if index.hasFeature("packs") {
            throw VaultError(
                .formatUnsupported, "this vault has the feature 'packs', which this version can not read or write")
        }
    }

    /// Refuses to write to a vault whose format is newer than this version's.
    static func checkWritable(_ index: BranchIndex) throws(VaultError) {
        if let format = index.format, format > 2 {
            throw VaultError(
                .formatUnsupported, "the vault has format \(format); this version writes formats 1 and 2")
        }
    }

    /// The single-branch index of a vault that has none stored (spec 02 §7).
    func fallbackIndex() -> BranchIndex {
        BranchIndex(
            branches: [
                BranchRecord(
                    branchID: ids.fallbackBranchID, name: "current", type: .named, headRefID: ids.headRef,
                    publicKeyID: nil, createdAtMs: 0, creatorBranch: nil)
            ])
    }

    private func ownBranch(_ config: CloneConfig, _ index: BranchIndex) throws(VaultError) -> BranchRecord? {
        guard mode != .readOnly, let text = config.myBranchID, !text.isEmpty else { return nil }
        let id = try decoding("local/config.json") { () throws(FormatError) in try BranchID(text) }
        guard let branch = index.branch(id: id) else {
            throw VaultError(
                .branchNotFound, "this clone's branch \(text) is not in the branch index",
                hint: "vaultctl fsck --repair", object: text)
        }
        return branch
    }

    /// The named branch of a clone branch; an unknown `creator_branch` is refused, never replaced by `current`.
    func trackedBranch(of clone: BranchRecord?, _ index: BranchIndex) throws(VaultError) -> BranchRecord {
        if let creator = clone?.creatorBranch {
            guard let named = index.branch(id: creator) else {
                throw VaultError(
                    .branchNotFound, "the branch \(creator.text) that this clone works on is not in the branch index",
                    object: creator.text)
            }
            return named
        }
        let name = readOnlyBranch ?? "current"
        guard let named = index.branches.first(where: { $0.name == name && $0.type == .named }) else {
            throw VaultError(.branchNotFound, "the vault has no branch '\(name)'", object: name)
        }
        return named
    }

    /// The key that signs a commit of this clone.
    ///
    /// - Returns: Nil where it is not to be signed, and with a warning where the key is not here.
    /// - Throws: As `requireSignable`.
    func commitKey(
        _ branch: BranchRecord, _ index: BranchIndex, signs: Bool = true, what: String = "commit",
        observer: any Observer
    ) throws(VaultError) -> P256PrivateKey? {
        try requireSignable(branch, index, signs: signs)
        guard signs else { return nil }
        let key = try signingKey(branch)
        if key == nil { observer.warning("this clone's signing key is not here; the \(what) is not signed") }
        return key
    }

    /// Refuses a commit that would not be signed in a vault that requires it: it could never be published.
    ///
    /// - Throws: `keyMissing`, `refused` where it is not to be signed.
    func requireSignable(_ branch: BranchRecord, _ index: BranchIndex, signs: Bool = true) throws(VaultError) {
        guard index.hasFeature(Feature.signaturesRequired) else { return }
        guard signs else {
            throw VaultError(
                .refused, "this vault requires signed commits, and one that is not could never be pushed",
                hint: "commit without --no-sign, and with the setting commit.sign")
        }
        guard try signingKey(branch) == nil else { return }
        throw VaultError(
            .keyMissing, "this vault requires signed commits, and this clone's signing key is not here",
            hint: "put the key back, or take the work into a new clone, which has a key of its own; vaultctl clone",
            path: branch.publicKeyID.map { "local/\($0.text).pem" })
    }

    /// The private key that signs this clone's commits, or nil when its file is not there.
    func signingKey(_ branch: BranchRecord) throws(VaultError) -> P256PrivateKey? {
        try branch.publicKeyID.flatMap { (id) throws(VaultError) in try privateKey(id) }
    }

    /// A private key of this clone, or nil when its file is not there.
    func privateKey(_ id: KeyID) throws(VaultError) -> P256PrivateKey? {
        let file: any File
        do throws(Errno) {
            file = try layout.local.openFile("\(id.text).pem".bytes)
        } catch .noSuchFile {
            return nil
        } catch {
            if let misplaced = layout.local.misplaced("\(id.text).pem".bytes, as: "local/\(id.text).pem") {
                throw misplaced
            }
            throw .io(error, "cannot read this clone's signing key", path: "local/\(id.text).pem")
        }
        let status = try attempt("cannot read this clone's signing key") { () throws(Errno) in try file.status() }
        guard status.kind == .regular, status.size > 0, status.size <= 8192 else {
            throw VaultError(
                .objectCorrupt, "local/\(id.text).pem does not hold a key", hint: "vaultctl fsck --repair",
                path: "local/\(id.text).pem")
        }
        let pem = try SecretBytes(reading: file, count: Int(status.size))
        do {
            return try pem.withBytes { (bytes) throws(CryptoError) in try P256PrivateKey(pem: bytes) }
        } catch {
            throw VaultError(
                .objectCorrupt, "local/\(id.text).pem does not hold a P-256 key", hint: "vaultctl fsck --repair",
                path: "local/\(id.text).pem", cause: error)
        }
    }

    /// Moves a local ref: compared again just before, because the reference takes no lock (spec 10 B.11).
    ///
    /// * `old`: What the work was based on.
    /// * `bytes`: Encrypted bytes to store; made here when nil.
    func moveRef(
        _ ref: RefID, from old: ObjectID?, to new: ObjectID, bytes: [UInt8]? = nil, scratch: ScratchArea
    ) throws(VaultError) {
        guard try refs.commit(of: ref) == old else {
            throw VaultError(
                .remoteMoved, "another program moved this clone's branch while this command ran; nothing was changed",
                hint: "run the command again", object: ref.text)
        }
        try storeRef(ref, old: old, new: new, bytes: bytes, scratch: scratch)
    }

    /// Stores a ref without comparing; for refs that only this command knows.
    func storeRef(
        _ ref: RefID, old: ObjectID?, new: ObjectID, bytes: [UInt8]? = nil, scratch: ScratchArea
    ) throws(VaultError) {
        var stored = bytes ?? []
        if bytes == nil { stored = try refs.encode(new, random: environment.random) }
        try attempt("cannot write the ref \(ref.text)") { () throws(Errno) in
            try environment.failPoints.hit(.refBeforeRename)
            try scratch.replace(ref.text.bytes, in: layout.refs, with: stored.span, mode: 0o666)
            try environment.failPoints.hit(.refAfterRename)
        }
        Reflog(files: files).append(
            Reflog.Entry(ref: ref, old: old, new: new, timeMs: environment.clock.nowMs), scratch: scratch)
    }

    /// Stores the branch index.
    func storeIndex(_ index: BranchIndex, bytes: [UInt8]? = nil, scratch: ScratchArea) throws(VaultError) {
        var stored = bytes ?? []
        if bytes == nil { stored = try refs.encodeIndex(index, random: environment.random) }
        try attempt("cannot write the branch index") { () throws(Errno) in
            try scratch.replace(ids.index.text.bytes, in: layout.indexes, with: stored.span, mode: 0o666)
        }
    }
}
