internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The vaults of a server: one folder below the root for each, named by the vault's id.
final class ServedStore: Sendable {
    private let root: any Directory
    private let path: FilePath
    private let reserve: Int64
    private let environment: VaultEnvironment
    private let haste = Haste()

    /// Opens the root, making it where it is absent.
    ///
    /// * `reserve`: Bytes that stay free on the disk.
    init(root path: FilePath, reserve: Int64, environment: VaultEnvironment) throws(VaultError) {
        self.path = path
        self.reserve = reserve
        // Signals are not for requests: what began is carried through, and only waiting for a lock ends early.
        self.environment = VaultEnvironment(
            fileSystem: environment.fileSystem, clock: environment.clock, random: environment.random,
            failPoints: environment.failPoints,
            pool: WorkerPool(threads: environment.pool.threads, cancellation: haste))
        do throws(Errno) {
            try environment.fileSystem.createDirectories(path, mode: 0o700)
            root = try environment.fileSystem.openDirectory(path)
        } catch {
            throw .io(error, "cannot open the folder of vaults \(path)")
        }
    }

    func vault(_ id: VaultID) -> ServedVault {
        ServedVault(path: path.appending(component: id.text), in: root, vaultID: id, environment: environment)
    }

    /// Opens a file; nil when it is absent.
    func open(_ vault: VaultID, _ path: StorePath) throws(Errno) -> (file: any File, status: FileStatus)? {
        do throws(Errno) {
            let file = try root.openFile(beneath: FilePath(vault.text + "/" + path.text))
            let status = try file.status()
            return status.kind == .regular ? (file, status) : nil
        } catch {
            if error.isAbsent || error == .tooManyLinks || error == .crossDevice { return nil }
            throw error
        }
    }

    /// The ids of the vaults there are.
    func vaults() throws(VaultError) -> [VaultID] {
        do throws(Errno) {
            return try root.entries().compactMap { entry in
                guard entry.kind == .directory || entry.kind == .unknown,
                    let text = String(validating: entry.name, as: UTF8.self), let id = try? VaultID(text),
                    id.isServable
                else { return nil }
                return id
            }
        } catch {
            throw .io(error, "cannot list \(path)")
        }
    }

    /// Room on the disk that requests may fill; not asked for by what gives room back.
    ///
    /// - Throws: 507 when `bytes` more would not fit.
    func checkRoom(for bytes: Int64) throws {
        let free = try root.availableSpace()
        guard free.bytes - reserve > bytes, free.inodes > 64 else { throw Refusal.diskFull }
    }

    /// From now on nobody waits for another program's lock.
    func hurry() {
        haste.begin()
    }

    /// Finishes interrupted destroys and removes uploads that were left a day ago.
    func sweep(_ report: (String) -> Void) throws(VaultError) {
        let dayAgo = environment.clock.nowNs - 86_400_000_000_000
        for id in try vaults() {
            do { try vault(id).sweep(uploadsBefore: dayAgo) } catch { report("\(id): \(error)") }
        }
    }
}

/// The wish that nobody waits any longer, once the server has waited long enough for its requests.
private final class Haste: Cancellation {
    private let isWished = Locked(false)

    func begin() { isWished.withLock { $0 = true } }

    func check() throws(Interruption) {
        if isWished.withLock({ $0 }) { throw Interruption(signal: 15) }
    }
}
