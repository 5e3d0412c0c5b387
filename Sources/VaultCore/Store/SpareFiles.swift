internal import VaultSystem

/// Open files that are held for a failed command: to remove what it made it has to open a few, which would fail as well
/// where the process may open no more.
final class SpareFiles: Sendable {
    private let held = Locked<[any Directory]>([])
    /// The most that removing a folder has open at once, and the folder that it is removed from.
    static let enough = 6

    /// * `path`: Something, there or not, beside which a folder is opened several times.
    /// - Throws: `Errno.tooManyOpenFiles`. Whatever else is wrong with the folder is told by those who use it.
    init(beside path: FilePath, _ fileSystem: any FileSystem) throws(Errno) {
        for _ in 0..<Self.enough {
            do throws(Errno) {
                let folder = try fileSystem.openDirectory(path.parent)
                held.withLock { $0.append(folder) }
            } catch {
                if error == .tooManyOpenFiles { throw error }
                return
            }
        }
    }

    /// Gives some of them back, or all.
    func release(_ count: Int = enough) {
        // Closed when the list of them goes, outside of the lock.
        _ = held.withLock { list in
            let given = Array(list.suffix(count))
            list.removeLast(given.count)
            return given
        }
    }
}
