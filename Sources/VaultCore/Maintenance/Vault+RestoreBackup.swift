internal import VaultCrypto
public import VaultFormat
package import VaultSystem

extension Vault {
    /// Makes a clone of a backup: what a backup may hold and nothing else, every object checked against its id,
    /// everything reachable there, then the working copy (spec 05 §14, K31).
    ///
    /// The folder gets its name, or an existing one its vault, only when everything is there.
    ///
    /// * `zip`: A backup of this program or of the reference.
    /// * `path`: A folder that is absent or empty; with `options.existing` one that holds files.
    /// * `key`: Nil where the backup holds the vault key.
    /// - Throws: `keyMissing`, `keyWrong`, `directoryNotEmpty`, `refused` for what is no backup, `objectCorrupt`,
    ///   `objectMissing`, `formatUnsupported` for a compressed one, or an I/O error. Nothing is left behind then.
    public static func restoreBackup(
        _ zip: String, to path: String, key: consuming AccessKey?, options: RestoreOptions = RestoreOptions(),
        observer: any Observer = SilentObserver()
    ) throws -> RestoreBackupResult {
        try restoreBackup(
            FilePath(zip), to: FilePath(path), key: key, options: options, environment: .production(),
            observer: observer)
    }

    /// The same with the file system, clock and randomness handed in.
    package static func restoreBackup(
        _ zip: FilePath, to path: FilePath, key: consuming AccessKey?, options: RestoreOptions,
        environment: VaultEnvironment, observer: any Observer
    ) throws -> RestoreBackupResult {
        let (file, _) = try openBackup(zip, environment)
        let backup = try BackupFile(file, name: zip.text)
        let heldKey = try backup.secret(.vaultKey)
        let hasKey = backup.holds(.vaultKey)
        let cloneOptions = CloneOptions(bare: options.bare)
        let cloneKey: CloneKey
        if let key {
            cloneKey = try CloneKey(key, options: cloneOptions)
        } else if let heldKey {
            let vaultKey = try decoding("the key in the backup") { () throws(FormatError) in
                try heldKey.withBytes { (bytes) throws(FormatError) in try VaultKey(parsing: bytes) }
            }
            cloneKey = try CloneKey(.vault(vaultKey), options: cloneOptions)
        } else {
            throw VaultError(
                .keyMissing, "the backup does not hold the vault's key",
                hint: "give it with --key-file, --key-fd or --key-command")
        }
        let restore = BackupRestore(
            backup: backup, key: cloneKey, options: options, environment: environment, observer: observer)
        var result = try options.existing ? restore.run(inExisting: path) : restore.run(inNew: path)
        result.heldKey = hasKey
        return result
    }
}

/// One restoration.
private struct BackupRestore {
    let backup: BackupFile
    let key: CloneKey
    let options: RestoreOptions
    let environment: VaultEnvironment
    let observer: any Observer

    func run(inNew path: FilePath) throws -> RestoreBackupResult {
        let place = try ClonePlace(path, environment: environment)
        do {
            let new = try place.makeClone(keys: key.holder, mode: key.mode, environment: environment)
            defer { withExtendedLifetime(new) {} }
            var result = try fill(new)
            if let head = result.head, key.mode != .bare {
                let vault = new.vault
                let graph = CommitGraph(store: vault.store, cipher: vault.cipher)
                // Of what a sparse clone has left at its remote there is nothing to be written.
                let isSparse = vault.part.isSparse
                let outcome = try new.checkOut(
                    graph.tree(of: head), trees: vault.treeReader(),
                    blobs: BlobReader(store: vault.store, cipher: vault.cipher), in: place, observer
                ) { (file) throws(VaultError) in isSparse ? try vault.store.holds(file.entry.blobID) : true }
                if isSparse { try vault.writeCheckoutRecord(outcome.written, scratch: new.scratch) }
                result.files = outcome.written.count
                result.notStored = outcome.notStored
            }
            result.directory = try place.publish()
            return result
        } catch {
            place.discard()
            throw error
        }
    }

    /// Puts the vault beside the files of a folder.
    func run(inExisting path: FilePath) throws -> RestoreBackupResult {
        let (root, real) = try attempt("cannot open \(path.text)", path: path.text) { () throws(Errno) in
            (try environment.fileSystem.openDirectory(path), try environment.fileSystem.canonicalPath(path))
        }
        try NewClone.removeLeftover(in: root, real)
        let isTaken = try attempt("cannot look into \(real.text)") { () throws(Errno) in
            try root.statusIfPresent(of: CloneLayout.vaultName) != nil
        }
        guard !isTaken else {
            throw VaultError(.refused, "\(real.text) is a vault already", path: real.text)
        }
        var isMade = false
        do {
            let new = try NewClone(
                in: root, path: real, keys: key.holder, mode: key.mode, environment: environment, isMade: &isMade)
            defer { withExtendedLifetime(new) {} }
            var result = try fill(new)
            try recordWritten(new, result.head, in: root)
            try attempt("cannot give the vault its name", path: real.text) { () throws(Errno) in
                try root.syncFileSystem()
                try root.rename(CloneLayout.newName, to: root, as: CloneLayout.vaultName, replacing: false)
                try root.sync()
            }
            result.directory = real.text
            return result
        } catch {
            if isMade { try? root.removeTree(CloneLayout.newName) }
            throw error
        }
    }

    /// Which files of a sparse clone are in its working copy is not in the backup: those that are there.
    private func recordWritten(_ new: NewClone, _ head: ObjectID?, in root: any Directory) throws {
        let vault = new.vault
        guard vault.part.isSparse, let head, key.mode != .bare else { return }
        let graph = CommitGraph(
            store: vault.store, cipher: vault.cipher, boundaries: try vault.loadState().config.shallowBoundaries)
        var written: [VaultPath] = []
        for file in try vault.treeReader().files(graph.tree(of: head)) {
            let isThere = try attempt("cannot look at \(file.path)", path: file.path.description) { () throws(Errno) in
                do throws(Errno) {
                    return try root.openDirectory(beneath: file.path.parent?.bytes ?? [])
                        .statusIfPresent(of: file.path.lastSegment)?.kind == .regular
                } catch .noSuchFile { return false } catch .notADirectory { return false } catch .tooManyLinks {
                    return false
                }
            }
            if isThere { written.append(file.path) }
        }
        try vault.writeCheckoutRecord(written, scratch: new.scratch)
    }

    /// Everything but the working copy.
    private func fill(_ new: NewClone) throws -> RestoreBackupResult {
        let vault = new.vault
        guard backup.holds(.stored(.index(vault.ids.index))) || backup.holds(.stored(.ref(vault.ids.headRef))) else {
            throw VaultError(.keyWrong, "this key is not the key of the vault in the backup")
        }
        let objects = try storeFiles(new)
        try backup.requireRefs(forObjects: objects)
        try storeLocal(new)
        try storeKey(new)
        var state = try vault.loadState()
        // Two clones with one branch would write over each other, and without its key nothing could be signed.
        let lacksKey = state.cloneBranch.map { branch in
            branch.publicKeyID.map { !backup.holds(.signingKey($0)) } ?? true
        }
        let needsBranch = key.canWrite && lacksKey ?? true
        if needsBranch {
            let branch = try vault.addOwnBranch(
                to: state.index, on: state.namedBranch, head: state.head, scratch: new.scratch)
            state.config.myBranchID = branch.branchID.text
            try vault.files.write(CloneConfig.fileName, state.config.json, scratch: new.scratch)
        }
        try vault.requireSound(observer: observer)
        return RestoreBackupResult(
            directory: "", vaultID: vault.vaultID, mode: key.mode, head: state.head, objects: objects, files: 0,
            heldKey: false, hasNewBranch: needsBranch, skipped: backup.skipped, notStored: [])
    }

    private func storeFiles(_ new: NewClone) throws -> Int {
        let vault = new.vault
        let batch = vault.newBatch(width: .short, scratch: new.scratch, isNewStore: true)
        for (number, (member, place)) in backup.members.enumerated() {
            try environment.pool.checkCancellation()
            observer.progress(Progress(phase: .copy, done: number, total: backup.members.count))
            guard case .stored(let id) = member else { continue }
            guard case .object(let object) = id else {
                var bytes: [UInt8] = []
                try backup.stream(place) { span in for index in span.indices { bytes.append(span[index]) } }
                let target = try vault.layout.place(of: id)
                try attempt("cannot store \(id.path)") { () throws(Errno) in
                    try new.scratch.replace(
                        target.name, in: target.folder, with: bytes.span, mode: 0o666, durable: false)
                }
                continue
            }
            let (file, name) = try batch.begin()
            let hash = try IncrementalHash()
            do {
                try backup.stream(place) { piece in
                    try hash.update(piece)
                    try attempt("cannot store object \(object.text)") { () throws(Errno) in try file.write(piece) }
                }
            } catch {
                batch.discard(name)
                throw error
            }
            _ = try batch.finish(name, digest: try hash.finish(), size: place.size, id: object)
        }
        try batch.commit()
        return batch.count.objects
    }

    private func storeLocal(_ new: NewClone) throws {
        let files = new.vault.files
        guard let bytes = try backup.content(.local(CloneConfig.fileName)) else {
            throw VaultError(.objectCorrupt, "the backup lacks local/config.json, so its branch is not known")
        }
        var config = try CloneConfig(reading: LocalFiles.object(bytes, "local/config.json"))
        // A baseline that is promised and missing would count as lost.
        let hasHeads = backup.holds(.local(RemoteHeads.fileName))
        if !hasHeads { config.remoteHeadsFile = false }
        // Without the write key it is a clone that reads.
        if key.canWrite { config.isReadOnly = false }
        if !key.canWrite, key.mode == .readOnly { (config.myBranchID, config.isReadOnly) = (nil, true) }
        // A server's address in it would be one more that a backup is not to bring.
        let json = JSONValue.object((config.json.members ?? []).filter { $0.name != "api_url" })
        try files.write(CloneConfig.fileName, json, scratch: new.scratch)
        for name in BackupMember.localNames where name != CloneConfig.fileName {
            guard let bytes = try backup.content(.local(name)) else { continue }
            _ = try LocalFiles.object(bytes, "local/\(name)")
            try files.write(name, bytes, scratch: new.scratch)
        }
        for case (.signingKey(let id), _) in backup.members where key.canWrite {
            if let pem = try backup.secret(.signingKey(id)) { try new.write("\(id.text).pem", secret: pem) }
        }
        if let server = options.server { try files.write("base_url", server.bytes, scratch: new.scratch) }
    }

    private func storeKey(_ new: NewClone) throws {
        switch key.mode {
        case .readOnly: try new.writeReadOnlyMode()
        case .full:
            try key.withText { text throws(VaultError) in
                if let writeKey = key.writeKey {
                    try new.cacheKeys(text: text, read: new.vault.readKey, write: writeKey)
                }
                try new.write("vault_key", secret: text)
            }
        case .bare: break
        }
    }
}
