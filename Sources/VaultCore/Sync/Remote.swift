public import VaultFormat

/// A place where a vault's encrypted files are kept for others: a folder, a server, a bucket.
///
/// The contract, which `RemoteConformance` tests for every implementation:
/// * Ids are opaque; contents are ciphertext. A remote is not trusted: callers check every object.
/// * "Absent" is answered only when the place said so. Any doubt is an error (`unreachable`, `ioError` …), so that
///   a dead host is never an empty vault.
/// * Refs and the index are never cached.
/// * There is no operation that moves a named ref or the index without an expected value: `WriteOperation` has none.
/// * An `apply` that answered `.applied` is durable there. One that threw may have been applied or not; one that
///   answered `.conflict` has not moved the file it names.
public protocol Remote: Sendable {
    /// The place in words for messages and records: a URL or an absolute path.
    ///
    /// Holds no secret.
    var location: String { get }

    /// How much this remote takes at once.
    var limits: RemoteLimits { get }

    /// Reads files and hands each to `deliver`, once per id, in any order and possibly from several threads at once.
    ///
    /// Contents of at most `limits.inlineBytes` are delivered whole; larger ones as `.large`, to be fetched by
    /// `stream`. An error thrown by `deliver` ends the read and is passed on.
    func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws

    /// Reads files as `read` does, but leaves out what it could only find out about by asking again and again.
    ///
    /// So it is with files that came in one request with others that are too large for it. The caller may know more
    /// about them than this remote, which files are large above all.
    ///
    /// - Returns: Those left out; nothing was delivered for them.
    func sweep(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws -> [FileID]

    /// Reads one file of any size piece by piece.
    ///
    /// Returns false, having called nothing, when it is absent.
    func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool

    /// The ids under an area.
    ///
    /// Names that are no file ids are left out. Throws when the place could not be asked.
    func list(_ area: RemoteArea) async throws -> [FileID]

    /// True while the place does not exist and the first write will make it.
    var createsOnWrite: Bool { get }

    /// Whether a swap compares and writes in one step, so that of two writers never both are told that they won.
    var swapsAtOnce: Bool { get }

    /// The bytes that all objects there take, when that can be told without reading them; nil otherwise.
    func storedBytes() async throws -> Int64?

    /// Carries out the operations in their order, stopping at the first conflict.
    ///
    /// - Throws: `keyWrong` when the vault there belongs to another write key, `readOnlyRemote` when it takes no
    ///   writes, `objectCorrupt` when an object of that id is there with other bytes.
    func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome

    /// Removes every file of the vault there for ever; nobody can write to its id again (spec 04 §6).
    ///
    /// - Returns: How many files there were; nil where the place does not tell.
    /// - Throws: `keyWrong` when the vault belongs to another write key, `readOnlyRemote` where nothing can be removed,
    ///   `remoteNotFound` where there is no vault, `refused` where it was destroyed before and the place tells so.
    func destroy(authorization: WriteAuthorization) async throws -> Int?
}

/// How much a remote takes at once.
public struct RemoteLimits: Sendable, Equatable {
    /// Most operations in one `apply`.
    public var operations: Int
    /// Most payload bytes in one `apply`; one larger operation still goes alone.
    public var payloadBytes: Int
    /// Contents up to this many bytes are delivered whole by `read`.
    public var inlineBytes: Int

    /// Makes one from its parts.
    public init(operations: Int, payloadBytes: Int, inlineBytes: Int = 4 << 20) {
        self.operations = operations
        self.payloadBytes = payloadBytes
        self.inlineBytes = inlineBytes
    }
}

/// What a read found under an id.
public enum RemoteFile: Sendable, Equatable {
    /// The whole content.
    case content([UInt8])
    /// The place said that there is none.
    case absent
    /// Larger than `RemoteLimits.inlineBytes`; the size in bytes when the remote knows it.
    case large(size: Int64?)
}

/// A part of a vault that can be listed.
public enum RemoteArea: Sendable, Equatable, CaseIterable {
    /// Everything.
    case all
    /// Objects.
    case objects
    /// Refs.
    case refs
    /// Public keys.
    case keys
    /// Branch indexes.
    case indexes
    /// Cache objects.
    case cache
}

/// Proves to a remote that the writer may write (spec 04 §5).
public struct WriteAuthorization: Sendable {
    /// The vault.
    public let vaultID: VaultID
    /// Its write key.
    public let writeKey: WriteKey

    /// Makes one from its parts.
    public init(vaultID: VaultID, writeKey: WriteKey) {
        self.vaultID = vaultID
        self.writeKey = writeKey
    }
}

/// What a file must hold for a conditional write to happen (spec 04 §4.1).
public enum Expected: Sendable, Equatable {
    /// The file must not exist.
    case absent
    /// The file must hold exactly these bytes.
    case bytes([UInt8])
}

/// A file that changes and is written only by compare-and-swap.
public enum SwapTarget: Hashable, Sendable {
    /// A ref.
    case ref(RefID)
    /// The branch index.
    case index(IndexID)
    /// A public key that does not read there; a sound one is never replaced.
    case key(KeyID)

    /// The file id on the remote.
    public var fileID: FileID {
        switch self {
        case .ref(let id): .ref(id)
        case .index(let id): .index(id)
        case .key(let id): .key(id)
        }
    }
}

/// The bytes of an object about to be sent.
public protocol ObjectSource: Sendable {
    /// The number of bytes `read` will give.
    var size: Int64 { get }
    /// Gives the bytes piece by piece and checks them against the object's id on the way: when this returns without
    /// throwing, exactly the bytes of the id were given.
    ///
    /// It may be called more than once.
    func read(into sink: (Span<UInt8>) throws -> Void) throws
    /// Some of the bytes, unchecked, for remotes that take large objects in parts; nil where only `read` gives them.
    ///
    /// Who sends such bytes also calls `read`, and tells the remote to keep them only when that did not throw.
    func bytes(at offset: Int64, count: Int) throws -> [UInt8]?
}

extension ObjectSource {
    /// Most sources give their bytes in order only.
    public func bytes(at offset: Int64, count: Int) throws -> [UInt8]? { nil }
}

/// One step of a batch.
///
/// There is deliberately no unconditional write of a named ref or an index.
public enum WriteOperation: Sendable {
    /// Stores an immutable object; a no-op where it is already held with the same bytes.
    case object(ObjectID, any ObjectSource)
    /// Stores an immutable public key object.
    case key(KeyID, [UInt8])
    /// Stores a cache object (spec 02 §11), which anybody may replace.
    case cache(FileID, [UInt8])
    /// Replaces `target` when it holds what is expected.
    case swap(SwapTarget, expected: Expected, new: [UInt8])
    /// Removes a cache object; absent is fine.
    case removeCache(FileID)
}

/// Operations to be applied in order.
///
/// A named ref moves last, and at most one per batch (spec 04 §4.2).
public struct WriteBatch: Sendable {
    /// The operations.
    public let operations: [WriteOperation]
    /// Whether objects of it may have been sent before by somebody who came no further.
    ///
    /// Then a remote to which sending a large object twice costs much looks for it first.
    public var isRepeated = true

    /// Checks the order.
    ///
    /// - Throws: `VaultError` with code `internal` when a named ref is swapped anywhere but last, or a cache
    ///   operation names another kind of file.
    public init(_ operations: [WriteOperation]) throws {
        for (position, operation) in operations.enumerated() {
            switch operation {
            case .swap(.ref(let id), _, _) where id.kind == .named && position != operations.count - 1:
                throw VaultError(.internalError, "a named ref must be the last operation of a batch")
            case .cache(let id, _), .removeCache(let id):
                guard id.isCache else { throw VaultError(.internalError, "\(id.path) is no cache object") }
            default: break
            }
        }
        self.operations = operations
    }
}

/// How a batch ended.
public enum BatchOutcome: Sendable, Equatable {
    /// Every operation took effect and is durable.
    case applied
    /// The operation at this position found other bytes than expected (`nil`: nothing there).
    ///
    /// Those before it took effect on a remote without atomic batches; those from it on did not.
    case conflict(position: Int, current: [UInt8]?)
}

extension Remote {
    /// Most places exist before the first write.
    public var createsOnWrite: Bool { false }

    /// Most places lock.
    public var swapsAtOnce: Bool { true }

    /// Most places read one file at a time and leave nothing out.
    public func sweep(
        _ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) async throws -> [FileID] {
        try await read(ids, deliver: deliver)
        return []
    }

    /// Places that only give files take no destruction either.
    public func destroy(authorization: WriteAuthorization) async throws -> Int? {
        throw VaultError(.readOnlyRemote, "nothing can be removed from \(location)")
    }

    /// Most remotes can not tell.
    public func storedBytes() async throws -> Int64? { nil }

    /// Reads a few small files into a dictionary.
    package func readAll(_ ids: [FileID]) async throws -> [FileID: RemoteFile] {
        let found = Collected()
        try await read(ids) { id, file in found.put(id, file) }
        return found.all
    }
}
