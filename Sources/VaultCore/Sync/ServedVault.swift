internal import VaultCrypto
package import VaultFormat
package import VaultSystem

/// One vault of a server: the files of a folder remote by their paths, whatever they hold (spec 05 §17).
///
/// Reads take no lock and follow no link. What writes holds the lock of the folder remote, so a served vault and a
/// folder remote can be used at once.
package struct ServedVault: Sendable {
    let remote: FolderRemote

    /// * `container`: The folder of vaults; then nothing but a folder in it, and no link, is the vault.
    package init(
        path: FilePath, in container: (any Directory)? = nil, vaultID: VaultID, environment: VaultEnvironment
    ) {
        remote = FolderRemote(path: path, in: container, vaultID: vaultID, environment: environment)
    }

    /// Whose the vault is.
    package func owner() throws(VaultError) -> VaultOwner {
        guard let own = try own() else { return .nobody }
        return try FolderOwner(own, remote: remote).owner()
    }

    func root() throws(VaultError) -> (any Directory)? {
        do throws(Errno) {
            return try remote.openFolder()
        } catch {
            if error == .noSuchFile { return nil }
            // As for reads: what is no folder is no vault.
            if remote.container != nil, error.isAbsent || error == .tooManyLinks { return nil }
            throw .io(error, "cannot open \(remote.location)")
        }
    }

    func own() throws(VaultError) -> (any Directory)? {
        guard let root = try root() else { return nil }
        do throws(Errno) {
            return try root.openDirectory(FolderStore.ownName)
        } catch {
            if error == .noSuchFile { return nil }
            throw .io(error, "cannot open \(remote.location)")
        }
    }

    // MARK: Listing

    /// The paths of all files below a folder, `bare` or one below it, in their order; none where there is no such folder.
    ///
    /// - Throws: `notSupported` for more than `limit` files.
    package func list(below folder: String, limit: Int) throws(VaultError) -> [String] {
        guard folder == "bare" || StorePath(folder) != nil, let root = try root() else { return [] }
        var found: [String] = []
        let names = folder.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
        do throws(Errno) {
            guard let directory = try root.openDirectory(path: names) else { return [] }
            try collect(directory, prefix: folder + "/", depth: names.count, limit: limit, into: &found)
        } catch {
            if error == .fileTooLarge { throw VaultError(.notSupported, "the vault has more than \(limit) files") }
            if error.isAbsent || error == .tooManyLinks { return [] }
            throw .io(error, "cannot list \(remote.location)")
        }
        found.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return found
    }

    private func collect(
        _ directory: any Directory, prefix: String, depth: Int, limit: Int, into found: inout [String]
    ) throws(Errno) {
        for entry in try directory.entries() {
            guard let name = String(validating: entry.name, as: UTF8.self), let path = StorePath(prefix + name) else {
                continue
            }
            switch entry.kind {
            case .regular, .unknown: found.append(path.text)
            case .directory where depth < StorePath.deepest:
                do throws(Errno) {
                    let inner = try directory.openDirectory(entry.name)
                    try collect(inner, prefix: path.text + "/", depth: depth + 1, limit: limit, into: &found)
                } catch {
                    // Removed since its name was read.
                    if error != .noSuchFile { throw error }
                }
            default: continue
            }
            if found.count > limit { throw .fileTooLarge }
        }
    }

    // MARK: Uploads

    private static let uploadsName = "uploads".bytes

    /// The folder in which files arrive before they are given to a writer.
    ///
    /// Not the scratch folder, which whoever takes the lock empties.
    package func uploadFolder() throws(VaultError) -> any Directory {
        try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            try remote.makeFolder().openDirectory(FolderStore.ownName, creatingWith: 0o700)
                .openDirectory(Self.uploadsName, creatingWith: 0o700)
        }
    }

    /// Removes uploads that nobody has touched since a moment, and finishes a destroy that was interrupted.
    package func sweep(uploadsBefore ns: Int64) throws {
        guard let root = try root(), let own = try own() else { return }
        if case .destroyed = try owner() { try Self.removeFiles(root, own, remote) }
        try attempt("cannot remove old uploads of \(remote.location)") { () throws(Errno) in
            guard try own.statusIfPresent(of: Self.uploadsName) != nil else { return }
            let uploads = try own.openDirectory(Self.uploadsName)
            for entry in try uploads.entries() {
                guard let status = try uploads.statusIfPresent(of: entry.name), status.modifiedNs < ns else { continue }
                try uploads.removeTree(entry.name)
            }
        }
    }

    // MARK: Writing

    /// Runs `body` while the vault's lock is held; a vault without an owner gets this one.
    ///
    /// - Throws: as `FolderSession.run`.
    package func write<Result>(ownerHash: String, _ body: (ServedVaultWriter) throws -> Result) throws -> Result {
        try FolderSession.run(on: remote, ownerHash: ownerHash) { session in
            let writer = ServedVaultWriter(session: session)
            do {
                return try body(writer)
            } catch {
                // What was staged and never published gives its room back at once.
                try? session.writer.discardUnlessPublishing()
                throw error
            }
        }
    }

    /// Removes every file for ever and leaves a record that refuses every writer; how many files there were.
    package func destroy(ownerHash: String) throws -> Int {
        try FolderSession.run(on: remote, ownerHash: ownerHash, binds: false) { session in
            let count = try list(below: "bare", limit: .max).count + (session.wasBound ? 1 : 0)
            let writer = session.writer
            try FolderOwner(writer.own, remote: remote).destroy(scratch: writer.scratch)
            try Self.removeFiles(session.root, writer.own, remote)
            return count
        }
    }

    private static func removeFiles(
        _ root: any Directory, _ own: any Directory, _ remote: FolderRemote
    ) throws(VaultError) {
        try attempt("cannot remove the files of \(remote.location)") { () throws(Errno) in
            let aside = "destroyed".bytes
            try own.removeTree(aside)
            if try root.statusIfPresent(of: FolderStore.bareName) != nil {
                // In one step, so that no reader meets half of it.
                try root.rename(FolderStore.bareName, to: own, as: aside, replacing: true)
                try root.sync()
            }
            try own.removeTree(aside)
            try own.removeTree(uploadsName)
        }
    }
}

/// Writes files of a vault whose lock is held.
package struct ServedVaultWriter {
    let session: FolderSession
    private let folders: OpenFolders

    init(session: FolderSession) {
        self.session = session
        folders = OpenFolders(session.root)
    }

    /// A new content that has no place yet.
    package struct Staged: Sendable {
        let name: [UInt8]
    }

    /// Opens a file; nil when it is absent.
    package func open(_ path: StorePath) throws(VaultError) -> (file: any File, size: Int64)? {
        do throws(Errno) {
            guard let file = try folders.folder(path.folders)?.openFile(path.leaf) else { return nil }
            let status = try file.status()
            guard status.kind == .regular else { return nil }
            return (file, status.size)
        } catch {
            if error.isAbsent || error == .tooManyLinks { return nil }
            throw .io(error, "cannot read \(path.text)")
        }
    }

    /// What stands at a place, links not followed; nil when nothing does.
    package func kind(of path: StorePath) throws(VaultError) -> FileKind? {
        try kind(path.leaf, in: path.folders, path)
    }

    /// Writes bytes to the scratch folder.
    package func stage(_ bytes: [UInt8]) throws -> Staged {
        Staged(name: try session.writer.stage { try $0(bytes.span) })
    }

    /// Takes a file over from the folder of uploads.
    package func adopt(_ name: [UInt8], from uploads: any Directory) throws -> Staged {
        let staged = Staged(name: try session.writer.scratch.freshName())
        try attempt("cannot take over an upload") { () throws(Errno) in
            try uploads.rename(name, to: session.writer.scratch.directory, as: staged.name, replacing: false)
        }
        return staged
    }

    /// Gives a file back that was taken over; false when a journal counts on it.
    package func release(_ staged: Staged, as name: [UInt8], to uploads: any Directory) -> Bool {
        guard session.writer.journalIsAbsent else { return false }
        do throws(Errno) {
            try session.writer.scratch.directory.rename(staged.name, to: uploads, as: name, replacing: false)
            return true
        } catch {
            return false
        }
    }

    /// Gives contents their places, or removes files (nil), all in one durable step.
    ///
    /// * `absent`: Places at which this writer found nothing.
    ///
    /// - Throws: `refused`, with nothing changed, where a folder stands in the place of a file or the reverse.
    package func publish(_ changes: [StorePath: Staged?], absent: Set<StorePath> = []) throws {
        guard !changes.isEmpty else { return }
        try checkPlaces(changes, absent)
        let steps = changes.map { FolderJournal.Step(target: $0.key, temporary: $0.value?.name) }
        try session.writer.syncStaged(steps.compactMap(\.temporary))
        try session.writer.publish(FolderJournal(steps))
    }

    /// A batch whose journal is written must be possible, or it would stop every writer after it.
    private func checkPlaces(_ changes: [StorePath: Staged?], _ absent: Set<StorePath>) throws(VaultError) {
        let written = changes.filter { $0.value != nil }.keys
        let texts = Set(written.map(\.text))
        var checked: Set<[[UInt8]]> = []
        for path in changes.keys {
            let names = path.folders
            if checked.insert(names).inserted {
                var above = "bare"
                for (depth, folder) in names.enumerated() {
                    above += "/" + String(decoding: folder, as: UTF8.self)
                    if texts.contains(above) { throw taken(path) }
                    let kind = try kind(folder, in: Array(names[..<depth]), path)
                    if let kind, kind != .directory { throw taken(path) }
                }
            }
            if absent.contains(path) { continue }
            if let kind = try kind(path.leaf, in: names, path), kind == .directory { throw taken(path) }
        }
    }

    private func kind(
        _ name: [UInt8], in names: [[UInt8]], _ path: StorePath
    ) throws(VaultError) -> FileKind? {
        do throws(Errno) {
            return try folders.folder(names)?.statusIfPresent(of: name)?.kind
        } catch {
            if error == .noSuchFile { return nil }
            if error.isAbsent || error == .tooManyLinks { return .other }
            throw .io(error, "cannot look at \(path.text)")
        }
    }

    private func taken(_ path: StorePath) -> VaultError {
        VaultError(.nameTaken, "\(path.text) is in the way of a folder, or a folder of it", object: path.text)
    }
}
