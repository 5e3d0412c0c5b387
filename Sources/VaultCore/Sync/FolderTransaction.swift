internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// One writing batch on a folder remote: whole or not at all, also across a crash (spec 05 §17).
struct FolderTransaction {
    let remote: FolderRemote
    let authorization: WriteAuthorization

    private static let lockTimeoutNs: Int64 = 60_000_000_000
    /// Up to this many files are synced one by one; above, one flush of the file system is cheaper.
    private static let individualSyncs = 24

    func apply(_ batch: WriteBatch) throws -> BatchOutcome {
        let root = try openRoot()
        let store = try attempt("cannot open \(remote.location)") { () throws(Errno) in
            try FolderStore(root: root, vaultID: remote.vaultID, location: remote.location)
        }
        if case .readOnly(let what) = store.kind {
            throw VaultError(
                .readOnlyRemote, "\(remote.location) is \(what) and takes no writes", hint: "push to an empty folder")
        }
        let own = try attempt("cannot write to \(remote.location)") { () throws(Errno) in
            try root.openDirectory(FolderStore.ownName, creatingWith: 0o700)
        }
        let lock = try takeLock(own)
        defer { _ = lock }
        let folders = try WriteFolders(root: root, own: own, remote: remote)
        try folders.finishInterrupted()
        let isBound = try checkOwner(own)
        // What was read before the lock may have changed since.
        let current = try attempt("cannot open \(remote.location)") { () throws(Errno) in
            try FolderStore(root: root, vaultID: remote.vaultID, location: remote.location)
        }
        if let conflict = try findConflict(batch, current) { return conflict }
        if !isBound { try bind(own, folders) }
        let steps = try stage(batch, current, folders)
        try folders.publish(steps, workers: remote.environment.workers)
        return .applied
    }

    private func openRoot() throws(VaultError) -> any Directory {
        try attempt("cannot make the folder \(remote.location)", path: remote.location) { () throws(Errno) in
            let fileSystem = remote.environment.fileSystem
            try fileSystem.createDirectories(remote.path, mode: 0o777)
            return try fileSystem.openDirectory(remote.path)
        }
    }

    private func takeLock(_ own: any Directory) throws(VaultError) -> any File {
        let clock = remote.environment.clock
        let deadline = clock.monotonicNs &+ Self.lockTimeoutNs
        let file = try attempt("cannot lock \(remote.location)") { () throws(Errno) in
            try own.openForAppending("lock".bytes, mode: 0o600)
        }
        while true {
            let taken = try attempt("cannot lock \(remote.location)") { () throws(Errno) in
                try file.lock(wait: false)
            }
            if taken { return file }
            guard clock.monotonicNs < deadline else {
                throw VaultError(.locked, "another writer holds \(remote.location)", hint: "try again")
            }
            clock.sleep(milliseconds: 5)
        }
    }

    /// Whether the folder belongs to a write key already, which must be ours.
    private func checkOwner(_ own: any Directory) throws(VaultError) -> Bool {
        let bytes = try attempt("cannot read the owner of \(remote.location)") { () throws(Errno) in
            try own.readFileIfPresent("owner.json".bytes, limit: 65_536)
        }
        guard let bytes else { return false }
        guard let record = try? JSONReader.parse(bytes.span), record["v"] == .integer(1) else {
            throw VaultError(.formatUnsupported, "the owner record of \(remote.location) is not understood")
        }
        if record["destroyed_at"] != nil {
            throw VaultError(
                .refused, "the vault in \(remote.location) was destroyed; its id can never be used again there")
        }
        let hash = try ownerHash()
        guard record["vault_id"]?.text == remote.vaultID.text, record["write_key_hash"]?.text == hash else {
            throw VaultError(
                .keyWrong, "\(remote.location) belongs to another vault or write key", hint: "use another folder")
        }
        return true
    }

    private func ownerHash() throws(VaultError) -> String {
        try decoding("the write key") { () throws(FormatError) in try authorization.writeKey.ownerHash() }
    }

    private func bind(_ own: any Directory, _ folders: WriteFolders) throws(VaultError) {
        let record = JSONValue.object([
            JSONMember(name: "v", value: .integer(1)),
            JSONMember(name: "vault_id", value: .string(remote.vaultID.text)),
            JSONMember(name: "write_key_hash", value: .string(try ownerHash())),
            JSONMember(name: "created_at", value: .integer(remote.environment.clock.nowMs)),
        ])
        let bytes = JSONWriter.bytes(record, .compact)
        try attempt("cannot write the owner of \(remote.location)") { () throws(Errno) in
            try folders.scratch.replace("owner.json".bytes, in: own, with: bytes.span, mode: 0o600)
        }
    }

    /// The first condition that does not hold.
    ///
    /// Nothing has been written yet.
    private func findConflict(_ batch: WriteBatch, _ store: FolderStore) throws -> BatchOutcome? {
        for (position, operation) in batch.operations.enumerated() {
            guard case .swap(let target, let expected, _) = operation else { continue }
            var current: [UInt8]?
            switch try store.read(target.fileID, limit: Limits.indexPlaintext) {
            case .content(let bytes): current = bytes
            case .absent: current = nil
            case .large:
                throw VaultError(
                    .refUnreadable, "\(target.fileID.path) of \(remote.location) is far too large",
                    object: target.fileID.path)
            }
            let holds =
                switch expected {
                case .absent: current == nil
                case .bytes(let bytes): current == bytes
                }
            if !holds { return .conflict(position: position, current: current) }
        }
        return nil
    }

    /// Writes the new bytes to the scratch folder, several files at once.
    private func stage(_ batch: WriteBatch, _ store: FolderStore, _ folders: WriteFolders) throws -> [FolderStep] {
        let operations = batch.operations
        let group = 16
        let parts = try WorkerPool.map(
            count: (operations.count + group - 1) / group, workers: remote.environment.workers
        ) { index -> [FolderStep] in
            try operations[index * group..<min(operations.count, (index + 1) * group)].compactMap {
                try stage($0, store, folders)
            }
        }
        let steps = parts.flatMap { $0 }.sorted { $0.order < $1.order }
        try hit(.folderStaged)
        let files = steps.compactMap(\.temporary)
        if files.count > Self.individualSyncs {
            try attempt("cannot sync \(remote.location)") { () throws(Errno) in
                try folders.scratch.directory.syncFileSystem()
            }
        } else {
            try WorkerPool.forEach(count: files.count, workers: min(8, files.count)) { index in
                try attempt("cannot sync \(remote.location)") { () throws(Errno) in
                    try folders.scratch.directory.openFile(files[index]).sync()
                }
            }
        }
        try hit(.folderStagedDurable)
        return steps
    }

    private func stage(
        _ operation: WriteOperation, _ store: FolderStore, _ folders: WriteFolders
    ) throws -> FolderStep? {
        switch operation {
        case .object(let id, let source):
            if let (held, size) = try store.open(.object(id)) {
                try compare(held, size, with: source, id)
                return nil
            }
            return FolderStep(
                target: .object(id),
                temporary: try folders.write { sink in try source.read { try sink($0) } })
        case .key(let id, let bytes):
            return FolderStep(target: .key(id), temporary: try folders.write { try $0(bytes.span) })
        case .cache(let id, let bytes):
            return FolderStep(target: id, temporary: try folders.write { try $0(bytes.span) })
        case .swap(let target, _, let bytes):
            return FolderStep(target: target.fileID, temporary: try folders.write { try $0(bytes.span) })
        case .removeCache(let id):
            return FolderStep(target: id, temporary: nil)
        }
    }

    /// An object that is there already must be the same one (spec 05 §17).
    private func compare(_ held: any File, _ size: Int64, with source: any ObjectSource, _ id: ObjectID) throws {
        let differs = VaultError(
            .objectCorrupt, "\(remote.location) holds other bytes under \(id.text); nothing was written",
            hint: "the folder is damaged; push to a fresh one", object: id.text)
        guard size == source.size else { throw differs }
        try source.read { chunk in
            let other = try attempt("cannot read \(id.text)") { () throws(Errno) in
                try held.read(fillingUpTo: max(chunk.count, 1), sizeHint: chunk.count)
            }
            guard other.count == chunk.count, ConstantTime.equal(other.span, chunk) else { throw differs }
        }
    }

    private func hit(_ point: FailPoint) throws(VaultError) {
        try attempt("interrupted") { () throws(Errno) in try remote.environment.failPoints.hit(point) }
    }
}

/// A file that gets its name, or loses it, when a batch is published.
struct FolderStep: Sendable {
    var target: FileID
    /// The staged file; nil removes the target.
    var temporary: [UInt8]?

    /// Objects, keys, caches, index, clone refs, named refs: a reader that follows refs never meets a hole.
    var order: Int {
        switch target {
        case .object: 0
        case .key: 1
        case .cacheValue, .cachePointer: 2
        case .index: 3
        case .ref(let id): id.kind == .clone ? 4 : 5
        }
    }

    var json: JSONValue {
        .object([
            JSONMember(name: "to", value: .string(target.path)),
            JSONMember(
                name: "from", value: .optional(temporary.map { String(decoding: $0, as: UTF8.self) })),
        ])
    }

    init(target: FileID, temporary: [UInt8]?) {
        self.target = target
        self.temporary = temporary
    }

    init?(_ json: JSONValue) {
        guard let to = json["to"]?.text, let target = try? FileID(path: to) else { return nil }
        self.target = target
        temporary = json["from"]?.text.map { Array($0.utf8) }
        if let name = temporary, name.contains(UInt8(ascii: "/")) { return nil }
    }
}
