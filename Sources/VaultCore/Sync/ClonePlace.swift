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
    /// What earlier clones to the same place had fetched before they were interrupted.
    let partial: [PartialClone]
    /// What was written into a target that was there before: others may write there as well.
    private let made = Locked<[VaultPath]>([])
    /// What the folder of the vault is called, once it is made here: before, one of that name is somebody else's.
    private let vaultFolder = Locked<[UInt8]?>(nil)
    private let spare: SpareFiles
    private static let inner = PartialClone.inner.bytes
    private static let lockName = PartialClone.lockName

    /// * `resumes`: Keep what interrupted clones left, as `partial`, instead of removing it.
    init(_ path: FilePath, resumes: Bool = false, environment: VaultEnvironment) throws {
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
        let spare = try attempt("cannot open the folder of \(path.text)", path: path.text) { () throws(Errno) in
            try SpareFiles(beside: absolute, fileSystem)
        }
        self.spare = spare
        let existing = try Self.openEmpty(absolute, exceptPartial: resumes, fileSystem)
        let within = try existing.map { try Self.takePartial(in: $0, absolute) } ?? []
        if let existing, try Self.mustBuildInPlace(existing, absolute, parent, fileSystem) {
            (root, self.path, wrapper, lock, partial) = (existing, absolute, nil, nil, within)
            return
        }
        let random = try crypto("random names") { () throws(CryptoError) in try environment.random.bytes(6) }
        let prefix = ".".bytes + name.prefix(100) + ".clone-".bytes
        let folder = prefix + Hex.encode(random.span)
        let parent = parent
        // Keys and files that a killed clone left must not lie about; failing here harms nothing.
        var beside: [PartialClone] = []
        do throws(Errno) {
            for found in try PartialClone.abandoned(prefix, in: parent) {
                if resumes { beside.append(found) } else { try found.remove() }
            }
        } catch {}
        partial = within + beside
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
                spare.release()
                try? parent.removeTree(folder)
                throw error
            }
        }
        wrapper = folder
        self.path = absolute
    }

    /// The folder at the target, which must be empty, or hold nothing but an interrupted clone; nil when there is none.
    private static func openEmpty(
        _ path: FilePath, exceptPartial: Bool, _ fileSystem: any FileSystem
    ) throws(VaultError) -> (any Directory)? {
        let found = try attempt("cannot open \(path.text)", path: path.text) { () throws(Errno) in
            do throws(Errno) {
                let directory = try fileSystem.openDirectory(path)
                let isEmpty = try directory.entries()
                    .allSatisfy { exceptPartial && [CloneLayout.newName, PartialClone.name.bytes].contains($0.name) }
                return Optional((directory, isEmpty))
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

    /// Moves what an interrupted clone left in its target out of the way of the next, which goes on with it.
    private static func takePartial(in root: any Directory, _ path: FilePath) throws(VaultError) -> [PartialClone] {
        let found: [PartialClone]?
        do throws(Errno) {
            found = try PartialClone.taken(in: root)
        } catch {
            guard error == .directoryNotEmpty else {
                throw .io(error, "cannot look into \(path.text)", path: path.text)
            }
            throw VaultError(
                .directoryNotEmpty, "\(path.text) holds a folder that is not of this program",
                hint: "name another folder", path: path.text)
        }
        guard let found else {
            throw VaultError(.locked, "another command is making a vault in \(path.text)", path: path.text)
        }
        return found
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

    /// Makes the folders of the clone.
    func makeClone(keys: KeyHolder, mode: CloneMode, environment: VaultEnvironment) throws -> NewClone {
        var isMade = false
        defer { if isMade { vaultFolder.withLock { $0 = CloneLayout.newName } } }
        return try NewClone(
            in: root, path: path, keys: keys, mode: mode, environment: environment, isMade: &isMade)
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
            vaultFolder.withLock { $0 = CloneLayout.vaultName }
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
        spare.release()
        if let wrapper {
            try? parent.removeTree(wrapper)
            return
        }
        removeMade()
        if let name = vaultFolder.withLock({ $0 }) { try? root.removeTree(name) }
    }

    /// Removes everything that was built but the objects, of which a later clone to the same place makes use.
    func keepObjects() {
        spare.release()
        if wrapper == nil {
            removeMade()
        } else {
            try? root.prune(keeping: [CloneLayout.newName, CloneLayout.vaultName])
        }
        guard let name = vaultFolder.withLock({ $0 }) else { return }
        if name == CloneLayout.vaultName {
            try? root.rename(name, to: root, as: CloneLayout.newName, replacing: false)
        }
        guard let vault = try? root.openDirectory(CloneLayout.newName) else { return }
        // Of the folder for keys and settings only the lock stays, by which the leftover is known for ours.
        try? vault.prune(keeping: ["bare".bytes, "local".bytes])
        try? vault.openDirectory("bare".bytes).prune(keeping: ["data".bytes])
        guard let local = try? vault.openDirectory("local".bytes) else { return }
        try? local.prune(keeping: ["vaultctl".bytes])
        try? local.openDirectory("vaultctl".bytes).prune(keeping: [Self.lockName])
    }

    /// Removes the files and folders that this clone made in a target that was there before.
    private func removeMade() {
        var folders: Set<VaultPath> = []
        for path in made.withLock({ $0 }) {
            try? root.openDirectory(beneath: path.parent?.bytes ?? []).removeFile(path.lastSegment)
            var folder: VaultPath? = path
            while let next = folder, folders.insert(next).inserted { folder = next.parent }
        }
        for folder in folders.sorted(by: { $0.segments.count > $1.segments.count }) {
            try? root.openDirectory(beneath: folder.parent?.bytes ?? []).removeDirectory(folder.lastSegment)
        }
    }
}

extension Directory {
    /// Removes everything in it but some names.
    fileprivate func prune(keeping names: Set<[UInt8]>) throws(Errno) {
        for entry in try entries() where !names.contains(entry.name) { try removeTree(entry.name) }
    }
}
