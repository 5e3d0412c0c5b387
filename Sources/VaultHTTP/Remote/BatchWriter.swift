internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

/// Carries out the operations of one `apply`: large objects by themselves, the others in batches, unconditional ones
/// side by side, and everything from the first swap on one request after the other.
struct BatchWriter: Sendable {
    let remote: HTTPRemote
    let writeKey: HTTPSecret
    let isRepeated: Bool

    private var endpoint: Endpoint { remote.endpoint }

    /// An operation with its place in the caller's batch.
    struct Item: Sendable {
        let position: Int
        let operation: WriteOperation
    }

    func run(_ operations: [WriteOperation]) async throws -> BatchOutcome {
        let items = operations.enumerated().map { Item(position: $0.offset, operation: $0.element) }
        let firstSwap = items.firstIndex { $0.isSwap } ?? items.endIndex
        try await sendLarge(items[..<firstSwap].filter(\.isLarge))
        var chunks = Self.chunks(items[..<firstSwap].filter { !$0.isLarge })
        var rest = Array(items[firstSwap...])
        // The last portion travels with the swaps where both fit, for one request less.
        if let last = chunks.last, Self.chunks(last + rest).count == 1, !rest.contains(where: \.isLarge) {
            rest = last + rest
            chunks.removeLast()
        }
        try await sendSideBySide(chunks)
        for chunk in Self.chunks(rest) {
            if let large = chunk.first, large.isLarge {
                try await sendLarge([large])
            } else if let conflict = try await send(chunk) {
                return conflict
            }
        }
        return .applied
    }

    private func sendSideBySide(_ chunks: [[Item]]) async throws {
        // Half as many as reads: each holds its whole body.
        let width = max(1, remote.parallel / 2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, chunk) in chunks.enumerated() {
                if index >= width { try await group.next() }
                group.addTask {
                    guard try await send(chunk) == nil else {
                        throw endpoint.errors.garbage("a conflict where nothing was expected")
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func sendLarge(_ items: [Item]) async throws {
        for item in items {
            guard case .object(let id, let source) = item.operation else { continue }
            try await LargeUpload(remote: remote, writeKey: writeKey, isRepeated: isRepeated).run(.object(id), source)
        }
    }

    private func send(_ chunk: [Item]) async throws -> BatchOutcome? {
        try await BatchRequest(remote: remote, writeKey: writeKey).run(chunk)
    }

    /// Portions that one request can carry; a large object stands alone.
    static func chunks(_ items: [Item]) -> [[Item]] {
        var result: [[Item]] = []
        var current: [Item] = []
        var payload: Int64 = 0
        func close() {
            if !current.isEmpty { result.append(current) }
            (current, payload) = ([], 0)
        }
        for item in items {
            let isFull = current.count >= BatchCodec.operations || payload + item.payload > Int64(BatchCodec.payload)
            if item.isLarge || isFull { close() }
            current.append(item)
            payload += item.payload
            if item.isLarge { close() }
        }
        close()
        return result
    }
}

extension BatchWriter.Item {
    var isSwap: Bool {
        if case .swap = operation { true } else { false }
    }

    /// Whether it goes by a way of its own (spec 04 §4.4).
    var isLarge: Bool {
        if case .object(_, let source) = operation { source.size > Limits.largeObject } else { false }
    }

    /// Characters of base64.
    var payload: Int64 {
        switch operation {
        case .object(_, let source): (source.size + 2) / 3 * 4
        case .key(_, let bytes), .cache(_, let bytes): Int64(Base64.encodedCount(bytes.count))
        case .swap(_, let expected, let new):
            switch expected {
            case .absent: Int64(Base64.encodedCount(new.count))
            case .bytes(let old): Int64(Base64.encodedCount(new.count) + Base64.encodedCount(old.count))
            }
        case .removeCache: 0
        }
    }

    /// The operation as it is sent.
    ///
    /// Objects and keys too are written on the condition that nothing is there, so that nothing good is ever
    /// overwritten and a repeated request is recognised.
    func step() throws -> BatchCodec.Step {
        switch operation {
        case .object(let id, let source):
            return BatchCodec.Step(kind: .writeIfMatch, file: .object(id), data: try Self.bytes(source))
        case .key(let id, let bytes): return BatchCodec.Step(kind: .writeIfMatch, file: .key(id), data: bytes)
        case .cache(let id, let bytes): return BatchCodec.Step(kind: .write, file: id, data: bytes)
        case .removeCache(let id): return BatchCodec.Step(kind: .delete, file: id)
        case .swap(let target, let expected, let new):
            var step = BatchCodec.Step(kind: .writeIfMatch, file: target.fileID, data: new)
            if case .bytes(let old) = expected { step.match = old }
            if case .key = target, step.match?.isEmpty == true {
                (step.kind, step.match) = (.write, nil)
            }
            return step
        }
    }

    /// The whole content of an object that travels in a batch.
    static func bytes(_ source: any ObjectSource) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(clamping: source.size))
        try source.read { span in
            guard Int64(bytes.count) + Int64(span.count) <= source.size else { throw sizeError }
            bytes.append(copying: span)
        }
        guard Int64(bytes.count) == source.size else { throw sizeError }
        return bytes
    }

    static var sizeError: VaultError {
        VaultError(.objectCorrupt, "an object has another size than it should", hint: "vaultctl fsck")
    }
}
