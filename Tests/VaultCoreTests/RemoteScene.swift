import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A folder remote in memory with an old state, and one batch that leads to a new one.
struct RemoteScene: Sendable {
    /// What the batch finds.
    enum Start: String, Sendable, CustomStringConvertible {
        /// A vault whose index and named ref are moved.
        case published
        /// No folder at all.
        case absent
        /// A folder with an empty `bare/`, bound to nobody.
        case unbound

        var description: String { rawValue }
    }

    /// Which of the two states the files are in.
    enum State: Equatable {
        case old, new
        case mixed(String)
    }

    let id: VaultID
    let authorization: WriteAuthorization
    private let path = FilePath("/remotes/one")
    private let old: [FileID: [UInt8]]
    private let new: [FileID: [UInt8]]
    private let indexID: IndexID
    private let cloneRef: RefID
    private let namedRef: RefID
    private let keyID: KeyID
    private let cacheIDs: [FileID]

    init() throws {
        id = try VaultID("abcd1234")
        let key = try VaultKey(parsing: Array("passphrase:abcd1234".utf8).span)
        authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
        indexID = try IndexID("idx-pid-muw-000000000001")
        namedRef = try RefID("ref-pid-muw-000000000001")
        cloneRef = try RefID("ref-pid-snw-000000000001")
        keyID = try KeyID("key-rnd-imm-0123456789abcdef")
        cacheIDs = [
            .cacheValue(try CacheID("cch-pid-snw-000000000001")),
            .cachePointer(try CacheID("cch-pid-snw-000000000002")),
        ]
        old = [
            .object(try Self.object(Array("kept".utf8)).0): Array("kept".utf8), .index(indexID): [1],
            .ref(namedRef): [1],
            cacheIDs[0]: [1],
        ]
        var new: [FileID: [UInt8]] = [.index(indexID): [2], .ref(namedRef): [2], .ref(cloneRef): [2], .key(keyID): [7]]
        new[cacheIDs[1]] = [2]
        for text in ["kept", "one", "two"] { new[.object(try Self.object(Array(text.utf8)).0)] = Array(text.utf8) }
        self.new = new
    }

    struct Bytes: ObjectSource {
        let bytes: [UInt8]
        var size: Int64 { Int64(bytes.count) }
        func read(into sink: (Span<UInt8>) throws -> Void) throws { try sink(bytes.span) }
    }

    static func object(_ bytes: [UInt8]) throws -> (ObjectID, WriteOperation) {
        let id = ObjectID(digest: try SHA256.hash(bytes.span), width: .short)
        return (id, .object(id, Bytes(bytes: bytes)))
    }

    func environment(_ fileSystem: any FileSystem, _ failPoints: FailPoints = .none) -> VaultEnvironment {
        // One worker: the n-th call is the same call in every run.
        VaultEnvironment(
            fileSystem: fileSystem, clock: TestClock(), random: SeededRandom(seed: 5), failPoints: failPoints,
            pool: WorkerPool(threads: 1))
    }

    func remote(_ environment: VaultEnvironment) -> FolderRemote {
        FolderRemote(path: path, vaultID: id, environment: environment)
    }

    /// A file system in the starting state, all of it durable.
    func prepare(_ start: Start) async throws -> InMemoryFileSystem {
        let memory = InMemoryFileSystem()
        try memory.createDirectory("/remotes", mode: 0o755)
        switch start {
        case .absent: break
        case .unbound: try memory.createDirectories(path.appending(component: "bare"), mode: 0o755)
        case .published:
            let operations: [WriteOperation] = [
                try Self.object(Array("kept".utf8)).1, .cache(cacheIDs[0], [1]),
                .swap(.index(indexID), expected: .absent, new: [1]), .swap(.ref(namedRef), expected: .absent, new: [1]),
            ]
            let outcome = try await remote(environment(memory)).apply(
                WriteBatch(operations), authorization: authorization)
            try #require(outcome == .applied)
        }
        try memory.openDirectory("/").syncFileSystem()
        return memory
    }

    private func batch(_ start: Start) throws -> WriteBatch {
        let expected: Expected = start == .published ? .bytes([1]) : .absent
        var operations: [WriteOperation] = []
        for text in ["kept", "one", "two"] { operations.append(try Self.object(Array(text.utf8)).1) }
        operations += [
            .key(keyID, [7]), .removeCache(cacheIDs[0]), .cache(cacheIDs[1], [2]),
            .swap(.index(indexID), expected: expected, new: [2]), .swap(.ref(cloneRef), expected: .absent, new: [2]),
            .swap(.ref(namedRef), expected: expected, new: [2]),
        ]
        return try WriteBatch(operations)
    }

    /// The start that a file system is in now, told by its ref.
    private func start(of fileSystem: any FileSystem) async throws -> Start {
        try await state(of: fileSystem, orAbsent: true) == .old ? .published : .absent
    }

    func run(on environment: VaultEnvironment) async -> Result<BatchOutcome, any Error> {
        do {
            let start: Start
            // The batch is built on what a reader without faults sees.
            if let faults = environment.fileSystem as? FaultFileSystem {
                start = try await self.start(of: faults.unfaulted)
            } else {
                start = try await self.start(of: environment.fileSystem)
            }
            return .success(try await remote(environment).apply(batch(start), authorization: authorization))
        } catch {
            return .failure(error)
        }
    }

    func run(on fileSystem: any FileSystem) async -> Result<BatchOutcome, any Error> {
        await run(on: environment(fileSystem))
    }

    /// A batch that changes nothing, as its condition does not hold, but finishes or drops what was interrupted.
    func probe(_ fileSystem: any FileSystem) async throws {
        let batch = try WriteBatch([.swap(.ref(namedRef), expected: .bytes([99]), new: [98])])
        let outcome = try await remote(environment(fileSystem)).apply(batch, authorization: authorization)
        guard case .conflict(position: 0, _) = outcome else {
            Issue.record("the probe was answered by \(outcome)")
            return
        }
    }

    /// Which state a reader finds.
    func state(of fileSystem: any FileSystem, orAbsent: Bool = false) async throws -> State {
        let ids = Set(old.keys).union(new.keys)
        var found: [FileID: [UInt8]] = [:]
        do {
            for (id, file) in try await remote(environment(fileSystem)).readAll(Array(ids)) {
                if case .content(let bytes) = file { found[id] = bytes }
            }
        } catch VaultError.coded(.unreachable) where orAbsent {
            return .mixed("absent")
        }
        if found == new { return .new }
        if found == old { return .old }
        return .mixed(found.map { "\($0.key.path)=\($0.value)" }.sorted().joined(separator: " "))
    }

    // MARK: Checks

    /// What a reader may find at any moment: behind a ref that was moved, everything else is there.
    func checkReaders(
        of fileSystem: any FileSystem, _ start: Start, _ outcome: Result<BatchOutcome, any Error>, _ what: String
    ) async throws {
        let found: [FileID: RemoteFile]
        do {
            found = try await remote(environment(fileSystem)).readAll(Array(Set(old.keys).union(new.keys)))
        } catch VaultError.coded(.unreachable) where start == .absent {
            #expect(throws: (any Error).self, "\(what): applied, but the folder is gone") { try outcome.get() }
            return
        }
        let ref = found[.ref(namedRef)]
        if ref == .content([2]) {
            for (id, bytes) in new where id != .ref(namedRef) {
                #expect(found[id] == .content(bytes), "\(what): the ref is new, \(id.path) is not")
            }
        } else {
            #expect(ref == (start == .published ? .content([1]) : .absent), "\(what)")
            #expect(throws: (any Error).self, "\(what): applied, but the ref is old") { try outcome.get() }
        }
        for (id, file) in found {
            guard case .content(let bytes) = file else { continue }
            #expect(bytes == old[id] || bytes == new[id], "\(what): \(id.path) holds \(bytes)")
        }
    }

    /// After the next writer the interrupted batch is finished or gone, and nothing lies around.
    func checkAfterNextWriter(
        on fileSystem: any FileSystem, _ start: Start, _ outcome: Result<BatchOutcome, any Error>, _ what: String
    ) async throws {
        try await probe(fileSystem)
        let state = try await state(of: fileSystem)
        if start == .published {
            #expect(state == .old || state == .new, "\(what)")
        } else if state != .new {
            #expect(state == .mixed(""), "\(what)")
        }
        if case .success = outcome { #expect(state == .new, "\(what)") }
        #expect(try leftovers(in: fileSystem) == [], "\(what)")
    }

    /// The same batch again comes to the new state, or finds its own earlier success.
    func checkRetry(on fileSystem: any FileSystem, _ what: String) async throws {
        if try await state(of: fileSystem, orAbsent: true) != .new {
            let outcome = await run(on: fileSystem)
            switch outcome {
            case .success(.applied): break
            case .success(.conflict(_, current: [2])): break
            default: Issue.record("\(what): the retry ended with \(outcome)")
            }
        }
        #expect(try await state(of: fileSystem) == .new, "\(what)")
        try await probe(fileSystem)
        #expect(try leftovers(in: fileSystem) == [], "\(what)")
    }

    /// What lies in the remote's own folder beside owner record and lock.
    func leftovers(in fileSystem: any FileSystem) throws -> [String] {
        let own = try fileSystem.openDirectory(path.appending(component: ".vaultctl"))
        var names = try own.entries().map { String(decoding: $0.name, as: UTF8.self) }
        names += try own.openDirectory(Array("tmp".utf8)).entries().map {
            "tmp/" + String(decoding: $0.name, as: UTF8.self)
        }
        return names.filter { !["owner.json", "lock", "tmp"].contains($0) }.sorted()
    }
}

extension VaultError {
    /// Matches errors by their code in a `catch`.
    static func ~= (pattern: VaultError, value: any Error) -> Bool {
        (value as? VaultError) == pattern
    }
}
