internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Objects on their way into the store: written to the scratch area as they come, made durable together, and only then
/// named (spec 05 §12, notes: one flush for many files).
///
/// Dropping a batch removes what it wrote.
///
/// The batch of a new clone writes into the store at once, for nobody sees the store before all of it is complete and
/// durable, and keeps the last small objects in memory, to be checked out from there.
///
/// Used from several threads at once.
final class ObjectBatch: Sendable {
    private struct Staged {
        var id: ObjectID
        var temporary: [UInt8]
    }
    private struct State {
        var staged: [Staged] = []
        /// The scratch name of every object in this batch.
        var names: [ObjectID: [UInt8]] = [:]
        var objects = 0
        var bytes: Int64 = 0
        /// Objects kept in memory, and their bytes.
        var recent: [ObjectID: [UInt8]] = [:]
        var recentBytes = 0
    }

    private let store: ObjectStore
    /// Where objects get their names.
    private let target: any Directory
    private let mode: UInt32
    private let scratch: ScratchArea
    private let width: IDWidth
    /// What the work on the batch runs on; whoever fills it asks here whether to go on.
    let pool: WorkerPool
    private let isNewStore: Bool
    /// Where objects are written before they are named; in a new store they have their names already.
    private let place: any Directory
    private let state = Locked(State())

    private static let recentLimit = 32 << 20

    /// Up to this many objects are synced one by one; above, one flush of the file system is cheaper.
    private static let individualSyncs = 24

    /// * `isNewStore`: Whether the store is that of a clone that is thrown away unless all of it succeeds.
    /// * `folder`: Where the objects go, for its owner alone; nil means the clone's store.
    init(
        store: ObjectStore, layout: CloneLayout, scratch: ScratchArea, width: IDWidth, pool: WorkerPool,
        isNewStore: Bool = false, folder: (any Directory)? = nil
    ) {
        self.isNewStore = isNewStore
        target = folder ?? layout.data
        mode = folder == nil ? 0o666 : 0o600
        place = isNewStore ? layout.data : scratch.directory
        self.store = store
        self.scratch = scratch
        self.width = width
        self.pool = pool
    }

    deinit {
        for staged in state.withLock({ $0.staged }) {
            try? scratch.directory.removeFile(staged.temporary)
        }
    }

    /// Objects staged so far, and their bytes.
    var count: (objects: Int, bytes: Int64) {
        state.withLock { ($0.objects, $0.bytes) }
    }

    /// Whether this batch holds the object already.
    func stages(_ id: ObjectID) -> Bool {
        state.withLock { $0.names[id] != nil }
    }

    /// Reads a staged object back; nil when this batch does not hold it.
    func read(_ id: ObjectID, limit: Int) throws(VaultError) -> VerifiedObject? {
        let (name, recent) = state.withLock { ($0.names[id], $0.recent[id]) }
        guard let name else { return nil }
        if let recent, recent.count <= limit { return VerifiedObject(checked: recent, as: id) }
        let bytes = try attempt("cannot read back object \(id.text)") { () throws(Errno) in
            try place.contents(name, limit: limit)
        }
        guard let bytes else { return nil }  // named in the store by now
        return try VerifiedObject(checking: bytes, as: id)
    }

    /// A staged object that is still in memory.
    func recent(_ id: ObjectID) -> VerifiedObject? {
        state.withLock { $0.recent[id] }.map { VerifiedObject(checked: $0, as: id) }
    }

    /// Adds ciphertext under the id that it has.
    @discardableResult
    func add(_ ciphertext: [UInt8]) throws(VaultError) -> ObjectID {
        let digest = try crypto("hashing") { () throws(CryptoError) in try SHA256.hash(ciphertext.span) }
        let id = ObjectID(digest: digest, width: width)
        try stage(id, ciphertext)
        return id
    }

    /// Adds an object that came with its id and was checked against it.
    func add(_ object: VerifiedObject) throws(VaultError) {
        try stage(object.id, object.bytes)
    }

    private func stage(_ id: ObjectID, _ bytes: [UInt8]) throws(VaultError) {
        guard !stages(id) else { return }
        let name = isNewStore ? id.text.bytes : try scratch.freshName()
        do throws(Errno) {
            let file = try place.createFile(name, mode: mode)
            try file.write(bytes.span)
        } catch .fileExists where isNewStore {
            return  // another thread has the same object
        } catch {
            try? place.removeFile(name)
            throw .io(error, "cannot store an object", path: id.text)
        }
        register(id, name, size: Int64(bytes.count))
        guard isNewStore else { return }
        state.withLock { state in
            guard state.recentBytes + bytes.count <= Self.recentLimit else { return }
            state.recentBytes += bytes.count
            state.recent[id] = bytes
        }
    }

    /// Moves an object of an interrupted clone into the new store, if it is whole.
    ///
    /// - Returns: Whether it was there and is what its id says.
    func adopt(_ id: ObjectID, from folder: any Directory) throws(VaultError) -> Bool {
        guard !stages(id) else { return true }
        let name = id.text.bytes
        let hash = try IncrementalHash()
        return try attempt("cannot take over object \(id.text)", path: id.text) { () throws(Errno) in
            guard try folder.statusIfPresent(of: name)?.kind == .regular else { return false }
            let file = try folder.openFile(name)
            var size: Int64 = 0
            while true {
                let bytes = try file.read(upTo: 1 << 20)
                if bytes.isEmpty { break }
                try hashing(hash, bytes)
                size += Int64(bytes.count)
            }
            let digest: [UInt8]
            do throws(VaultError) { digest = try hash.finish() } catch { throw .ioError }
            guard id.matches(digest: digest) else { return false }
            try folder.rename(name, to: place, as: name, replacing: true)
            register(id, name, size: size)
            return true
        }
    }

    /// Takes a written file into the batch, unless another thread was first with the same object.
    private func register(_ id: ObjectID, _ name: [UInt8], size: Int64) {
        let isNewStore = isNewStore
        let isNew = state.withLock { state -> Bool in
            guard state.names[id] == nil else { return false }
            state.names[id] = name
            state.objects += 1
            if !isNewStore { state.staged.append(Staged(id: id, temporary: name)) }
            state.bytes += size
            return true
        }
        if !isNew { discard(name) }
    }

    /// Starts a file in the scratch area for an object whose id is known only at its end.
    func begin() throws(VaultError) -> (file: any File, name: [UInt8]) {
        let name = try scratch.freshName()
        let file = try attempt("cannot store an object") { () throws(Errno) in
            try scratch.directory.createFile(name, mode: mode)
        }
        return (file, name)
    }

    /// Adds a file written after `begin`.
    ///
    /// With `id` nil the id follows from the digest; otherwise the digest must fit.
    func finish(_ name: [UInt8], digest: [UInt8], size: Int64, id: ObjectID? = nil) throws(VaultError) -> ObjectID {
        if let id, !id.matches(digest: digest) {
            discard(name)
            throw VaultError(.objectCorrupt, "object \(id.text) arrived with other bytes", object: id.text)
        }
        let id = id ?? ObjectID(digest: digest, width: width)
        if isNewStore {
            try attempt("cannot store object \(id.text)") { () throws(Errno) in
                try scratch.directory.rename(name, to: place, as: id.text.bytes, replacing: true)
            }
            register(id, id.text.bytes, size: size)
        } else {
            register(id, name, size: size)
        }
        return id
    }

    /// Removes a file that `begin` made.
    func discard(_ name: [UInt8]) {
        try? scratch.directory.removeFile(name)
    }

    /// Makes all objects durable and gives them their names.
    ///
    /// Afterwards refs may point at them. (The objects of a new store become durable with everything else of it.)
    func commit() throws {
        let staged = state.withLock { $0.staged }
        guard !staged.isEmpty else { return }
        try makeDurable(staged.map(\.temporary), in: scratch.directory)
        var held: [[UInt8]] = []
        for item in staged where try !name(item) { held.append(item.id.text.bytes) }
        // They may be of a program that syncs nothing.
        try makeDurable(held, in: target)
        state.withLock {
            $0.staged = []
            $0.names = [:]
        }
        try attempt("cannot sync the object folder") { () throws(Errno) in try target.sync() }
    }

    private func makeDurable(_ names: [[UInt8]], in folder: any Directory) throws {
        if names.isEmpty { return }
        if names.count > Self.individualSyncs {
            try attempt("cannot sync the objects") { () throws(Errno) in try folder.syncFileSystem() }
            return
        }
        try WorkerPool(threads: min(names.count, 8)).forEach(count: names.count) { index in
            try attempt("cannot sync an object") { () throws(Errno) in try folder.openFile(names[index]).sync() }
        }
    }

    /// Gives an object its name; false when the store holds the same one already.
    private func name(_ item: Staged) throws(VaultError) -> Bool {
        let name = item.id.text.bytes
        do throws(Errno) {
            try scratch.directory.rename(item.temporary, to: target, as: name, replacing: false)
        } catch .fileExists {
            // Either the same object (a rerun, a shared folder tree) or, in 48 bits, a collision, which must never
            // overwrite (spec 01 §6). What is there and is not sound is replaced by what was just checked.
            let staged = try attempt("cannot compare objects") { () throws(Errno) in
                try scratch.directory.openFile(item.temporary)
            }
            if try isSame(staged, as: item.id) {
                try? scratch.directory.removeFile(item.temporary)
                return false
            }
            try attempt("cannot store object \(item.id.text)") { () throws(Errno) in
                try scratch.directory.rename(item.temporary, to: target, as: name, replacing: true)
            }
        } catch {
            throw .io(error, "cannot store object \(item.id.text)", path: item.id.text)
        }
        return true
    }

    /// True when the store's copy equals the staged one; false when the store's copy is damaged and was moved away.
    private func isSame(_ staged: any File, as id: ObjectID) throws(VaultError) -> Bool {
        let (held, _) = try store.open(id)
        let hash = try IncrementalHash()
        var equal = true
        do throws(Errno) {
            while true {
                let ours = try staged.read(upTo: 1 << 20)
                var theirs = try held.read(upTo: max(ours.count, 1))
                while !theirs.isEmpty && theirs.count < ours.count {
                    let more = try held.read(upTo: ours.count - theirs.count)
                    if more.isEmpty { break }
                    theirs += more
                }
                try hashing(hash, theirs)
                equal = equal && ours == theirs
                if ours.isEmpty && theirs.isEmpty { break }
                if ours.isEmpty || theirs.isEmpty { equal = false }
            }
        } catch {
            throw .io(error, "cannot compare objects", path: id.text)
        }
        if equal { return true }
        if id.matches(digest: try hash.finish()) {
            throw VaultError(
                .objectCorrupt, "two different objects have the id \(id.text); nothing was overwritten",
                hint: "raise the vault to format 2 (32-digit ids)", object: id.text)
        }
        store.quarantine(id)
        return false
    }

    private func hashing(_ hash: IncrementalHash, _ bytes: [UInt8]) throws(Errno) {
        do throws(VaultError) { try hash.update(bytes.span) } catch { throw .ioError }
    }
}
