internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The vaults of a server: one folder below the root for each, named by the vault's id.
final class ServedStore: Sendable {
    private let root: any Directory
    private let path: FilePath
    private let environment: VaultEnvironment

    /// Opens the root, making it where it is absent.
    init(root path: FilePath, environment: VaultEnvironment) throws(VaultError) {
        self.path = path
        // A request that began is carried through: only the server itself stops, between requests.
        self.environment = VaultEnvironment(
            fileSystem: environment.fileSystem, clock: environment.clock, random: environment.random,
            failPoints: environment.failPoints, pool: .uninterrupted(threads: environment.pool.threads))
        do throws(Errno) {
            try environment.fileSystem.createDirectories(path, mode: 0o700)
            root = try environment.fileSystem.openDirectory(path)
        } catch {
            throw .io(error, "cannot open the folder of vaults \(path)")
        }
    }

    func vault(_ id: VaultID) -> ServedVault {
        ServedVault(path: path.appending(component: id.text), vaultID: id, environment: environment)
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

    /// Room on the disk that requests may fill.
    ///
    /// - Throws: 507 when `bytes` more would not fit.
    func checkRoom(for bytes: Int64) throws {
        let free = try root.availableSpace()
        guard free.bytes - ServerLimits.reserve > bytes, free.inodes > 64 else { throw Refusal.diskFull }
    }

    /// Finishes interrupted destroys and removes uploads that were left a day ago.
    func sweep(_ report: (String) -> Void) throws(VaultError) {
        let dayAgo = environment.clock.nowNs - 86_400_000_000_000
        for id in try vaults() {
            do { try vault(id).sweep(uploadsBefore: dayAgo) } catch { report("\(id): \(error)") }
        }
    }
}
