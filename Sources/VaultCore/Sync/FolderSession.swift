internal import VaultFormat
internal import VaultSystem

/// A folder remote while its lock is held by somebody who may write.
///
/// Whatever a crash interrupted is finished, and the folder has an owner.
struct FolderSession {
    let remote: FolderRemote
    let root: any Directory
    let writer: FolderWriter
    /// Whether the folder had its owner before.
    let wasBound: Bool

    /// Takes the lock, runs `body` and gives the lock back.
    ///
    /// * `binds`: Whether a folder without an owner gets this one.
    ///
    /// - Throws: `keyWrong` for another owner, `refused` after a destroy, `readOnlyRemote` where nothing may be
    ///   written, `locked` when another writer holds the lock all the time.
    static func run<Result>(
        on remote: FolderRemote, ownerHash hash: String, binds: Bool = true, _ body: (FolderSession) throws -> Result
    ) throws -> Result {
        let root = try openRoot(remote)
        try checkWritable(remote, root, try store(root, remote).kind)
        let own = try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            try root.openDirectory(FolderStore.ownName, creatingWith: 0o700)
        }
        let lock = try FolderLock(own, remote: remote)
        defer { lock.release() }
        let owner = FolderOwner(own, remote: remote)
        let isBound = try owner.check(hash: hash)
        let writer = try FolderWriter(root: root, own: own, remote: remote)
        try writer.finishInterrupted()
        if !isBound, binds {
            // As on a server the first writer binds the vault, also when its conditions then do not hold.
            try writer.makeLayout(above: remote.path, fileSystem: remote.environment.fileSystem)
            try owner.bind(hash: hash, scratch: writer.scratch)
        }
        return try body(FolderSession(remote: remote, root: root, writer: writer, wasBound: isBound))
    }

    /// The files, as they are under the lock.
    func store() throws(VaultError) -> FolderStore {
        try Self.store(root, remote)
    }

    private static func openRoot(_ remote: FolderRemote) throws(VaultError) -> any Directory {
        try attempt("cannot make the folder \(remote.location)", path: remote.location) { () throws(Errno) in
            try remote.makeFolder()
        }
    }

    private static func store(_ root: any Directory, _ remote: FolderRemote) throws(VaultError) -> FolderStore {
        try attempt("cannot open \(remote.location)") { () throws(Errno) in
            try FolderStore(root: root, remote: remote)
        }
    }

    private static func checkWritable(
        _ remote: FolderRemote, _ root: any Directory, _ kind: FolderStore.Kind
    ) throws(VaultError) {
        let what: String
        switch kind {
        case .writable: return
        case .readOnly(let description): what = description
        case .writableIfOwned:
            let owner = try attempt("cannot open \(remote.location)") { () throws(Errno) in
                try root.openDirectory(FolderStore.ownName).statusIfPresent(of: FolderStore.ownerName)
            }
            if owner != nil { return }
            what = "a folder that holds something else"
        }
        throw VaultError(
            .readOnlyRemote, "\(remote.location) is \(what) and takes no writes", hint: "push to an empty folder")
    }
}
