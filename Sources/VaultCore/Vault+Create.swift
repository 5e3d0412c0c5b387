internal import VaultCrypto
public import VaultFormat
package import VaultSystem

/// The parts of a clone under construction.
struct NewClone {
    let vault: Vault
    let scratch: ScratchArea
    let environment: VaultEnvironment
    /// Held until the clone is complete, so that nobody takes it for a leftover.
    private let lock: any File

    /// Makes the folders of a clone in `root`, under the name `.sg_vault_new` until `publish` is called.
    ///
    /// * `isMade`: Is set once that folder is there; then whoever called removes it when anything fails.
    init(
        in root: any Directory, path: FilePath, keys: KeyHolder, mode: CloneMode, environment: VaultEnvironment,
        isMade: inout Bool
    ) throws {
        let layout = try CloneLayout.make(in: root, path: path, isMade: &isMade)
        vault = try Vault(
            environment: environment, layout: layout, keys: keys, mode: mode,
            readOnlyBranch: mode == .readOnly ? "current" : nil, lockTimeout: OpenOptions().lockTimeout,
            verb: OpenOptions().verb)
        lock = try Self.takeLock(layout)
        scratch = ScratchArea(directory: try layout.ownSubfolder("tmp"), random: environment.random)
        self.environment = environment
    }

    private static func takeLock(_ layout: CloneLayout) throws(VaultError) -> any File {
        let own = try layout.ownFolder(create: true)
        return try attempt("cannot lock the new clone", path: layout.rootPath.text) { () throws(Errno) in
            guard let file = try own?.openForAppending("lock".bytes, mode: 0o600) else { throw .readOnlyFileSystem }
            guard try file.lock(wait: false) else { throw .wouldBlock }
            // By this file the leftover of a power cut is known, so its name comes before everything else's.
            for folder in [own, layout.local, layout.vault] { try folder?.sync() }
            return file
        }
    }

    /// Removes what an interrupted `init` or `clone` left in a folder.
    ///
    /// Only a folder that holds no file yet, or this program's own files, is a leftover of ours.
    /// - Throws: `locked` while another process is at work there, `refused` for somebody else's folder.
    static func removeLeftover(in root: any Directory, _ path: FilePath) throws {
        let name = CloneLayout.newName
        let isBusy = try attempt("cannot look into \(path.text)", path: path.text) { () throws(Errno) -> Bool in
            guard try root.statusIfPresent(of: name)?.kind == .directory else { return false }
            // A new vault that a rekey was about to put in the place of an old one is nobody's leftover.
            guard try !CloneLayout.holdsRekey(root) else { return false }
            let folder = try root.openDirectory(name)
            let local = try folder.openIfPresent("local")
            if let own = try local?.openIfPresent("vaultctl") {
                let lock = try own.openForAppending("lock".bytes, mode: 0o600)
                guard try lock.lock(wait: false) else { return true }
                try root.removeTree(name)
            } else if try !folder.holdsFiles() {
                try root.removeTree(name)
            }
            return false
        }
        guard !isBusy else {
            throw VaultError(.locked, "another command is making a vault in \(path.text)", path: path.text)
        }
    }

    /// Makes a key pair and stores its public half in the vault, and its private half in the clone when it signs.
    func makeKey(keepsPrivate: Bool) throws(VaultError) -> (id: KeyID, private: P256PrivateKey, stored: [UInt8]) {
        try vault.makeKey(keepsPrivate: keepsPrivate, scratch: scratch)
    }

    /// Writes a secret file of `local/`.
    func write(_ name: String, secret: borrowing SecretBytes) throws(VaultError) {
        try secret.withBytes { (bytes) throws(VaultError) in
            try attempt("cannot write local/\(name)") { () throws(Errno) in
                try scratch.replace(name.bytes, in: vault.layout.local, with: bytes, mode: 0o600)
            }
        }
    }

    /// Keeps the derived keys of a clone that holds its vault key.
    func cacheKeys(text: borrowing SecretBytes, read: ReadKey, write: WriteKey) throws(VaultError) {
        do throws(CryptoError) {
            let digest = try text.withBytes { (bytes) throws(CryptoError) in try SHA256.hash(bytes) }
            KeyCache.store(
                read: read, write: write, vaultKeyDigest: digest, layout: vault.layout, scratch: scratch)
        } catch {}  // a cache
    }
}

extension Vault {
    /// Makes a new vault in a folder: keys, the branch `current`, this clone's branch, an empty first commit (spec 02
    /// §15).
    ///
    /// Nothing is sent.
    ///
    /// * `path`: The folder; made when absent. It must be empty unless `options.existing`.
    /// * `key`: The vault key, which has to be one that every client can use.
    /// - Throws: `directoryNotEmpty`, `refused` when a vault is there already, `usage` for a key that other clients
    ///   could not use, or an I/O error.
    public static func create(at path: String, key: borrowing VaultKey, options: CreateOptions = CreateOptions())
        throws -> (vault: Vault, result: CreateResult)
    {
        try create(at: FilePath(path), key: key, options: options, environment: .production())
    }

    /// The same with the file system, clock and randomness handed in.
    package static func create(
        at path: FilePath, key: borrowing VaultKey, options: CreateOptions, environment: VaultEnvironment
    ) throws -> (vault: Vault, result: CreateResult) {
        try requireUsable(key, options)
        let (read, write) = try deriveBoth(key)
        return try create(at: path, key: key, read: read, write: write, options: options, environment: environment)
    }

    /// The same with the key's derived keys handed in too; whoever calls vouches that they are this key's.
    package static func create(
        at path: FilePath, key: borrowing VaultKey, read: ReadKey, write: WriteKey, options: CreateOptions,
        environment: VaultEnvironment
    ) throws -> (vault: Vault, result: CreateResult) {
        try requireUsable(key, options)
        let holder = KeyHolder(vaultID: key.vaultID, readKey: read, writeKey: write)
        let spare = try attempt("cannot make \(path.text)", path: path.text) { () throws(Errno) in
            try SpareFiles(beside: path, environment.fileSystem)
        }
        // What the folder itself takes, so that none is made that can not be opened.
        spare.release(2)
        let (root, rootPath, isNew) = try prepareFolder(path, allowFiles: options.existing, environment)
        var isMade = false
        do {
            return try build(
                in: root, path: rootPath, key: key, keys: holder, write, options, environment, isMade: &isMade)
        } catch {
            spare.release()
            if isMade { try? root.removeTree(CloneLayout.newName) }
            if isNew { try? openParent(rootPath, environment).removeDirectory(rootPath.lastComponent ?? []) }
            throw error
        }
    }

    private static func requireUsable(_ key: borrowing VaultKey, _ options: CreateOptions) throws(VaultError) {
        guard key.vaultID.isServable else {
            throw VaultError(.usage, "a vault id has 8 to 24 characters; no server takes a shorter one")
        }
        guard key.isUsableByReference else {
            throw VaultError(
                .usage,
                "this passphrase can not be used by every client: it must be printable ASCII and, with the vault id, "
                    + "at most \(Limits.usableKeyLength) characters")
        }
        guard (1...2).contains(options.format) else {
            throw VaultError(.usage, "the format is 1 or 2")
        }
    }

    private static func build(
        in root: any Directory, path: FilePath, key: borrowing VaultKey, keys: KeyHolder, _ writeKey: WriteKey,
        _ options: CreateOptions, _ environment: VaultEnvironment, isMade: inout Bool
    ) throws -> (vault: Vault, result: CreateResult) {
        let new = try NewClone(
            in: root, path: path, keys: keys, mode: .full, environment: environment, isMade: &isMade)
        // The lock is held until the vault has its name: before, the folder would look abandoned.
        defer { withExtendedLifetime(new) {} }
        let vault = new.vault
        let random = environment.random
        let now = vault.commitTimeMs()
        let namedKey = try new.makeKey(keepsPrivate: false)
        let cloneKey = try new.makeKey(keepsPrivate: true)
        let ids = vault.ids
        let (named, own) = try decoding("naming branches") { () throws(FormatError) in
            let named = BranchRecord(
                branchID: try BranchID.randomNamed(using: random), name: "current", type: .named,
                headRefID: ids.headRef, publicKeyID: namedKey.id, createdAtMs: now, creatorBranch: nil)
            let own = BranchRecord(
                branchID: try BranchID.randomClone(using: random), name: "local", type: .clone,
                headRefID: try ids.firstCloneRef(named: "local"), publicKeyID: cloneKey.id, createdAtMs: now,
                creatorBranch: named.branchID)
            return (named, own)
        }
        var index = BranchIndex(branches: [named, own])
        if options.format == 2 {
            index.format = 2
            index.features = ["ids-128"]
        }
        try vault.storeIndex(index, scratch: new.scratch)
        let batch = vault.newBatch(width: index.idWidth, scratch: new.scratch)
        let trees = vault.treeReader()
        let tree = try TreeEditor(trees: trees, cipher: vault.cipher, batch: batch).apply([], to: nil)
        let builder = CommitBuilder(cipher: vault.cipher, random: random, branch: own, key: cloneKey.private)
        let (head, _) = try builder.build(tree: tree, parents: [], message: "init", timeMs: now, batch: batch)
        try batch.commit()
        try vault.storeRef(named.headRefID, old: nil, new: head, scratch: new.scratch)
        try vault.storeRef(own.headRefID, old: nil, new: head, scratch: new.scratch)
        let config = CloneConfig(myBranchID: own.branchID.text, isReadOnly: false, lastRemoteHead: nil)
        try vault.files.write(CloneConfig.fileName, config.json, scratch: new.scratch)
        if let server = options.server { try vault.files.write("base_url", server.bytes, scratch: new.scratch) }
        let text = try decoding("writing the vault key") { () throws(FormatError) in try key.text() }
        try new.cacheKeys(text: text, read: vault.readKey, write: writeKey)
        try new.write("vault_key", secret: text)
        try attempt("cannot give the vault its name", path: path.text) { () throws(Errno) in
            try root.syncFileSystem()
            try root.rename(CloneLayout.newName, to: root, as: CloneLayout.vaultName, replacing: false)
            try root.sync()
        }
        return (
            vault,
            CreateResult(
                directory: path.text, vaultID: vault.vaultID, branch: named.name, branchID: named.branchID.text,
                head: head, server: options.server)
        )
    }

    /// Opens, or makes, the folder a new vault goes into.
    private static func prepareFolder(
        _ path: FilePath, allowFiles: Bool, _ environment: VaultEnvironment
    ) throws -> (root: any Directory, path: FilePath, isNew: Bool) {
        let fileSystem = environment.fileSystem
        var isNew = false
        try attempt("cannot make \(path.text)", path: path.text) { () throws(Errno) in
            do throws(Errno) {
                try fileSystem.createDirectory(path, mode: 0o777)
                isNew = true
            } catch .fileExists {}  // looked at below
        }
        let (root, canonical) = try attempt("cannot open \(path.text)", path: path.text) { () throws(Errno) in
            (try fileSystem.openDirectory(path), try fileSystem.canonicalPath(path))
        }
        try NewClone.removeLeftover(in: root, canonical)
        let names = try attempt("cannot list \(path.text)", path: path.text) { () throws(Errno) in try root.entries() }
            .map(\.name)
        if names.contains(CloneLayout.vaultName) {
            throw VaultError(.refused, "\(canonical.text) is a vault already", path: canonical.text)
        }
        if names.contains(CloneLayout.newName) {
            throw VaultError(
                .refused, "\(canonical.text) holds .sg_vault_new, which is not of this program",
                hint: "look into it, move it away, and run the command again", path: canonical.text)
        }
        guard names.isEmpty || allowFiles else {
            throw VaultError(
                .directoryNotEmpty, "\(canonical.text) is not empty", hint: "vaultctl init --existing",
                path: canonical.text)
        }
        return (root, canonical, isNew)
    }

    static func openParent(_ path: FilePath, _ environment: VaultEnvironment) throws(Errno) -> any Directory {
        try environment.fileSystem.openDirectory(path.parent)
    }
}

extension Directory {
    /// Whether anything but folders stands below this one; true as well where they nest deeper than those of a vault.
    func holdsFiles(depth: Int = 0) throws(Errno) -> Bool {
        guard depth <= Limits.treeDepth else { return true }
        for entry in try entries() {
            guard try status(of: entry.name).kind == .directory else { return true }
            if try openDirectory(entry.name).holdsFiles(depth: depth + 1) { return true }
        }
        return false
    }

    /// Opens a sub-folder; nil when it is absent.
    func openIfPresent(_ name: String) throws(Errno) -> (any Directory)? {
        do throws(Errno) {
            return try openDirectory(name.bytes)
        } catch {
            guard error == .noSuchFile else { throw error }
            return nil
        }
    }
}
