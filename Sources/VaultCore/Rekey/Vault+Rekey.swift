package import VaultCrypto
public import VaultFormat
internal import VaultSystem

extension Vault {
    /// The rekey that was begun in this clone and has not been ended; nil when there is none.
    public func pendingRekey() throws -> PendingRekey? {
        if let new = try RekeyPlace.open(self) {
            var pending = try RekeyJournal.read(new.files)?.pending
            // Noted just before the two change places.
            if pending?.phase == .swapped { pending?.phase = .published }
            return pending
        }
        return try RekeyJournal.read(files)?.pending
    }

    /// The key of the vault that a pending rekey makes, for whoever shows it.
    ///
    /// - Throws: `refused` when no rekey was begun, `keyMissing`.
    package func pendingKeyText() throws -> SecretBytes {
        guard let new = try RekeyPlace.open(self) else {
            throw VaultError(.refused, "no rekey was begun here", hint: "vaultctl rekey")
        }
        guard let text = try Self.vaultKeyText(new.layout) else {
            throw VaultError(.keyMissing, "the new key is lost", hint: "vaultctl rekey --abandon")
        }
        return text
    }

    /// Begins to give this vault another key and with it another id: stores the new key beside the old vault, durably.
    ///
    /// The old vault is not changed before `finishRekey`, and not even then lost. Whoever has the old key keeps what was
    /// ever fetched with it; a new key protects what is written from now on.
    ///
    /// * `key`: One that every client can use.
    /// * `server`: Where the new vault is to be published; nil for nowhere.
    /// - Throws: `readOnlyClone`, `partialClone`, `mergeInProgress`, `refused` when a rekey is pending or there are
    ///   stashes or unpushed tags, `usage` for the same vault id or a key that others could not use.
    public func beginRekey(to key: borrowing VaultKey, server: String?) throws {
        try requireRekeyable()
        guard key.vaultID != vaultID else { throw VaultError(.usage, "the new key is of the same vault id") }
        guard key.isUsableByReference, key.vaultID.isServable else {
            throw VaultError(.usage, "the new key can not be used by every client")
        }
        let lock = try lock(settling: true)
        defer { withExtendedLifetime(lock.scratch) {} }
        if let new = try RekeyPlace.open(self), try RekeyJournal.read(new.files) != nil {
            throw VaultError(
                .refused, "a rekey was begun already", hint: "vaultctl rekey --resume, or vaultctl rekey --abandon")
        }
        let state = try loadState()
        try requireWhole(state)
        try NewClone.removeLeftover(in: layout.root, rootPath)
        let (read, write) = try Self.deriveBoth(key)
        let holder = KeyHolder(vaultID: key.vaultID, readKey: read, writeKey: write)
        var isMade = false
        do {
            let new = try NewClone(
                in: layout.root, path: rootPath, keys: holder, mode: .full, environment: environment, isMade: &isMade)
            let text = try decoding("writing the vault key") { () throws(FormatError) in try key.text() }
            try new.write("vault_key", secret: text)
            let pending = PendingRekey(
                phase: .building, oldVaultID: vaultID, newVaultID: key.vaultID, oldServer: try recordedServer(),
                newServer: server, oldFolder: nil)
            // With this record the folder counts; without it the next command removes it.
            try RekeyJournal(pending).write(new.vault.files, scratch: new.scratch)
            try attempt("cannot sync the new vault") { () throws(Errno) in try layout.root.syncFileSystem() }
        } catch {
            if isMade { try? layout.root.removeTree(CloneLayout.newName) }
            throw error
        }
    }

    /// Goes on with a rekey from where it stopped.
    ///
    /// Encrypts every object anew, checks the result whole, publishes it and reads it back, and only then lets the two
    /// vaults change places. The old one stays beside it.
    ///
    /// * `remote`: Opens the place of the new vault where it is to be published.
    /// - Throws: `refused` when none was begun, when the old vault went on meanwhile, or when the place holds another
    ///   vault; whatever building, publishing or reading back throws. Then this clone is one of the old vault still, and
    ///   the call can be repeated, or `abandonRekey` ends it.
    public func finishRekey(
        publishingTo remote: (PendingRekey) throws -> (any Remote)?, observer: any Observer = SilentObserver()
    ) async throws -> RekeyResult {
        try requireRekeyable()
        let lock = try lock(settling: true)
        defer { withExtendedLifetime(lock.scratch) {} }
        guard let place = try RekeyPlace.open(self), var journal = try RekeyJournal.read(place.files) else {
            throw VaultError(.refused, "no rekey was begun here", hint: "vaultctl rekey")
        }
        let state = try loadState()
        try requireWhole(state)
        let work = try RekeyWork(old: self, state: state, place: place, observer: observer)
        if journal.pending.phase != .building, journal.heads != (try work.oldHeads()) {
            throw VaultError(
                .refused, "commits were made here since the rekey was begun, which the new vault lacks",
                hint: "vaultctl rekey --abandon, and then begin anew")
        }
        if journal.pending.phase == .building {
            try work.build(&journal)
            try attempt("interrupted") { () throws(Errno) in try environment.failPoints.hit(.rekeyBuilt) }
        }
        if journal.pending.phase == .built {
            if let remote = try remote(journal.pending) {
                try await work.publish(to: remote, &journal)
                try attempt("interrupted") { () throws(Errno) in try environment.failPoints.hit(.rekeyPublished) }
            } else {
                journal.pending.newServer = nil
            }
        }
        return try work.swap(&journal)
    }

    /// Gives a rekey up before the vaults have changed places: removes what was made, with its key.
    ///
    /// What was published already stays at its server, under a vault id that nobody needs.
    /// - Throws: `refused` when there is nothing to give up.
    public func abandonRekey() throws {
        let lock = try lock()
        defer { withExtendedLifetime(lock.scratch) {} }
        let isThere = try attempt("cannot look for a rekey") { () throws(Errno) in
            try CloneLayout.holdsRekey(layout.root)
        }
        guard isThere else { throw VaultError(.refused, "no rekey was begun here that could be given up") }
        try attempt("cannot remove the new vault") { () throws(Errno) in
            try layout.root.removeTree(CloneLayout.newName)
            try layout.root.sync()
        }
    }

    /// Destroys the vault that a rekey has replaced at its server, if it was published, and then its files here.
    ///
    /// * `remote`: Opens the place of the old vault.
    /// - Returns: What was destroyed at a server; nil when there was nothing.
    /// - Throws: `refused` when no rekey has come that far, or while backups are in the old folder, `remoteMoved` when the
    ///   old vault went on at its server, so that the new one lacks commits, `keyMissing` when its key went with its folder, or what `destroyRemote` throws.
    public func destroyReplaced(
        at remote: (PendingRekey) throws -> (any Remote)?
    ) async throws -> RemoteDestruction? {
        let lock = try lock()
        guard var journal = try RekeyJournal.read(files), journal.pending.phase == .swapped,
            let folder = journal.pending.oldFolder, folder.hasPrefix(RekeyWork.oldPrefix), !folder.contains("/")
        else { throw VaultError(.refused, "no rekey has replaced a vault here") }
        var destroyed: RemoteDestruction?
        let isThere = try attempt("cannot look for the old vault") { () throws(Errno) in
            try layout.root.statusIfPresent(of: folder.bytes) != nil
        }
        if isThere { try refuseBackupLoss(in: folder) }
        if let remote = try remote(journal.pending) {
            guard isThere else {
                throw VaultError(
                    .keyMissing, "\(folder) is gone, and with it the key that destroys the vault at \(remote.location)",
                    hint: "vaultctl destroy, in another clone of the old vault", path: folder)
            }
            let old = try RekeyPlace(self, folder).vault(lockTimeout: lockTimeout)
            guard old.vaultID == journal.pending.oldVaultID else {
                throw VaultError(.refused, "\(folder) does not hold the vault that was replaced", path: folder)
            }
            if try await !remote.list(.all).isEmpty {
                try await old.requireCarriedOver(Array(journal.heads.values), at: remote)
                destroyed = try await old.destroyRemote(remote)
            }
            // Stopped from here on, the files are left, and perhaps not the key among them.
            journal.pending.oldServer = nil
            try journal.write(files, scratch: lock.scratch)
        }
        guard isThere else {
            try files.removeOwn(RekeyJournal.name)
            return destroyed
        }
        try attempt("cannot remove the old vault") { () throws(Errno) in
            try layout.root.removeTree(folder.bytes)
            try layout.root.sync()
        }
        try files.removeOwn(RekeyJournal.name)
        _ = consume lock
        return destroyed
    }

    /// Refuses to go on where branches at a remote have commits that some heads do not reach.
    private func requireCarriedOver(_ heads: [ObjectID], at remote: any Remote) async throws {
        let state = try loadState()
        let snapshot = try await snapshot(of: remote, ref: state.namedBranch.headRefID)
        let carried = AncestorSet(graph: CommitGraph(store: store, cipher: cipher), of: heads)
        for head in try await namedHeads(snapshot, at: remote) {
            if try store.holds(head), try carried.contains(head) { continue }
            throw VaultError(
                .remoteMoved,
                "\(remote.location) got commits since the rekey, which the new vault lacks; nothing was destroyed",
                hint: "clone the old vault with its key, and carry over what is new in it", object: head.text)
        }
    }

    private func requireRekeyable() throws(VaultError) {
        try requireWritable("change its key")
        guard mode == .full else {
            throw VaultError(.refused, "a bare clone holds no vault key to be replaced", hint: "vaultctl attach")
        }
    }

    private func requireWhole(_ state: CloneState) throws {
        guard !holdsPart(state.config) else {
            throw VaultError(
                .partialClone, "this clone holds a part of the vault only, and a new key is for all of it",
                hint: "use a full clone", path: root)
        }
        try refuseDuringMerge()
        guard try StashShelf(vault: self).count() == 0 else {
            throw VaultError(
                .refused, "stashes are encrypted with the key that goes", hint: "vaultctl stash pop, or stash drop")
        }
        guard try pendingTags().isEmpty else {
            throw VaultError(.refused, "tags made or deleted here were not pushed yet", hint: "vaultctl push")
        }
    }
}
