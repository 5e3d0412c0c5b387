internal import VaultCrypto
public import VaultFormat
package import VaultSystem

extension Vault {
    /// The entries of a folder, or of everything below it, sorted by path.
    ///
    /// * `folder`: Nil means the root. A file gives its own entry.
    /// * `withFolders`: Give the folders below as well, not their files alone.
    /// * `revision`: Nil means the head.
    /// - Throws: `pathNotFound`, `revisionNotFound`.
    public func list(
        _ folder: VaultPath? = nil, recursive: Bool = false, withFolders: Bool = false, revision: String? = nil
    ) throws -> [ListEntry] {
        let (trees, tree, commit) = try tree(at: revision)
        guard let tree, let commit else { return [] }
        var start = tree
        if let folder {
            switch try trees.entry(folder, in: tree) {
            case .file(let entry)?: return [try listed(folder, .file(entry))]
            case .folder(let id)?: start = id
            case nil: throw Self.noPath(folder, commit)
            }
        }
        var result: [ListEntry] = []
        try trees.walk(start, in: folder) { (path, target) throws(VaultError) in
            result.append(try listed(path, target))
            return recursive
        }
        result.sort { $0.path < $1.path }
        return recursive && !withFolders ? result.filter { $0.kind == .file } : result
    }

    private func listed(_ path: VaultPath, _ target: TreeEntry.Target) throws(VaultError) -> ListEntry {
        switch target {
        case .file(let entry):
            ListEntry(
                path: path, kind: .file, size: entry.size, objectID: entry.blobID, contentType: entry.contentType,
                isLocal: try store.holds(entry.blobID), isLarge: entry.isLarge)
        case .folder(let id):
            ListEntry(
                path: path, kind: .folder, size: nil, objectID: id, contentType: nil, isLocal: try store.holds(id),
                isLarge: false)
        }
    }

    /// Gives the bytes of a file piece by piece.
    ///
    /// Nothing is given that was not checked against the file's id.
    ///
    /// - Throws: `pathNotFound`, `revisionNotFound`, `objectMissing`, `objectCorrupt`, and what `sink` throws.
    public func read(
        _ path: VaultPath, revision: String? = nil, into sink: (Span<UInt8>) throws -> Void
    ) throws -> FileInfo {
        try read(path, revision, check: .before, into: sink)
    }

    /// As `read`, for who wants nothing but the bytes: they are not hashed.
    package func copy(_ path: VaultPath, revision: String? = nil, into sink: (Span<UInt8>) throws -> Void) throws {
        try BlobReader(store: store, cipher: cipher).stream(try file(path, revision), into: sink)
    }

    private func read(
        _ path: VaultPath, _ revision: String?, check: BlobReader.Check, into sink: (Span<UInt8>) throws -> Void
    ) throws -> FileInfo {
        let entry = try file(path, revision)
        let hash = try IncrementalHash()
        var size: Int64 = 0
        try BlobReader(store: store, cipher: cipher).stream(entry, check: check) { chunk in
            try hash.update(chunk)
            size += Int64(chunk.count)
            try sink(chunk)
        }
        let digest = try hash.finish()
        return FileInfo(
            path: path, blobID: entry.blobID, size: size, contentType: entry.contentType,
            sha256: Hex.text(digest.span))
    }

    /// The content of a file on its way out, and what is told of it, if somebody asks.
    private func pass(
        _ path: VaultPath, _ revision: String?, check: BlobReader.Check, describes: Bool,
        into sink: (Span<UInt8>) throws -> Void
    ) throws -> FileInfo? {
        guard !describes else { return try read(path, revision, check: check, into: sink) }
        try BlobReader(store: store, cipher: cipher).stream(try file(path, revision), check: check, into: sink)
        return nil
    }

    /// Refuses where contents of files would be needed that are not here; `completing` fetches them.
    ///
    /// - Throws: `pathNotFound`, `revisionNotFound`, `objectMissing` for all of them.
    package func require(_ paths: [VaultPath], revision: String?) throws {
        _ = try loadState()
        guard part.isPartial else { return }
        try store.require(paths.map { (path: $0, entry: try file($0, revision)) })
    }

    /// The bytes of a file that is not larger than `limit`.
    /// - Throws: as `read`, and `refused` for a larger file.
    public func contents(of path: VaultPath, revision: String? = nil, limit: Int = 64 << 20) throws -> [UInt8] {
        var content: [UInt8] = []
        _ = try read(path, revision: revision) { chunk in
            guard content.count + chunk.count <= limit else {
                throw VaultError(
                    .refused, "\(path) is larger than \(limit) bytes", hint: "read it piece by piece",
                    path: path.description)
            }
            content.reserveCapacity(content.count + chunk.count)
            for index in chunk.indices { content.append(chunk[index]) }
        }
        return content
    }

    /// Writes the bytes of a file to a local file, which is replaced only when all of them were checked and keeps its
    /// mode.
    ///
    /// A link is followed. What is no regular file is written into, as a shell's redirection would.
    ///
    /// * `describes`: Say what was written, which takes a hash of it.
    @discardableResult
    package func export(
        _ path: VaultPath, revision: String? = nil, to target: FilePath, describes: Bool = false
    ) throws -> FileInfo? {
        let place = try attempt("cannot write \(target.text)", path: target.text) { () throws(Errno) in
            try environment.fileSystem.outputPlace(target)
        }
        switch place {
        case .file(let place, let mode): return try export(path, revision, replacing: place, mode, describes: describes)
        case .stream(let place): return try export(path, revision, into: place, describes: describes)
        }
    }

    private func export(
        _ path: VaultPath, _ revision: String?, replacing target: FilePath, _ mode: UInt32?, describes: Bool
    ) throws -> FileInfo? {
        guard let name = target.lastComponent else {
            throw VaultError(.usage, "\(target.text) is not the name of a file", path: target.text)
        }
        let folder = try attempt("cannot open the folder of \(target.text)", path: target.text) { () throws(Errno) in
            try environment.fileSystem.openDirectory(target.parent)
        }
        let random = try crypto("random names") { () throws(CryptoError) in try environment.random.bytes(6) }
        let temporary = ".".bytes + name.prefix(100) + ".part-".bytes + Hex.encode(random.span)
        let file = try attempt("cannot write \(target.text)", path: target.text) { () throws(Errno) in
            // What replaces a file that others can not read must not be readable for a moment either.
            try folder.createFile(temporary, mode: mode == nil ? 0o666 : 0o600)
        }
        do {
            let info = try pass(path, revision, check: .during, describes: describes) { chunk in
                try attempt("cannot write \(target.text)", path: target.text) { () throws(Errno) in
                    try file.write(chunk)
                }
            }
            try attempt("cannot write \(target.text)", path: target.text) { () throws(Errno) in
                if let mode { try file.keepMode(mode) }
                try file.sync()
                try folder.rename(temporary, to: folder, as: name, replacing: true)
            }
            return info
        } catch {
            try? folder.removeFile(temporary)
            throw error
        }
    }

    /// Nothing can be taken back here, so every byte is checked before the first is written.
    private func export(
        _ path: VaultPath, _ revision: String?, into target: FilePath, describes: Bool
    ) throws -> FileInfo? {
        // Whoever reads at the other end is not disturbed for a file that is not there.
        _ = try file(path, revision)
        let stream = try attempt("cannot write to \(target.text)", path: target.text) { () throws(Errno) in
            try environment.fileSystem.openStream(target)
        }
        return try pass(path, revision, check: .before, describes: describes) { chunk in
            try attempt("cannot write to \(target.text)", path: target.text) { () throws(Errno) in
                try stream.write(chunk)
            }
        }
    }

    private func file(_ path: VaultPath, _ revision: String?) throws -> FileEntry {
        let (trees, tree, commit) = try tree(at: revision)
        guard let tree, let commit else {
            throw VaultError(.pathNotFound, "\(path) is not in the vault, which is empty", path: path.description)
        }
        switch try trees.entry(path, in: tree) {
        case .file(let entry)?: return entry
        case .folder?:
            throw VaultError(
                .pathNotFound, "\(path) is a folder", hint: "vaultctl ls \(path)", path: path.description)
        case nil: throw Self.noPath(path, commit)
        }
    }

    private func tree(at revision: String?) throws -> (trees: TreeReader, tree: ObjectID?, commit: ObjectID?) {
        let state = try loadState()
        let graph = CommitGraph(store: store, cipher: cipher, boundaries: state.config.shallowBoundaries)
        let trees = treeReader()
        let commit: ObjectID?
        if let revision {
            commit = try RevisionResolver(vault: self, state: state, graph: graph).resolve(revision)
        } else {
            commit = state.head
        }
        return (trees, try commit.map { try graph.tree(of: $0) }, commit)
    }
}
