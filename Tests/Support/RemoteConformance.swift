internal import Testing
package import VaultCore
internal import VaultCrypto
package import VaultFormat
internal import VaultSystem

/// What every remote must do, whatever it is made of (`Remote`'s own documentation is the contract).
package struct RemoteConformance {
    /// Makes the remote; every call gives another handle on the same place.
    private let make: @Sendable () throws -> any Remote
    private let authorization: WriteAuthorization

    package init(vaultID: VaultID, make: @escaping @Sendable () throws -> any Remote) throws {
        self.make = make
        let key = try VaultKey(parsing: Array("conformance passphrase:\(vaultID.text)".utf8).span)
        authorization = WriteAuthorization(vaultID: vaultID, writeKey: try key.deriveWriteKey())
    }

    /// Every check, one after the other, on one place.
    package func runAll() async throws {
        try await emptyPlace()
        try await objectsComeBack()
        try await swapsCompareWholeBytes()
        try await conflictsStopTheBatch()
        try await anObjectIsNeverOverwritten()
        try await anotherWriteKeyIsRefused()
        try await oneOfManyRacersWins()
        try await cachesComeAndGo()
        try await keysNeverChange()
        try await manyFilesAreDeliveredOnceEach()
        try await anErrorOfTheReceiverEndsTheRead()
        try await anInterruptedSourceLeavesNothing()
        try await aBatchMayDoNothing()
        try await nothingIsHalfWritten()
        try await destroyedIsForEver()
    }

    /// Several clients create the vault at the same moment, each with its own index, clone ref and named ref.
    ///
    /// To be run on a place that nobody has written to yet.
    package func oneOfManyFirstWritersWins() async throws {
        let index = SwapTarget.index(try IndexID("idx-pid-muw-00000000000f"))
        let head = SwapTarget.ref(try RefID("ref-pid-muw-00000000000f"))
        let authorization = authorization
        let make = make
        let outcomes = try await withThrowingTaskGroup(of: (UInt8, BatchOutcome).self) { group in
            for racer in UInt8(0)..<6 {
                let (_, object) = try object([racer, racer])
                let clone = SwapTarget.ref(try RefID("ref-pid-snw-00000000000\(racer)"))
                let batch = try WriteBatch([
                    object, .swap(index, expected: .absent, new: [racer]),
                    .swap(clone, expected: .absent, new: [racer]), .swap(head, expected: .absent, new: [racer]),
                ])
                group.addTask { (racer, try await make().apply(batch, authorization: authorization)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winners = outcomes.filter { $0.1 == .applied }.map(\.0)
        #expect(winners.count == 1)
        let winner = winners.first ?? 99
        for (_, outcome) in outcomes where outcome != .applied {
            #expect(outcome == .conflict(position: 1, current: [winner]))
        }
        let refs = try await make().list(.refs)
        #expect(
            Set(refs.map(\.path)) == [
                "bare/refs/ref-pid-muw-00000000000f", "bare/refs/ref-pid-snw-00000000000\(winner)",
            ])
        #expect(try await read(index.fileID) == .content([winner]))
        #expect(try await read(head.fileID) == .content([winner]))
    }

    private struct Bytes: ObjectSource {
        let bytes: [UInt8]
        var size: Int64 { Int64(bytes.count) }
        func read(into sink: (Span<UInt8>) throws -> Void) throws { try sink(bytes.span) }
    }

    private func object(_ bytes: [UInt8]) throws -> (id: ObjectID, operation: WriteOperation) {
        let digest = try SHA256.hash(bytes.span)
        let id = ObjectID(digest: digest, width: .short)
        return (id, .object(id, Bytes(bytes: bytes)))
    }

    private func named(_ digit: Int) throws -> RefID { try RefID("ref-pid-muw-00000000000\(digit)") }

    private func read(_ id: FileID) async throws -> RemoteFile? { try await make().readAll([id])[id] }

    private func apply(_ operations: [WriteOperation]) async throws -> BatchOutcome {
        try await make().apply(WriteBatch(operations), authorization: authorization)
    }

    private func emptyPlace() async throws {
        let key = FileID.key(try KeyID("key-rnd-imm-0123456789abcdef"))
        #expect(try await apply([.key(try KeyID("key-rnd-imm-aaaaaaaaaaaaaaaa"), [7])]) == .applied)
        #expect(try await read(key) == .absent)
        #expect(try await make().list(.objects).isEmpty)
        #expect(try await make().list(.keys).map(\.path) == ["bare/keys/key-rnd-imm-aaaaaaaaaaaaaaaa"])
        let nothing = try await make().stream(key) { _ in Issue.record("an absent file gave bytes") }
        #expect(!nothing)
    }

    private func objectsComeBack() async throws {
        let remote = try make()
        var operations: [WriteOperation] = []
        var contents: [FileID: [UInt8]] = [:]
        for size in [0, 1, 1000, 100_000, remote.limits.inlineBytes, remote.limits.inlineBytes + 1] {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
            let (id, operation) = try object(bytes)
            operations.append(operation)
            contents[.object(id)] = bytes
        }
        #expect(try await apply(operations) == .applied)
        // Once more: an object that is there already is no error.
        #expect(try await apply(operations) == .applied)
        let found = try await remote.readAll(Array(contents.keys))
        for (id, bytes) in contents {
            switch found[id] {
            case .content(let read)?:
                #expect(read == bytes)
                #expect(bytes.count <= remote.limits.inlineBytes)
            case .large(let size)?:
                #expect(size == nil || size == Int64(bytes.count))
                #expect(bytes.count > remote.limits.inlineBytes)
            default: Issue.record("\(id.path) was not found")
            }
            var streamed: [UInt8] = []
            let there = try await remote.stream(id) { span in
                for index in span.indices { streamed.append(span[index]) }
            }
            #expect(there && streamed == bytes)
        }
        #expect(Set(try await remote.list(.objects)) == Set(contents.keys))
        #expect(Set(try await remote.list(.all)).isSuperset(of: contents.keys))
    }

    private func swapsCompareWholeBytes() async throws {
        let ref = SwapTarget.ref(try named(1))
        let first: [UInt8] = [1, 2, 3]
        #expect(
            try await apply([.swap(ref, expected: .bytes([0]), new: first)]) == .conflict(position: 0, current: nil))
        #expect(try await apply([.swap(ref, expected: .absent, new: first)]) == .applied)
        #expect(
            try await apply([.swap(ref, expected: .absent, new: [9])]) == .conflict(position: 0, current: first))
        #expect(
            try await apply([.swap(ref, expected: .bytes([1, 2]), new: [9])])
                == .conflict(position: 0, current: first))
        #expect(
            try await apply([.swap(ref, expected: .bytes([1, 2, 3, 0]), new: [9])])
                == .conflict(position: 0, current: first))
        #expect(try await apply([.swap(ref, expected: .bytes(first), new: [4])]) == .applied)
        #expect(try await read(ref.fileID) == .content([4]))
    }

    private func conflictsStopTheBatch() async throws {
        let index = SwapTarget.index(try IndexID("idx-pid-muw-000000000001"))
        let ref = SwapTarget.ref(try named(2))
        let outcome = try await apply([
            .swap(index, expected: .bytes([1]), new: [2]), .swap(ref, expected: .absent, new: [3]),
        ])
        #expect(outcome == .conflict(position: 0, current: nil))
        #expect(try await read(ref.fileID) == .absent)
        #expect(try await read(index.fileID) == .absent)
        #expect(throws: VaultError.self) {
            try WriteBatch([.swap(ref, expected: .absent, new: [1]), .swap(index, expected: .absent, new: [1])])
        }
    }

    private func anObjectIsNeverOverwritten() async throws {
        let (id, operation) = try object([5, 5, 5])
        #expect(try await apply([operation]) == .applied)
        await #expect(throws: VaultError(.objectCorrupt, "")) {
            try await apply([.object(id, Bytes(bytes: [6, 6, 6]))])
        }
        #expect(try await read(.object(id)) == .content([5, 5, 5]))
    }

    private func anotherWriteKeyIsRefused() async throws {
        let other = try VaultKey(parsing: Array("somebody else:\(authorization.vaultID.text)".utf8).span)
        let stranger = WriteAuthorization(vaultID: authorization.vaultID, writeKey: try other.deriveWriteKey())
        let target = SwapTarget.ref(try named(3))
        await #expect(throws: VaultError(.keyWrong, "")) {
            try await make().apply(
                WriteBatch([.swap(target, expected: .absent, new: [1])]), authorization: stranger)
        }
        #expect(try await read(target.fileID) == .absent)
    }

    private func oneOfManyRacersWins() async throws {
        let target = SwapTarget.ref(try named(4))
        let authorization = authorization
        let make = make
        var expected = Expected.absent
        for round in 0..<20 {
            let base = expected
            let outcomes = try await withThrowingTaskGroup(of: (Int, BatchOutcome).self) { group in
                for racer in 0..<4 {
                    group.addTask {
                        let new = [UInt8(round), UInt8(racer)]
                        let batch = try WriteBatch([.swap(target, expected: base, new: new)])
                        return (racer, try await make().apply(batch, authorization: authorization))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let winners = outcomes.filter { $0.1 == .applied }.map(\.0)
            #expect(winners.count == 1)
            let held = [UInt8(round), UInt8(winners.first ?? 0)]
            #expect(try await read(target.fileID) == .content(held))
            expected = .bytes(held)
        }
    }

    private func cachesComeAndGo() async throws {
        let id = FileID.cacheValue(try CacheID("cch-pid-snw-000000000001"))
        #expect(try await apply([.cache(id, [1])]) == .applied)
        #expect(try await apply([.cache(id, [2])]) == .applied)
        #expect(try await read(id) == .content([2]))
        #expect(try await make().list(.cache) == [id])
        #expect(try await apply([.removeCache(id), .removeCache(id)]) == .applied)
        #expect(try await read(id) == .absent)
    }

    private func keysNeverChange() async throws {
        let key = try KeyID("key-rnd-imm-bbbbbbbbbbbbbbbb")
        #expect(try await apply([.key(key, [1, 2])]) == .applied)
        #expect(try await apply([.key(key, [1, 2])]) == .applied)
        for other: [UInt8] in [[1, 3], [1], [1, 2, 3], []] {
            await #expect(throws: VaultError(.objectCorrupt, "")) { try await apply([.key(key, other)]) }
        }
        #expect(try await read(.key(key)) == .content([1, 2]))
        // A damaged one is replaced where it still is what was seen; an empty file is one too.
        let target = SwapTarget.key(key)
        #expect(
            try await apply([.swap(target, expected: .bytes([9]), new: [3])])
                == .conflict(position: 0, current: [1, 2]))
        #expect(try await apply([.swap(target, expected: .bytes([1, 2]), new: [3])]) == .applied)
        #expect(try await read(.key(key)) == .content([3]))
        let empty = try KeyID("key-rnd-imm-cccccccccccccccc")
        #expect(try await apply([.key(empty, [])]) == .applied)
        #expect(try await apply([.swap(.key(empty), expected: .bytes([]), new: [4])]) == .applied)
        #expect(try await read(.key(empty)) == .content([4]))
    }

    private func manyFilesAreDeliveredOnceEach() async throws {
        var operations: [WriteOperation] = []
        var contents: [FileID: RemoteFile] = [:]
        let count = min(300, try make().limits.operations)
        for number in 0..<count {
            let (id, operation) = try object(Array("many \(number)".utf8))
            operations.append(operation)
            contents[.object(id)] = .content(Array("many \(number)".utf8))
            contents[.object(try object(Array("none \(number)".utf8)).id)] = .absent
        }
        #expect(try await apply(operations) == .applied)
        let delivered = Locked<[(FileID, RemoteFile)]>([])
        try await make().read(Array(contents.keys)) { id, file in delivered.withLock { $0.append((id, file)) } }
        let found = delivered.withLock { $0 }
        #expect(found.count == contents.count)
        #expect(Dictionary(found) { first, _ in first } == contents)
        try await make().read([]) { _, _ in Issue.record("nothing was asked for") }
    }

    private struct Stop: Error, Equatable {}

    private func anErrorOfTheReceiverEndsTheRead() async throws {
        let ids = try await make().list(.objects)
        let delivered = Locked(0)
        await #expect(throws: Stop()) {
            try await make().read(ids) { _, _ in
                delivered.withLock { $0 += 1 }
                throw Stop()
            }
        }
        #expect(delivered.withLock { $0 } < ids.count)
        let id = try #require(ids.first)
        await #expect(throws: Stop()) { try await make().stream(id) { _ in throw Stop() } }
    }

    /// Gives half of its bytes.
    private struct Broken: ObjectSource {
        var size: Int64 { 2000 }
        func read(into sink: (Span<UInt8>) throws -> Void) throws {
            try sink([UInt8](repeating: 1, count: 1000).span)
            throw Stop()
        }
    }

    private func anInterruptedSourceLeavesNothing() async throws {
        let (id, _) = try object(Array("never whole".utf8))
        let target = SwapTarget.ref(try named(5))
        await #expect(throws: Stop()) {
            try await apply([.object(id, Broken()), .swap(target, expected: .absent, new: [1])])
        }
        #expect(try await read(.object(id)) == .absent)
        #expect(try await read(target.fileID) == .absent)
    }

    private func aBatchMayDoNothing() async throws {
        #expect(try await apply([]) == .applied)
    }

    private func nothingIsHalfWritten() async throws {
        let (early, first) = try object(Array("before the conflict".utf8))
        let (late, second) = try object(Array("after the conflict".utf8))
        let target = SwapTarget.ref(try RefID("ref-pid-snw-00000000000e"))
        let outcome = try await apply([first, .swap(target, expected: .bytes([9]), new: [1]), second])
        #expect(outcome == .conflict(position: 1, current: nil))
        let found = try await read(.object(early))
        #expect(found == .absent || found == .content(Array("before the conflict".utf8)))
        #expect(try await read(.object(late)) == .absent)
        #expect(try await read(target.fileID) == .absent)
    }

    /// To be run last: nothing can be written to the place any more.
    private func destroyedIsForEver() async throws {
        let other = try VaultKey(parsing: Array("another passphrase:\(authorization.vaultID.text)".utf8).span)
        let wrong = WriteAuthorization(vaultID: authorization.vaultID, writeKey: try other.deriveWriteKey())
        let listed = try await make().list(.all)
        await #expect(throws: VaultError(.keyWrong, "")) { _ = try await make().destroy(authorization: wrong) }
        #expect(try await Set(make().list(.all)) == Set(listed))
        let count = try await make().destroy(authorization: authorization)
        #expect(count.map { $0 >= listed.count } ?? true)
        #expect(try await make().list(.all).isEmpty)
        let (id, operation) = try object(Array("too late".utf8))
        await #expect(throws: VaultError.self) { try await apply([operation]) }
        #expect(try await read(.object(id)) == .absent)
        await #expect(throws: VaultError.self) { _ = try await make().destroy(authorization: authorization) }
    }
}
