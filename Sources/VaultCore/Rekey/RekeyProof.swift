internal import VaultFormat
internal import VaultSystem

/// Reads a published vault back, every byte of it: the vault that it replaces may be destroyed next.
struct RekeyProof {
    let remote: any Remote
    let pool: WorkerPool
    let observer: any Observer

    private static let group = 256

    /// - Throws: `serverError` naming the first file that is not there as it was sent.
    func check(
        objects: [ObjectID], keys: [(id: KeyID, bytes: [UInt8])], index: (id: IndexID, bytes: [UInt8]),
        refs: [(id: RefID, bytes: [UInt8])]
    ) async throws {
        var small: [FileID: [UInt8]] = [.index(index.id): index.bytes]
        for key in keys { small[.key(key.id)] = key.bytes }
        for ref in refs { small[.ref(ref.id)] = ref.bytes }
        let found = try await remote.readAll(small.keys.sorted { $0.path < $1.path })
        for (file, bytes) in small where found[file] != .content(bytes) { throw wrong(file) }
        var done = 0
        var left = objects[...]
        while !left.isEmpty {
            try pool.checkCancellation()
            let part = Array(left.prefix(Self.group))
            left = left.dropFirst(part.count)
            try await check(part)
            done += part.count
            observer.progress(Progress(phase: .verify, done: done, total: objects.count))
        }
    }

    private func check(_ ids: [ObjectID]) async throws {
        let large = Locked<[ObjectID]>([])
        let seen = Locked<Set<ObjectID>>([])
        let failure = wrong
        try await remote.read(ids.map { .object($0) }) { file, content in
            guard case .object(let id) = file else { return }
            switch content {
            case .absent: throw failure(file)
            case .large: large.withLock { $0.append(id) }
            case .content(let bytes):
                guard (try? VerifiedObject(checking: bytes, as: id)) != nil else { throw failure(file) }
                seen.withLock { _ = $0.insert(id) }
            }
        }
        for id in large.withLock({ $0 }) {
            let hash = try IncrementalHash()
            guard try await remote.stream(.object(id), into: { try hash.update($0) }),
                id.matches(digest: try hash.finish())
            else { throw wrong(.object(id)) }
            seen.withLock { _ = $0.insert(id) }
        }
        if let missing = ids.first(where: { !seen.withLock { $0 }.contains($0) }) { throw wrong(.object(missing)) }
    }

    private func wrong(_ file: FileID) -> VaultError {
        VaultError(
            .serverError, "\(remote.location) does not give back what was sent: \(file.path)",
            hint: "vaultctl rekey --resume", object: file.path)
    }
}
