internal import VaultCrypto
public import VaultFormat
package import VaultSystem

/// How a clone is opened.
public struct OpenOptions: Sendable {
    /// Seconds to wait for another command that changes the clone.
    public var lockTimeout: Double
    /// The name of the operation, for the message that other commands show while this one holds the lock.
    ///
    /// Empty for one that changes nothing: then the lock is taken without a change to its file.
    public var verb: String
    /// Gives the key of a bare clone, which holds none.
    ///
    /// Called only when it is needed.
    public var key: (@Sendable () throws -> AccessKey)?

    /// Makes one from its parts.
    public init(lockTimeout: Double = 10, verb: String = "library", key: (@Sendable () throws -> AccessKey)? = nil) {
        self.lockTimeout = lockTimeout
        self.verb = verb
        self.key = key
    }
}

extension Vault {
    /// The vault root: the nearest folder from `start` upwards that holds `.sg_vault` (spec 03 §1).
    ///
    /// - Throws: `notAVault`.
    package static func locate(from start: FilePath, environment: VaultEnvironment) throws -> FilePath {
        var path = try attempt("cannot open \(start.text)", path: start.text) { () throws(Errno) in
            try environment.fileSystem.canonicalPath(start)
        }
        while true {
            if holdsVault(path, environment) { return path }
            // A rekey that was interrupted between its two renames; opening the clone ends it.
            if let root = try? environment.fileSystem.openDirectory(path), (try? CloneLayout.holdsRekey(root)) == true {
                return path
            }
            // One that runs may have come from the one to the other between the two looks.
            if holdsVault(path, environment) { return path }
            let parent = path.parent
            guard parent != path else {
                if let left = try leftover(from: start, environment) { throw left }
                throw VaultError(
                    .notAVault, "\(start.text) is not inside a vault", hint: "vaultctl init, or vaultctl clone",
                    path: start.text)
            }
            path = parent
        }
    }

    private static func holdsVault(_ path: FilePath, _ environment: VaultEnvironment) -> Bool {
        let place = path.appending(component: CloneLayout.vaultName)
        return (try? environment.fileSystem.status(of: place, followLinks: false))?.kind == .directory
    }

    /// What tells of a `detach` that was interrupted on its way: the folder is no clone, and the keys are there still.
    private static func leftover(from start: FilePath, _ environment: VaultEnvironment) throws -> VaultError? {
        var path = try attempt("cannot open \(start.text)", path: start.text) { () throws(Errno) in
            try environment.fileSystem.canonicalPath(start)
        }
        while true {
            let entries = (try? environment.fileSystem.openDirectory(path).entries()) ?? []
            if let found = entries.first(where: { $0.kind == .directory && $0.name.starts(with: oldPrefix) }) {
                let place = path.appending(component: found.name).text
                return VaultError(
                    .notAVault, "\(start.text) is not inside a vault; what an interrupted detach left is in \(place)",
                    hint: "remove that folder, which has the keys; vaultctl clone, or vaultctl restore-backup, makes a "
                        + "clone again", path: place)
            }
            guard path.parent != path else { return nil }
            path = path.parent
        }
    }

    private static var oldPrefix: [UInt8] { RekeyWork.oldPrefix.bytes }

    /// Opens the clone that `path` lies in.
    ///
    /// * `path`: A folder at or below the vault root.
    /// - Throws: `notAVault`, `keyMissing`, `keyWrong`, `objectCorrupt` for damaged local state, or an I/O error.
    public static func open(path: String, options: OpenOptions = OpenOptions()) throws -> Vault {
        let environment = VaultEnvironment.production()
        let root = try locate(from: FilePath(path), environment: environment)
        return try open(root: root, options: options, environment: environment)
    }

    /// Opens the clone whose root is exactly `root`.
    package static func open(
        root: FilePath, options: OpenOptions, environment: VaultEnvironment
    ) throws -> Vault {
        let directory = try attempt("cannot open \(root.text)", path: root.text) { () throws(Errno) in
            try environment.fileSystem.openDirectory(root)
        }
        let layout: CloneLayout
        do throws(VaultError) {
            layout = try openLayout(directory, root)
        } catch {
            guard error.code == .notAVault else { throw error }
            // A rekey that runs may have taken the old vault away since the look, and it was not yet to be ended.
            layout = try openLayout(directory, root)
        }
        let files = LocalFiles(layout: layout)
        if let readOnly = try readOnlyMode(files) {
            return try Vault(
                environment: environment, layout: layout,
                keys: KeyHolder(vaultID: readOnly.vaultID, readKey: readOnly.key), mode: .readOnly,
                readOnlyBranch: readOnly.branch, lockTimeout: options.lockTimeout, verb: options.verb)
        }
        if let text = try vaultKeyText(layout) {
            return try Vault(
                environment: environment, layout: layout, keys: try heldKeys(text, layout, files, environment),
                mode: .full, readOnlyBranch: nil, lockTimeout: options.lockTimeout, verb: options.verb)
        }
        guard let source = options.key else {
            throw VaultError(
                .keyMissing, "this clone holds no key", hint: "give it with --key-file, --key-fd or --key-command",
                path: root.text)
        }
        let access = try source()
        let holder = try Self.holder(for: access)
        let vault = try Vault(
            environment: environment, layout: layout, keys: holder.keys, mode: .bare,
            readOnlyBranch: holder.readOnly ? "current" : nil, lockTimeout: options.lockTimeout, verb: options.verb)
        try vault.checkKeyFits()
        return vault
    }

    private static func openLayout(_ directory: any Directory, _ root: FilePath) throws(VaultError) -> CloneLayout {
        try attempt("cannot end an interrupted rekey", path: root.text) { () throws(Errno) in
            try CloneLayout.settleRekey(directory)
        }
        return try CloneLayout(root: directory, path: root)
    }

    /// The keys that a key text gives, before any clone exists.
    static func holder(for access: borrowing AccessKey) throws(VaultError) -> (keys: KeyHolder, readOnly: Bool) {
        switch access {
        case .read(let key, let id):
            return (KeyHolder(vaultID: id, readKey: key), true)
        case .vault(let key):
            let (read, write) = try deriveBoth(key)
            let text = try decoding("reading the vault key") { () throws(FormatError) in try key.text() }
            let finder = text.withBytes { try? KeyFinder(keyText: $0, writeKey: write) }
            return (KeyHolder(vaultID: key.vaultID, readKey: read, writeKey: write, finder: finder), false)
        }
    }

    /// Derives read and write key on two cores; each costs about 75 ms.
    package static func deriveBoth(_ key: borrowing VaultKey) throws(VaultError) -> (read: ReadKey, write: WriteKey) {
        let text = try decoding("reading the vault key") { () throws(FormatError) in try key.text() }
        return try deriveBoth(SharedSecret(text))
    }

    private static func deriveBoth(_ shared: SharedSecret) throws(VaultError) -> (read: ReadKey, write: WriteKey) {
        do {
            let (read, write) = try WorkerPool.concurrently(
                { try shared.withKey { (key) throws(FormatError) in try key.deriveReadKey() } },
                beside: { try shared.withKey { (key) throws(FormatError) in try key.deriveWriteKey() } })
            return (read, write)
        } catch let error as FormatError {
            throw .format(error, "deriving the keys")
        } catch {
            throw VaultError(.internalError, "deriving the keys failed", cause: error)
        }
    }

    private static func heldKeys(
        _ text: consuming SecretBytes, _ layout: CloneLayout, _ files: LocalFiles, _ environment: VaultEnvironment
    ) throws -> KeyHolder {
        let digest = try text.withBytes { bytes throws(CryptoError) in try SHA256.hash(bytes) }
        let shared = SharedSecret(text)
        let vaultID = try decoding("local/vault_key") { () throws(FormatError) in
            try shared.withKey { (key) throws(FormatError) in key.vaultID }
        }
        if let cached = KeyCache.load(layout: layout, vaultKeyDigest: digest) {
            return KeyHolder(vaultID: vaultID, readKey: cached.read, writeKey: cached.write)
        }
        // Settings that do not read are told by whoever needs them; until then nothing is kept.
        func cachesKeys() -> Bool { (try? CloneSettings(files: files))?.cachesKeys ?? false }
        // Asked again under the lock: where the setting was just changed the keys must not come back.
        if cachesKeys(),
            let lock = CloneLock.tryAcquire(layout: layout, environment: environment, verb: "key cache"), cachesKeys()
        {
            let (read, write) = try deriveBoth(shared)
            KeyCache.store(
                read: read, write: write, vaultKeyDigest: digest, layout: layout, scratch: lock.scratch)
            return KeyHolder(vaultID: vaultID, readKey: read, writeKey: write)
        }
        let read = try decoding("deriving the read key") { () throws(FormatError) in
            try shared.withKey { (key) throws(FormatError) in try key.deriveReadKey() }
        }
        return KeyHolder(vaultID: vaultID, readKey: read) { () throws(VaultError) in
            try decoding("deriving the write key") { () throws(FormatError) in
                try shared.withKey { (key) throws(FormatError) in try key.deriveWriteKey() }
            }
        }
    }

    /// The text of `local/vault_key` (or its legacy place), or nil when the clone holds none.
    static func vaultKeyText(_ layout: CloneLayout) throws(VaultError) -> SecretBytes? {
        for (folder, name) in [(layout.local, "vault_key"), (layout.vault, "VAULT-KEY")] {
            let file: any File
            do throws(Errno) {
                file = try folder.openFile(name.bytes)
            } catch .noSuchFile {
                continue
            } catch {
                throw .io(error, "cannot read \(name)", path: layout.rootPath.text)
            }
            let status = try attempt("cannot read \(name)") { () throws(Errno) in try file.status() }
            guard status.kind == .regular, status.size > 0, status.size <= 4096 else {
                throw VaultError(.keyWrong, "local/\(name) does not hold a vault key", path: layout.rootPath.text)
            }
            return try SecretBytes(reading: file, count: Int(status.size))
        }
        return nil
    }

    /// `clone_mode.json` (spec 03 §2.2): present and not understood refuses every command.
    private static func readOnlyMode(
        _ files: LocalFiles
    ) throws(VaultError) -> (vaultID: VaultID, key: ReadKey, branch: String)? {
        let corrupt = VaultError(
            .objectCorrupt, "corrupt clone mode: local/clone_mode.json does not read",
            hint: "move it away and give the key with --key-file to look at the clone",
            path: "local/clone_mode.json")
        let value: JSONValue
        do throws(VaultError) {
            guard let read = try files.readObject("clone_mode.json") else { return nil }
            value = read
        } catch {
            throw error.code == .objectCorrupt ? corrupt : error
        }
        switch value["mode"]?.textValue {
        case "full": return nil
        case "read-only":
            guard let id = value["vault_id"]?.textValue, let key = value["read_key"]?.textValue else { throw corrupt }
            do throws(FormatError) {
                let vaultID = try VaultID(id.hasPrefix("vault://") ? String(id.dropFirst(8)) : id)
                return (vaultID, try ReadKey(hex: key.bytes.span), value["branch_name"]?.textValue ?? "current")
            } catch {
                throw corrupt
            }
        default: throw corrupt
        }
    }

    /// Whether the key given for a bare clone opens it.
    func checkKeyFits() throws(VaultError) {
        let index = try refs.bytes(of: .index(ids.index), limit: Limits.indexPlaintext)
        let head = try refs.bytes(of: .ref(ids.headRef))
        guard index != nil || head != nil else {
            throw VaultError(.keyWrong, "this key is not the key of the vault in \(root)", path: root)
        }
    }
}

/// A vault key's text shared by the threads that derive from it.
private final class SharedSecret: Sendable {
    private let text: SecretBytes

    init(_ text: consuming SecretBytes) {
        self.text = text
    }

    func withKey<T>(_ body: (borrowing VaultKey) throws(FormatError) -> T) throws(FormatError) -> T {
        try text.withBytes { (bytes) throws(FormatError) in
            let key = try VaultKey(parsing: bytes)
            return try body(key)
        }
    }
}
