internal import VaultCrypto
internal import VaultFormat
package import VaultSystem

/// The files of a vault as they were at one moment, while the vault goes on.
package struct VaultSnapshot: Sendable {
    /// The paths of its files, in their order.
    package let paths: [String]
    /// Bytes of all files.
    package let bytes: Int64
    /// The owner record as it stands on disk; nil for a vault without one.
    package let owner: [UInt8]?
    private let uploads: any Directory
    private let name: [UInt8]
    private let tree: any Directory

    fileprivate init(
        paths: [String], bytes: Int64, owner: [UInt8]?, uploads: any Directory, name: [UInt8], tree: any Directory
    ) {
        self.paths = paths
        self.bytes = bytes
        self.owner = owner
        self.uploads = uploads
        self.name = name
        self.tree = tree
    }

    /// Opens one of its files.
    package func open(_ path: String) throws(Errno) -> any File {
        try tree.openFile(beneath: FilePath(path))
    }

    /// A file of no name beside the vault.
    package func scratchFile() throws(Errno) -> any File {
        try uploads.createUnnamedFile(passing: name + "-file".utf8, mode: 0o600)
    }

    /// Lets it go; the vault keeps its files.
    package func remove() {
        // What stays after a failure is swept with old uploads.
        try? uploads.removeTree(name)
    }
}

extension ServedVault {
    /// Takes a picture of the vault under its lock, by further names for the same files.
    ///
    /// Files get new content by renaming only, so the picture stays as it is. Where the file system has no further
    /// names, the bytes are copied.
    package func snapshot() throws -> VaultSnapshot {
        guard let root = try root(), let own = try own() else {
            throw VaultError(.remoteNotFound, "there is no vault in \(remote.location)")
        }
        let uploads = try uploadFolder()
        let random = try crypto("random names") { () throws(CryptoError) in try remote.environment.random.bytes(12) }
        let name = "snapshot-".bytes + Hex.encode(random.span)
        let lock = try FolderLock(own, remote: remote)
        defer { lock.release() }
        try FolderWriter(root: root, own: own, remote: remote).finishInterrupted()
        let paths = try list(below: "bare", limit: .max)
        do {
            return try attempt("cannot take a snapshot of \(remote.location)") { () throws(Errno) in
                let tree = try uploads.openDirectory(name, creatingWith: 0o700)
                var bytes: Int64 = 0
                var folder: (names: ArraySlice<[UInt8]>, directory: any Directory) = ([], tree)
                for path in paths {
                    let file = try root.openFile(beneath: FilePath(path))
                    bytes += try file.status().size
                    let names = FilePath(path).components
                    if folder.names != names.dropLast() {
                        var directory = tree
                        for name in names.dropLast() {
                            directory = try directory.openDirectory(name, creatingWith: 0o700)
                        }
                        folder = (names.dropLast(), directory)
                    }
                    try Self.keep(file, in: folder.directory, as: names[names.count - 1])
                }
                let owner = try own.readFileIfPresent(FolderStore.ownerName, limit: 65_536)
                return VaultSnapshot(
                    paths: paths, bytes: bytes, owner: owner, uploads: uploads, name: name, tree: tree)
            }
        } catch {
            try? uploads.removeTree(name)
            throw error
        }
    }

    private static func keep(_ file: any File, in folder: any Directory, as name: [UInt8]) throws(Errno) {
        do throws(Errno) {
            try folder.link(file, as: name)
            return
        } catch {
            guard error == .notSupported || error == .tooManyNames || error.isPermission else { throw error }
        }
        let copy = try folder.createFile(name, mode: 0o600)
        while true {
            let piece = try file.read(upTo: 1 << 20)
            if piece.isEmpty { return }
            try copy.write(piece.span)
        }
    }

    /// Copies the vault as it is at this moment into an empty or absent folder, which is then a folder remote.
    ///
    /// Of a destroyed vault the record alone is copied, so that its id stays unusable in the copy.
    ///
    /// - Returns: Files and bytes; nil where there is no vault, and nothing to copy.
    /// - Throws: `directoryNotEmpty` when there is something in it, `refused` for files that nobody owns.
    package func backup(to destination: FilePath) throws -> (files: Int, bytes: Int64)? {
        switch try owner() {
        case .nobody:
            // Never left out in silence: somebody may believe them safe.
            guard try holdsSomething() else { return nil }
            throw VaultError(
                .refused, "\(remote.location) has no owner record and is no served vault",
                hint: "copy the folder, or restore its .vaultctl/owner.json")
        case .destroyed:
            let target = try emptyFolder(destination)
            let own = try own()
            let record = try attempt("cannot read \(remote.location)") { () throws(Errno) in
                try own?.readFileIfPresent(FolderStore.ownerName, limit: 65_536)
            }
            try attempt("cannot write to \(destination)") { () throws(Errno) in try Self.keep(record, in: target) }
            return (0, 0)
        case .writeKey: break
        }
        let target = try emptyFolder(destination)
        let snapshot = try snapshot()
        defer { snapshot.remove() }
        try attempt("cannot write to \(destination)") { () throws(Errno) in
            for path in snapshot.paths {
                let names = FilePath(path).components
                var directory = target
                for name in names.dropLast() { directory = try directory.openDirectory(name, creatingWith: 0o700) }
                let source = try snapshot.open(path)
                let copy = try directory.createFile(names[names.count - 1], mode: 0o600)
                while true {
                    let piece = try source.read(upTo: 1 << 20)
                    if piece.isEmpty { break }
                    try copy.write(piece.span)
                }
            }
            // The owner comes last on the disk too, whatever a power cut leaves of the files.
            try target.syncFileSystem()
            try Self.keep(snapshot.owner, in: target)
        }
        return (snapshot.paths.count, snapshot.bytes)
    }

    /// Whether there is a file of a vault, or something that should have been its folder.
    private func holdsSomething() throws(VaultError) -> Bool {
        guard let root = try root() else { return true }
        return try attempt("cannot read \(remote.location)") { () throws(Errno) in
            try root.statusIfPresent(of: FolderStore.bareName) != nil
        }
    }

    private func emptyFolder(_ path: FilePath) throws(VaultError) -> any Directory {
        let fileSystem = remote.environment.fileSystem
        let target = try attempt("cannot make the folder \(path)") { () throws(Errno) in
            try fileSystem.createDirectories(path, mode: 0o700)
            return try fileSystem.openDirectory(path)
        }
        let isEmpty = try attempt("cannot read \(path)") { () throws(Errno) in try target.entries().isEmpty }
        guard isEmpty else {
            throw VaultError(.directoryNotEmpty, "\(path) holds something already", hint: "use a fresh folder")
        }
        return target
    }

    /// Ends a copy, last: one that was interrupted has no owner.
    private static func keep(_ owner: [UInt8]?, in target: any Directory) throws(Errno) {
        if let owner {
            let own = try target.openDirectory(FolderStore.ownName, creatingWith: 0o700)
            try own.createFile(FolderStore.ownerName, mode: 0o600).write(owner.span)
        }
        try target.syncFileSystem()
    }
}
