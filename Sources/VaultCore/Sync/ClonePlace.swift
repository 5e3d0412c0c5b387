internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The folder a clone is built in, and how it gets its name.
final class ClonePlace: Sendable {
    let root: any Directory
    let path: FilePath
    private let target: FilePath
    private let parent: any Directory
    /// The private folder beside the target; nil when the clone is built in the target itself.
    private let wrapper: [UInt8]?
    private static let inner = "clone".bytes

    init(_ path: FilePath, environment: VaultEnvironment) throws {
        let fileSystem = environment.fileSystem
        let absolute = try attempt("cannot find \(path.text)", path: path.text) { () throws(Errno) in
            path.lexicalAbsolute(from: try fileSystem.currentDirectory())
        }
        guard let name = absolute.lastComponent else {
            throw VaultError(.directoryNotEmpty, "a clone can not be made at \(path.text)", path: path.text)
        }
        parent = try attempt("cannot open the folder of \(path.text)", path: path.text) { () throws(Errno) in
            try fileSystem.openDirectory(absolute.parent)
        }
        target = absolute
        let existing = try Self.openEmpty(absolute, fileSystem)
        if let existing, try Self.mustBuildInPlace(existing, absolute, parent, fileSystem) {
            (root, self.path, wrapper) = (existing, absolute, nil)
            return
        }
        let random = try crypto("random names") { () throws(CryptoError) in try environment.random.bytes(6) }
        let folder = ".".bytes + name.prefix(100) + ".clone-".bytes + Hex.encode(random.span)
        let parent = parent
        root = try attempt("cannot make a folder beside \(path.text)", path: path.text) { () throws(Errno) in
            try parent.createDirectory(folder, mode: 0o700)
            let outer = try parent.openDirectory(folder)
            try outer.createDirectory(Self.inner, mode: 0o777)
            return try outer.openDirectory(Self.inner)
        }
        wrapper = folder
        self.path = absolute
    }

    /// The folder at the target, which must be empty; nil when there is none.
    private static func openEmpty(_ path: FilePath, _ fileSystem: any FileSystem) throws(VaultError) -> (any Directory)?
    {
        let found = try attempt("cannot open \(path.text)", path: path.text) { () throws(Errno) in
            do throws(Errno) {
                let directory = try fileSystem.openDirectory(path)
                return Optional((directory, try directory.entries().isEmpty))
            } catch .noSuchFile {
                return Optional<(any Directory, Bool)>.none
            }
        }
        guard let (directory, isEmpty) = found else { return nil }
        guard isEmpty else {
            throw VaultError(
                .directoryNotEmpty, "\(path.text) is not empty", hint: "name another folder", path: path.text)
        }
        return directory
    }

    /// A mount point, or the folder the process stands in, can not be replaced by a rename.
    private static func mustBuildInPlace(
        _ directory: any Directory, _ path: FilePath, _ parent: any Directory, _ fileSystem: any FileSystem
    ) throws(VaultError) -> Bool {
        try attempt("cannot look at \(path.text)", path: path.text) { () throws(Errno) in
            let status = try directory.status()
            let here = try fileSystem.status(of: fileSystem.currentDirectory(), followLinks: true)
            let link = try fileSystem.status(of: path, followLinks: false)
            return try status.device != parent.status().device || link.kind == .symbolicLink
                || (status.inode == here.inode && status.device == here.device)
        }
    }

    /// Gives the clone its name, durably.
    ///
    /// Returns its path as text.
    func publish() throws(VaultError) -> String {
        try attempt("cannot give the clone its name", path: target.text) { () throws(Errno) in
            let vault = CloneLayout.newName
            try root.rename(vault, to: root, as: CloneLayout.vaultName, replacing: false)
            try root.syncFileSystem()
            guard let wrapper else { return }
            let outer = try parent.openDirectory(wrapper)
            try outer.rename(Self.inner, to: parent, as: target.lastComponent ?? [], replacing: true)
            try parent.removeDirectory(wrapper)
            try parent.sync()
        }
        return target.text
    }

    /// Removes everything that was built.
    func discard() {
        if let wrapper { try? parent.removeTree(wrapper) } else { try? root.removeContents() }
    }
}
