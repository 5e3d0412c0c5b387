internal import VaultFormat
package import VaultSystem

/// The folders of a clone (spec 03 §1), opened once.
///
/// Everything else is reached from these handles.
package final class CloneLayout: Sendable {
    package let root: any Directory
    package let rootPath: FilePath
    let vault: any Directory
    let bare: any Directory
    let data: any Directory
    let refs: any Directory
    let keys: any Directory
    let indexes: any Directory
    let local: any Directory
    /// What the folder of the vault was called when it was opened.
    private let name: [UInt8]

    static let vaultName = ".sg_vault".bytes
    /// The name of a vault folder that is not complete yet.
    static let newText = ".sg_vault_new"
    static let newName = newText.bytes
    static let bareFolders = ["data", "refs", "keys", "indexes", "pending", "branches", "cache"]

    /// Opens the folders of an existing clone.
    convenience init(root: any Directory, path: FilePath) throws(VaultError) {
        try self.init(root: root, path: path, name: ".sg_vault")
    }

    /// Opens one that has another name than a clone's, as while it is made.
    init(root: any Directory, path: FilePath, name vaultFolder: String) throws(VaultError) {
        self.root = root
        rootPath = path
        name = vaultFolder.bytes
        func open(_ name: String, in parent: any Directory) throws(VaultError) -> any Directory {
            do throws(Errno) {
                return try parent.openDirectory(name.bytes)
            } catch {
                if error == .noSuchFile || error == .notADirectory || error == .tooManyLinks {
                    throw VaultError(
                        .notAVault, "\(path.text) is not a usable vault: the folder \(name) is missing", cause: error)
                }
                throw .io(error, "cannot open \(name) of the vault", path: path.text)
            }
        }
        vault = try open(vaultFolder, in: root)
        bare = try open("bare", in: vault)
        data = try open("data", in: bare)
        refs = try open("refs", in: bare)
        keys = try Self.openOptional("keys", in: bare)
        indexes = try Self.openOptional("indexes", in: bare)
        local = try open("local", in: vault)
    }

    /// A folder that git or a copy may have lost because it was empty: it is made again.
    private static func openOptional(_ name: String, in parent: any Directory) throws(VaultError) -> any Directory {
        try attempt("cannot open \(name) of the vault") { () throws(Errno) in
            try parent.openDirectory(name.bytes, creatingWith: 0o777, durably: true)
        }
    }

    /// Makes the folders of a new clone below `root`, under `newName`, and opens them.
    ///
    /// * `isMade`: Is set once there is a folder of that name which is ours: before, it is somebody else's.
    static func make(in root: any Directory, path: FilePath, isMade: inout Bool) throws(VaultError) -> CloneLayout {
        let failure = "cannot make the folders of the vault"
        try attempt(failure, path: path.text) { () throws(Errno) in try root.createDirectory(newName, mode: 0o777) }
        isMade = true
        try attempt(failure, path: path.text) { () throws(Errno) in
            let vault = try root.openDirectory(newName)
            try vault.createDirectory("bare".bytes, mode: 0o777)
            try vault.createDirectory("local".bytes, mode: 0o777)
            let bare = try vault.openDirectory("bare".bytes)
            for name in bareFolders { try bare.createDirectory(name.bytes, mode: 0o777) }
            let cache = try bare.openDirectory("cache".bytes)
            for name in ["value", "pointer"] { try cache.createDirectory(name.bytes, mode: 0o777) }
        }
        return try CloneLayout(root: root, path: path, name: newText)
    }

    /// Whether the vault's folder has a name in the clone still: a rekey puts another one in its place, `detach` none.
    ///
    /// One that was opened while it was made has got the name of a vault since.
    func isInPlace() throws(Errno) -> Bool {
        for name in [name, Self.vaultName] where try isNamed(name) { return true }
        return false
    }

    /// Whether the vault's folder has a name in the clone.
    func isNamed(_ name: [UInt8]) throws(Errno) -> Bool {
        let own = try vault.status()
        guard let found = try root.statusIfPresent(of: name) else { return false }
        return found.device == own.device && found.inode == own.inode
    }

    /// Makes a folder that is missing: durably, but in a clone under construction, all of which becomes durable before it
    /// has its name.
    private func makeFolder(_ name: [UInt8], in parent: any Directory) throws(Errno) -> any Directory {
        var isUnderConstruction = self.name == Self.newName
        if isUnderConstruction { isUnderConstruction = try isNamed(Self.newName) }
        return try parent.openDirectory(name, creatingWith: 0o700, durably: !isUnderConstruction)
    }

    /// The folder `local/vaultctl`, made when absent; nil when it can not be made (a read-only file system).
    func ownFolder(create: Bool) throws(VaultError) -> (any Directory)? {
        let name = "vaultctl".bytes
        do throws(Errno) {
            return try local.openDirectory(name)
        } catch .noSuchFile {
            guard create else { return nil }
            return try attempt("cannot make local/vaultctl", path: rootPath.text) { () throws(Errno) in
                try makeFolder(name, in: local)
            }
        } catch {
            throw .io(error, "cannot open local/vaultctl", path: rootPath.text)
        }
    }

    /// A sub-folder of `local/vaultctl`, made when absent.
    func ownSubfolder(_ name: String) throws(VaultError) -> any Directory {
        guard let own = try ownFolder(create: true) else {
            throw VaultError(.readOnlyFilesystem, "the clone can not be written", path: rootPath.text)
        }
        return try attempt("cannot make local/vaultctl/\(name)", path: rootPath.text) { () throws(Errno) in
            do throws(Errno) { return try own.openDirectory(name.bytes) } catch .noSuchFile {}  // made now
            return try makeFolder(name.bytes, in: own)
        }
    }

    /// The folder in which a stored file lies and its name there.
    func place(of id: FileID) throws(VaultError) -> (folder: any Directory, name: [UInt8]) {
        switch id {
        case .object(let id): return (data, id.text.bytes)
        case .ref(let id): return (refs, id.text.bytes)
        case .index(let id): return (indexes, id.text.bytes)
        case .key(let id): return (keys, id.text.bytes)
        case .cacheValue, .cachePointer:
            throw VaultError(.internalError, "cache objects are not kept in this clone", object: id.path)
        }
    }
}

extension Directory {
    /// The content of a small file, or nil when it is absent.
    func contents(_ name: String, limit: Int) throws(Errno) -> [UInt8]? {
        try contents(name.bytes, limit: limit)
    }

    /// The content of a small file, or nil when it is absent.
    ///
    /// * `size`: What the file's status told before, which then is not asked for again.
    func contents(_ name: [UInt8], limit: Int, size: Int64? = nil) throws(Errno) -> [UInt8]? {
        do throws(Errno) {
            let file = try openFile(name)
            if let size, size <= limit { return try file.readToEnd(limit: limit, sizeHint: Int(size)) }
            let status = try file.status()
            guard status.kind == .regular else { throw .invalidArgument }
            guard status.size <= limit else { throw .fileTooLarge }
            return try file.readToEnd(limit: limit, sizeHint: Int(status.size))
        } catch .noSuchFile {
            return nil
        }
    }
}
