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
    /// Held as long as this command works in the wrapper; a wrapper whose lock is free was left by one that died.
    private let lock: (any File)?
    /// What was written into a target that was there before: others may write there as well.
    private let made = Locked<[VaultPath]>([])
    private static let inner = "clone".bytes
    private static let lockName = "lock".bytes

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
            (root, self.path, wrapper, lock) = (existing, absolute, nil, nil)
            return
        }
        let random = try crypto("random names") { () throws(CryptoError) in try environment.random.bytes(6) }
        let prefix = ".".bytes + name.prefix(100) + ".clone-".bytes
        let folder = prefix + Hex.encode(random.span)
        let parent = parent
        // Keys and files that a killed clone left must not lie about; failing here harms nothing.
        do throws(Errno) { try Self.removeAbandoned(prefix, in: parent) } catch {}
        (root, lock) = try attempt("cannot make a folder beside \(path.text)", path: path.text) { () throws(Errno) in
            try parent.createDirectory(folder, mode: 0o700)
            do throws(Errno) {
                let outer = try parent.openDirectory(folder)
                let lock = try outer.openForAppending(Self.lockName, mode: 0o600)
                guard try lock.lock(wait: false) else { throw .busy }
                // By this file the leftover of a power cut is known, so its name comes before everything else's.
                try outer.sync()
                try outer.createDirectory(Self.inner, mode: 0o777)
                return (try outer.openDirectory(Self.inner), lock)
            } catch {
                try? parent.removeTree(folder)
                throw error
            }
        }
        wrapper = folder
        self.path = absolute
    }

    /// Removes the wrappers of clones to the same place that died.
    private static func removeAbandoned(_ prefix: [UInt8], in parent: any Directory) throws(Errno) {
        for entry in try parent.entries() where entry.name.starts(with: prefix) {
            guard entry.name.count == prefix.count + 12, try parent.status(of: entry.name).kind == .directory else {
                continue
            }
            let wrapper = try parent.openDirectory(entry.name)
            if try wrapper.statusIfPresent(of: lockName)?.kind == .regular {
                guard try wrapper.openForAppending(lockName, mode: 0o600).lock(wait: false) else { continue }
            } else if try wrapper.holdsFiles() {
                continue
            }
            try parent.removeTree(entry.name)
        }
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
            // In the target itself the name alone makes it a clone: everything is durable before it has it.
            if wrapper == nil { try root.syncFileSystem() }
            try root.rename(vault, to: root, as: CloneLayout.vaultName, replacing: false)
            try root.syncFileSystem()
            guard let wrapper else { return }
            let outer = try parent.openDirectory(wrapper)
            try outer.rename(Self.inner, to: parent, as: target.lastComponent ?? [], replacing: true)
            try parent.sync()
            // The clone is there; an empty folder that stays is removed by the next clone to this place.
            try? parent.removeTree(wrapper)
        }
        return target.text
    }

    /// Notes a file or folder of the working copy as made by this clone.
    func created(_ path: VaultPath) {
        if wrapper == nil { made.withLock { $0.append(path) } }
    }

    /// Removes everything that was built, and nothing else.
    func discard() {
        if let wrapper {
            try? parent.removeTree(wrapper)
            return
        }
        var folders: Set<VaultPath> = []
        for path in made.withLock({ $0 }) {
            try? root.openDirectory(beneath: path.parent?.bytes ?? []).removeFile(path.lastSegment)
            var folder: VaultPath? = path
            while let next = folder, folders.insert(next).inserted { folder = next.parent }
        }
        for folder in folders.sorted(by: { $0.segments.count > $1.segments.count }) {
            try? root.openDirectory(beneath: folder.parent?.bytes ?? []).removeDirectory(folder.lastSegment)
        }
        for name in [CloneLayout.newName, CloneLayout.vaultName] { try? root.removeTree(name) }
    }
}
