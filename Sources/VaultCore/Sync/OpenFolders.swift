internal import VaultFormat
internal import VaultSystem

/// The folders of a vault that a writer has opened while it holds the lock: each once, however many files it asks for.
///
/// They are opened name by name, and no link is followed on the way.
final class OpenFolders: Sendable {
    private let root: any Directory
    /// By the names seen from `bare`, which itself has none.
    private let opened = Locked<[[[UInt8]]: any Directory]>([:])

    init(_ root: any Directory) {
        self.root = root
    }

    /// The folder of these names below `bare`.
    ///
    /// One that is not there is looked for again the next time.
    ///
    /// - Throws: as `Directory.openDirectory`, `noSuchFile` where it is not there.
    func folder(_ names: [[UInt8]]) throws(Errno) -> (any Directory)? {
        if let known = opened.withLock({ $0[names] }) { return known }
        let parent = if let last = names.indices.last { try folder(Array(names[..<last])) } else { Optional(root) }
        guard let found = try parent?.openDirectory(names.last ?? FolderStore.bareName) else { return nil }
        opened.withLock { $0[names] = found }
        return found
    }
}
