internal import VaultCrypto
public import VaultFormat
package import VaultSystem

/// A vault kept in a folder: on this machine, a mounted disk, a synced directory (spec 05 §17).
///
/// Reads and writes the layout `<folder>/bare/…`, which the reference reads as well; reads a `.sg_vault` store, a
/// working clone, and a folder that the reference published in either layout. Compare-and-swap is safe between
/// processes of one machine: every batch that writes holds a lock and is applied whole or not at all, also across a
/// crash. Readers take no lock.
public struct FolderRemote: Remote {
    let path: FilePath
    /// The open folder in which the remote's own stands; nil resolves the path anew each time, links included.
    let container: (any Directory)?
    let vaultID: VaultID
    let environment: VaultEnvironment
    /// Seconds to wait for another writer.
    let lockTimeout: Double

    /// The folder's absolute path.
    public let location: String

    /// A batch is one transaction of any size; what is larger than 4 MiB is streamed.
    public var limits: RemoteLimits { RemoteLimits(operations: .max, payloadBytes: .max) }

    /// A remote in the folder at `path`, for one vault.
    public init(path: String, vaultID: VaultID) {
        self.init(path: FilePath(path), vaultID: vaultID, environment: .production())
    }

    package init(
        path: FilePath, in container: (any Directory)? = nil, vaultID: VaultID, environment: VaultEnvironment,
        lockTimeout: Double = 60
    ) {
        self.container = container
        // Seen from where the process is now, also when it goes elsewhere later. Not by text: a link may stand before
        // a `..`.
        let here = path.isAbsolute ? nil : try? environment.fileSystem.currentDirectory()
        self.path = here?.appending(path) ?? path
        self.vaultID = vaultID
        self.environment = environment
        self.lockTimeout = lockTimeout
        location = self.path.text
    }

    public var createsOnWrite: Bool {
        do throws(Errno) {
            _ = try environment.fileSystem.status(of: path, followLinks: true)
            return false
        } catch {
            return error == .noSuchFile
        }
    }

    public func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        let store = try openStore()
        let inlineBytes = limits.inlineBytes
        let group = 32
        try environment.pool.forEach(count: (ids.count + group - 1) / group) { index in
            for id in ids[index * group..<min(ids.count, (index + 1) * group)] {
                try deliver(id, try store.read(id, limit: inlineBytes))
            }
        }
    }

    public func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        guard let (file, _) = try openStore().open(id) else { return false }
        while true {
            let chunk = try attempt("cannot read \(id.path) of \(location)") { () throws(Errno) in
                try file.read(upTo: 1 << 20)
            }
            if chunk.isEmpty { return true }
            try sink(chunk.span)
        }
    }

    public func list(_ area: RemoteArea) async throws -> [FileID] {
        try openStore().list(area).map(\.id)
    }

    public func storedBytes() async throws -> Int64? {
        try openStore().list(.objects, withSizes: true).reduce(Int64(0)) { $0 &+ $1.size }
    }

    public func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
        guard !batch.operations.isEmpty else { return .applied }
        return try FolderTransaction(remote: self, authorization: authorization).apply(batch)
    }

    public func destroy(authorization: WriteAuthorization) async throws -> Int? {
        let hash = try decoding("the write key") { () throws(FormatError) in try authorization.writeKey.ownerHash() }
        // Opened for reading first: a folder that is not there is not made to be destroyed.
        let isThere = try !openStore().list(.all).isEmpty
        let vault = ServedVault(path: path, in: container, vaultID: vaultID, environment: environment)
        guard try isThere || vault.owner() != .nobody else {
            throw VaultError(.remoteNotFound, "there is no vault in \(location)")
        }
        return try vault.destroy(ownerHash: hash)
    }

    /// Opens the folder for reading and finds out how it is laid out.
    ///
    /// - Throws: `unreachable` when the folder can not be opened, so that a missing disk is no empty vault.
    func openStore() throws -> FolderStore {
        do throws(Errno) {
            let root = try openFolder()
            return try FolderStore(root: root, remote: self)
        } catch {
            throw VaultError(
                .unreachable, "the folder \(location) can not be opened: \(error)", hint: "check the path", cause: error
            )
        }
    }
}

extension FolderRemote {
    /// Opens the folder.
    func openFolder() throws(Errno) -> any Directory {
        guard let container, let name = path.lastComponent else {
            return try environment.fileSystem.openDirectory(path)
        }
        return try container.openDirectory(name)
    }

    /// Opens the folder, made where it is absent.
    func makeFolder() throws(Errno) -> any Directory {
        guard let container, let name = path.lastComponent else {
            try environment.fileSystem.createDirectories(path, mode: 0o777)
            return try environment.fileSystem.openDirectory(path)
        }
        return try container.openDirectory(name, creatingWith: 0o777)
    }

    /// Whether a text names a folder rather than a saved remote: it holds a slash or begins with a dot.
    public static func looksLikeLocation(_ text: String) -> Bool {
        text.contains("/") || text.hasPrefix(".")
    }

    /// The path that a plain path or a `file://` URL names.
    ///
    /// - Throws: `usage` for a URL of another host or with a damaged escape.
    package static func localPath(_ text: String) throws(VaultError) -> FilePath {
        guard text.lowercased().hasPrefix("file:") else { return FilePath(text) }
        let malformed = VaultError(.usage, "'\(text)' is not a file URL of this machine", hint: "file:///path")
        var rest = text.utf8.dropFirst(5)
        guard rest.starts(with: "//".utf8) else { throw malformed }
        rest = rest.dropFirst(2)
        if rest.starts(with: "localhost/".utf8) { rest = rest.dropFirst(9) }
        guard rest.first == UInt8(ascii: "/") else { throw malformed }
        var bytes: [UInt8] = []
        var iterator = rest.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(Hex.value), let low = iterator.next().flatMap(Hex.value),
                high << 4 | low != 0
            else { throw malformed }
            bytes.append(high << 4 | low)
        }
        return FilePath(bytes: bytes)
    }
}
