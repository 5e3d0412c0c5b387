internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Bytes that were hashed and found to be those of their id.
///
/// Only `ObjectStore` and the sync code, which check, make one.
struct VerifiedObject: Sendable {
    let id: ObjectID
    let bytes: [UInt8]

    /// Checks the bytes against the id.
    init(checking bytes: [UInt8], as id: ObjectID) throws(VaultError) {
        let digest = try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(bytes.span) }
        guard id.matches(digest: digest) else {
            throw VaultError(
                .objectCorrupt, "object \(id.text) does not hold the bytes of its id", hint: "vaultctl fsck --repair",
                object: id.text)
        }
        self.id = id
        self.bytes = bytes
    }

    /// Bytes that were checked against the id before and have not left memory since.
    init(checked bytes: [UInt8], as id: ObjectID) {
        self.id = id
        self.bytes = bytes
    }
}

/// Where checked objects can be read from.
protocol ObjectReading: Sendable {
    /// Reads an object of at most `limit` bytes and checks it.
    ///
    /// - Throws: `objectMissing`, `objectCorrupt`, or an I/O error.
    func read(_ id: ObjectID, limit: Int) throws(VaultError) -> VerifiedObject
    /// Whether an object of that id is there (not whether it is sound).
    func holds(_ id: ObjectID) throws(VaultError) -> Bool
}

/// A store together with what a batch is about to add to it.
struct StagedStore: ObjectReading {
    let store: ObjectStore
    let batch: ObjectBatch

    func read(_ id: ObjectID, limit: Int) throws(VaultError) -> VerifiedObject {
        if let object = try batch.read(id, limit: limit) { return object }
        return try store.read(id, limit: limit)
    }

    func holds(_ id: ObjectID) throws(VaultError) -> Bool {
        if batch.stages(id) { return true }
        return try store.holds(id)
    }
}

/// The immutable objects of a clone, one file each in `bare/data` (spec 02 §1).
///
/// Every object is hashed before it is used. One that does not hold the bytes of its id is moved to
/// `local/vaultctl/quarantine` where that can be done, and counts as missing from then on (spec 05 §12).
final class ObjectStore: ObjectReading {
    private let layout: CloneLayout
    private let folder: any Directory

    /// The largest object that is read into memory as a whole; larger ones are streamed.
    static let inlineLimit = 8 << 20

    /// * `folder`: Where the objects are; nil means the store that is shared with others.
    init(layout: CloneLayout, folder: (any Directory)? = nil) {
        self.layout = layout
        self.folder = folder ?? layout.data
    }

    /// Whether a file of that id is there (not whether it is sound).
    func holds(_ id: ObjectID) throws(VaultError) -> Bool {
        do throws(Errno) {
            return try folder.status(of: id.utf8).kind == .regular
        } catch .noSuchFile {
            return false
        } catch {
            throw .io(error, "cannot look up an object", path: id.text)
        }
    }

    /// The ids of all objects held.
    ///
    /// Other names are left out.
    func allIDs() throws(VaultError) -> [ObjectID] {
        try listing().map(\.id)
    }

    /// Everything that has the name of an object, with its kind.
    func listing() throws(VaultError) -> [(id: ObjectID, kind: FileKind)] {
        let entries = try attempt("cannot list the objects") { () throws(Errno) in try folder.entries() }
        return entries.compactMap { entry in (try? ObjectID(utf8: entry.name.span)).map { ($0, entry.kind) } }
    }

    /// Reads an object of at most `limit` bytes and checks it.
    ///
    /// - Throws: `objectMissing`, `objectCorrupt`, or an I/O error.
    func read(_ id: ObjectID, limit: Int) throws(VaultError) -> VerifiedObject {
        guard let object = try readSmall(id, limit: limit) else {
            throw VaultError(.objectCorrupt, "object \(id.text) is larger than \(limit) bytes", object: id.text)
        }
        return object
    }

    /// The same; nil when the object is larger than `limit`.
    ///
    /// * `size`: What the file's status told before, which then is not asked for again.
    func readSmall(_ id: ObjectID, limit: Int, size: Int64? = nil) throws(VaultError) -> VerifiedObject? {
        let bytes: [UInt8]?
        do throws(Errno) {
            bytes = try folder.contents(id.utf8, limit: limit, size: size)
        } catch .fileTooLarge {
            return nil
        } catch .invalidArgument, .tooManyLinks, .isADirectory {
            throw Self.misplaced(id)
        } catch {
            throw .io(error, "cannot read object \(id.text)", path: id.text)
        }
        guard let bytes else { throw Self.missing(id) }
        do throws(VaultError) {
            return try VerifiedObject(checking: bytes, as: id)
        } catch {
            if error.code == .objectCorrupt { quarantine(id) }
            throw error
        }
    }

    /// Opens an object's file for streaming; the caller hashes what it reads before it believes it.
    func open(_ id: ObjectID) throws(VaultError) -> (file: any File, size: Int64) {
        do throws(Errno) {
            let file = try folder.openFile(id.text.bytes)
            let status = try file.status()
            guard status.kind == .regular else { throw .invalidArgument }
            return (file, status.size)
        } catch .noSuchFile {
            throw Self.missing(id)
        } catch .invalidArgument, .tooManyLinks, .isADirectory {
            throw Self.misplaced(id)
        } catch {
            throw .io(error, "cannot open object \(id.text)", path: id.text)
        }
    }

    /// The size of an object's file in bytes, or nil when it is absent.
    func size(_ id: ObjectID) throws(VaultError) -> Int64? {
        do throws(Errno) {
            return try folder.status(of: id.utf8).size
        } catch .noSuchFile {
            return nil
        } catch {
            throw .io(error, "cannot look up an object", path: id.text)
        }
    }

    /// Moves a corrupt object out of the way, so that the next fetch brings it again.
    ///
    /// It is hashed once more where it can not be replaced any more, and put back when another process has mended it in
    /// between. A clone that can not be written keeps it where it is; every reader will find it corrupt again.
    @discardableResult
    func quarantine(_ id: ObjectID) -> Bool {
        do {
            let place = try layout.ownSubfolder("quarantine")
            try folder.rename(id.text.bytes, to: place, as: id.text.bytes, replacing: true)
            // What can not be read back is no object, whatever it is.
            guard (try? isSound(id, in: place)) == true else { return true }
            try place.rename(id.text.bytes, to: folder, as: id.text.bytes, replacing: true)
            return false
        } catch {
            return false
        }
    }

    private func isSound(_ id: ObjectID, in place: any Directory) throws -> Bool {
        let file = try place.openFile(id.text.bytes)
        var hash = try SHA256()
        while true {
            let chunk = try file.read(upTo: 1 << 20)
            if chunk.isEmpty { return id.matches(digest: try hash.finish()) }
            try hash.update(chunk.span)
        }
    }

    /// A folder, a link or the like under the name of an object.
    static func misplaced(_ id: ObjectID) -> VaultError {
        VaultError(
            .objectCorrupt, "no file stands in the place of object \(id.text)", hint: "vaultctl fsck --repair",
            object: id.text)
    }

    static func missing(_ id: ObjectID) -> VaultError {
        VaultError(
            .objectMissing, "object \(id.text) is not in this clone", hint: "vaultctl fsck --repair", object: id.text
        ).lacking([id])
    }

    /// Refuses to go on without the contents of some files; names the first, and tells of all.
    ///
    /// - Throws: `objectMissing`.
    func require(_ files: some Sequence<(path: VaultPath, entry: FileEntry)>) throws(VaultError) {
        var first: VaultError?
        var missing: Set<ObjectID> = []
        for (path, entry) in files {
            if missing.contains(entry.blobID) { continue }
            if try holds(entry.blobID) { continue }
            missing.insert(entry.blobID)
            if first != nil { continue }
            first = VaultError(
                .objectMissing, "the content of \(path) (\(entry.blobID.text)) is not in this clone",
                hint: "vaultctl fsck --repair", path: path.description, object: entry.blobID.text)
        }
        if let first { throw first.lacking(missing.sorted()) }
    }
}

/// An object in the store as something to send: hashed while it is read (spec 05 K14).
struct StoredObjectSource: ObjectSource {
    let store: ObjectStore
    let id: ObjectID
    let size: Int64

    func bytes(at offset: Int64, count: Int) throws -> [UInt8]? {
        let (file, _) = try store.open(id)
        try file.seek(to: offset)
        var bytes = [UInt8](repeating: 0, count: max(0, min(count, Int(clamping: size - offset))))
        var span = bytes.mutableSpan
        guard try file.read(filling: &span) == bytes.count else { throw ObjectStore.missing(id) }
        return bytes
    }

    func read(into sink: (Span<UInt8>) throws -> Void) throws {
        if size <= ObjectStore.inlineLimit {
            let object = try store.readSmall(id, limit: ObjectStore.inlineLimit, size: size)
            guard let object else { throw ObjectStore.missing(id) }
            try sink(object.bytes.span)
            return
        }
        let (file, _) = try store.open(id)
        var hash = try SHA256()
        while true {
            let chunk = try file.read(upTo: 1 << 20)
            if chunk.isEmpty { break }
            try hash.update(chunk.span)
            try sink(chunk.span)
        }
        guard id.matches(digest: try hash.finish()) else {
            store.quarantine(id)
            throw VaultError(
                .objectCorrupt, "object \(id.text) does not hold the bytes of its id", hint: "vaultctl fsck --repair",
                object: id.text)
        }
    }
}
