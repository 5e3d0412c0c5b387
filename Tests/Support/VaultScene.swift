package import VaultCore
package import VaultCrypto
package import VaultFormat
package import VaultSystem

/// The keys of one vault, derived once for a whole campaign.
package final class SceneKeys: Sendable {
    package let text: SecretBytes
    package let vaultID: VaultID
    package let clone: CloneKey
    package let read: ReadKey
    package let write: WriteKey

    private static let standard = Result { try SceneKeys("campaign passphrase:campaign1") }

    /// The same keys for every test of a run: deriving them takes longer than most tests.
    package static func shared() throws -> SceneKeys { try standard.get() }

    package init(_ text: String) throws {
        let bytes = Array(text.utf8)
        let key = try VaultKey(parsing: bytes.span)
        vaultID = key.vaultID
        read = try key.deriveReadKey()
        write = try key.deriveWriteKey()
        self.text = try key.text()
        clone = try CloneKey(.vault(key), options: CloneOptions())
    }
}

/// Clones and a folder remote on one file system, for campaigns that run thousands of operations.
package struct VaultScene: Sendable {
    package let keys: SceneKeys
    package let environment: VaultEnvironment
    package let base: FilePath

    package var fileSystem: any FileSystem { environment.fileSystem }
    package var remotePath: FilePath { base.appending(component: "remote") }

    /// * `seed`: Of everything random but signing keys, which the cryptographic library makes.
    /// * `workers`: One, where the n-th call has to be the same call in every run.
    package init(
        keys: SceneKeys, on fileSystem: any FileSystem, base: FilePath = "/", seed: UInt64,
        failPoints: FailPoints = .none, workers: Int = 1, clock: any Clock = VaultScene.clock
    ) {
        self.keys = keys
        self.base = base
        environment = VaultEnvironment(
            fileSystem: fileSystem, clock: clock, random: SeededRandom(seed: seed), failPoints: failPoints,
            pool: WorkerPool(threads: workers))
    }

    /// The same files seen by another process, so to speak.
    package init(keys: SceneKeys, environment: VaultEnvironment, base: FilePath) {
        self.keys = keys
        self.environment = environment
        self.base = base
    }

    /// Moves at every look, so that waiting for a lock ends.
    package static let clock = TestClock(stepNs: 20_000_000)

    package func remote() -> FolderRemote {
        FolderRemote(path: remotePath, vaultID: keys.vaultID, environment: environment)
    }

    package func path(_ name: String) -> FilePath { base.appending(component: name) }

    package func create(_ name: String) throws -> Vault {
        try keys.text.withBytes { bytes in
            let key = try VaultKey(parsing: bytes)
            return try Vault.create(
                at: path(name), key: key, read: keys.read, write: keys.write,
                options: CreateOptions(server: remotePath.text), environment: environment
            ).vault
        }
    }

    @discardableResult
    package func clone(_ name: String, _ options: CloneOptions = CloneOptions()) async throws -> CloneResult {
        var options = options
        options.server = remotePath.text
        return try await Vault.clone(
            from: remote(), key: keys.clone, to: path(name), options: options, environment: environment,
            observer: SilentObserver())
    }

    /// Opens a clone; another command that holds its lock is waited for `timeout` seconds.
    package func open(_ name: String, timeout: Double = 0) throws -> Vault {
        try Vault.open(
            root: path(name), options: OpenOptions(lockTimeout: timeout, verb: "campaign"), environment: environment)
    }

    // MARK: Files of a working copy

    /// Writes a file the way an editor does: a new file in place of the old one.
    package func put(_ text: String, at path: String, in name: String) throws {
        try put(Array(text.utf8), at: path, in: name)
    }

    package func put(_ bytes: [UInt8], at path: String, in name: String) throws {
        var directory = try fileSystem.openDirectory(self.path(name))
        let parts = path.split(separator: "/").map { Array($0.utf8) }
        for part in parts.dropLast() { directory = try directory.openDirectory(part, creatingWith: 0o755) }
        guard let last = parts.last else { throw Errno.invalidArgument }
        try directory.removeTree(last)
        try directory.createFile(last, mode: 0o644).write(bytes.span)
    }

    package func remove(_ path: String, in name: String) throws {
        var directory = try fileSystem.openDirectory(self.path(name))
        let parts = path.split(separator: "/").map { Array($0.utf8) }
        for part in parts.dropLast() { directory = try directory.openDirectory(part) }
        guard let last = parts.last else { throw Errno.invalidArgument }
        try directory.removeFile(last)
    }

    /// Every file of the working copy, the vault's own folder left out.
    package func workingFiles(_ name: String) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        try Self.collect(try fileSystem.openDirectory(path(name)), behind: "", into: &found)
        return found
    }

    /// Every file below a folder, by relative path.
    package static func collect(
        _ directory: any Directory, behind prefix: String, skipping skipped: Set<String> = [".sg_vault"],
        into found: inout [String: [UInt8]]
    ) throws {
        for entry in try directory.entries() {
            let name = String(decoding: entry.name, as: UTF8.self)
            if skipped.contains(name) { continue }
            if entry.kind == .directory {
                let folder = try directory.openDirectory(entry.name)
                try collect(folder, behind: prefix + name + "/", skipping: skipped, into: &found)
            } else {
                found[prefix + name] = try directory.openFile(entry.name).readToEnd(limit: 64 << 20)
            }
        }
    }

    /// Every file of a revision, read through the vault.
    package func committedFiles(_ vault: Vault, revision: String? = nil) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for entry in try vault.list(recursive: true, revision: revision) {
            var bytes: [UInt8] = []
            _ = try vault.read(entry.path, revision: revision) { span in
                for index in span.indices { bytes.append(span[index]) }
            }
            found[String(decoding: entry.path.bytes, as: UTF8.self)] = bytes
        }
        return found
    }

    /// The ids of every commit that the head reaches.
    package func history(_ vault: Vault) throws -> Set<ObjectID> {
        var found: Set<ObjectID> = []
        try vault.log { entry in
            found.insert(entry.commit.id)
            return true
        }
        return found
    }

    /// What commands left in the places for unfinished files: nothing, after one that succeeded.
    package func leftovers(_ name: String) throws -> [String] {
        var found: [String] = []
        let path = path(name).appending(relative: Array(".sg_vault/local/vaultctl/tmp".utf8))
        if let tmp = try? fileSystem.openDirectory(path) {
            found += try tmp.entries().map { String(decoding: $0.name, as: UTF8.self) }
        }
        return found
    }
}
