import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A vault made here, published to a folder, and the clones of it: the setting of most sync tests.
final class TwoClones: Sendable {
    let folder: TemporaryFolder
    let remotePath: FilePath
    let environment: VaultEnvironment
    let keyText: SecretBytes

    init(environment: VaultEnvironment = .production()) throws {
        folder = try TemporaryFolder("clones")
        remotePath = folder.appending("remote")
        self.environment = environment
        keyText = try VaultKey.generate().text()
    }

    func remote(id: VaultID? = nil) throws -> FolderRemote {
        FolderRemote(path: remotePath, vaultID: try id ?? vaultID(), environment: environment)
    }

    func vaultID() throws -> VaultID {
        try keyText.withBytes { try VaultKey(parsing: $0).vaultID }
    }

    /// A new vault in `name`, not pushed.
    func create(_ name: String, format: Int = 1) throws -> Vault {
        try keyText.withBytes { bytes in
            let key = try VaultKey(parsing: bytes)
            return try Vault.create(
                at: folder.appending(name), key: key, options: CreateOptions(format: format, server: remotePath.text),
                environment: environment
            ).vault
        }
    }

    func cloneKey(_ options: CloneOptions) throws -> CloneKey {
        try keyText.withBytes { bytes in
            let key = try VaultKey(parsing: bytes)
            return try CloneKey(.vault(key), options: options)
        }
    }

    /// A clone of the remote in `name`.
    func clone(_ name: String, _ options: CloneOptions = CloneOptions()) async throws -> Vault {
        var options = options
        options.server = remotePath.text
        _ = try await Vault.clone(
            from: try remote(), key: try cloneKey(options), to: folder.appending(name), options: options,
            environment: environment, observer: SilentObserver())
        return try open(name)
    }

    func open(_ name: String) throws -> Vault {
        try Vault.open(root: folder.appending(name), options: OpenOptions(), environment: environment)
    }

    /// A clone in which `hook` runs at a place of its work, with the number of times it came by there.
    func open(
        _ name: String, at place: FailPoint, _ hook: @escaping @Sendable (Int) throws -> Void
    ) throws -> Vault {
        let count = Locked(0)
        let points = FailPoints { (point: FailPoint) throws(Errno) in
            guard point == place else { return }
            let number = count.withLock { count in
                count += 1
                return count
            }
            do { try hook(number) } catch { throw (error as? Errno) ?? .ioError }
        }
        let environment = VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SecureRandom(), failPoints: points,
            pool: WorkerPool(threads: 1))
        return try Vault.open(root: folder.appending(name), options: OpenOptions(), environment: environment)
    }

    /// A vault in "a" with one file, published.
    static func published() async throws -> (setting: TwoClones, first: Vault) {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("one", to: "f", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        return (setting, first)
    }

    /// Writes a file of a working copy, making its folders.
    func write(_ text: String, to path: String, in name: String) throws {
        var directory = try environment.fileSystem.openDirectory(folder.appending(name))
        let parts = path.split(separator: "/").map { Array($0.utf8) }
        for part in parts.dropLast() { directory = try directory.openDirectory(part, creatingWith: 0o755) }
        try? directory.removeFile(parts[parts.count - 1])
        try directory.createFile(parts[parts.count - 1], mode: 0o644).write(Array(text.utf8).span)
    }

    func remove(_ path: String, in name: String) throws {
        let parts = path.split(separator: "/").map { Array($0.utf8) }
        let root = try environment.fileSystem.openDirectory(folder.appending(name))
        var directory = root
        for part in parts.dropLast() { directory = try directory.openDirectory(part) }
        try directory.removeFile(parts[parts.count - 1])
    }

    /// The text of a file; nil when there is none.
    func read(_ path: String, in name: String) -> String? {
        let file = folder.appending(name).appending(relative: Array(path.utf8))
        guard let bytes = try? environment.fileSystem.readFile(file, limit: 1 << 20) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension VaultError {
    /// An error to compare with: only codes count.
    static func coded(_ code: Code) -> VaultError { VaultError(code, "") }
}
