internal import VaultCore
internal import VaultFormat
internal import VaultSystem

extension VaultService {
    // MARK: R4

    func planBatch(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        let credentials = AccessControl.credentials(request)
        // Known before the body: who may not write can only read, which takes few bytes.
        let writer = Result { try access.checkWriter(credentials) }
        let limit: Int
        let excess: any Error
        switch writer {
        case .success: (limit, excess) = (limits.jsonBody, Refusal.tooLarge)
        case .failure(let refusal): (limit, excess) = (min(limits.jsonBody, ServerLimits.readingBatch), refusal)
        }
        if let length = request.bodyLength, length > Int64(limit) {
            if length > Int64(limits.jsonBody) { throw Refusal.tooLarge }
            throw excess
        }
        let body = try MemoryBody(limit: limit, excess: excess, budget: budget)
        request.task.sink = body
        request.task.finish = { [self] in
            .work(lane: nil) { [self] in
                let operations = try BatchOperation.all(in: try body.document(else: BatchOperation.malformed))
                if operations.allSatisfy({ $0.kind == .read }) {
                    return .reply(try readAll(operations, store, vault))
                }
                let hash = try writer.get()
                try AccessControl.check(hash, try store.vault(vault).owner())
                return .work(lane: vault) { [self] in
                    // The body counts as memory in use until its operations are done.
                    defer { withExtendedLifetime(body) {} }
                    return .reply(try apply(operations, store, vault, hash))
                }
            }
        }
    }

    /// Reads files straight into the answer; what does not fit is told by a status that clients answer by asking for less.
    private func readAll(_ operations: [BatchOperation], _ store: ServedStore, _ vault: VaultID) throws -> Reply {
        let bounds = try ReadBounds(limits.batchRead, budget)
        var bytes = Array("{\"vault_id\":\"\(vault.text)\",\"results\":[".utf8)
        for (index, operation) in operations.enumerated() {
            if index > 0 { bytes.append(",") }
            bytes.append("{\"file_id\":")
            JSONWriter.append(.string(operation.fileID), .compact, to: &bytes)
            guard let path = operation.path, let (file, status) = try store.open(vault, path) else {
                bytes.append(",\"status\":\"not_found\"}")
                continue
            }
            try bounds.add(status.size)
            let content = try file.readToEnd(limit: limits.batchRead, sizeHint: Int(status.size))
            bytes.append(",\"status\":\"ok\",\"data\":\"")
            Base64.append(content.span, to: &bytes)
            bytes.append("\"}")
        }
        bytes.append("]}")
        return .json(bytes, charge: bounds.charge)
    }

    private func apply(
        _ operations: [BatchOperation], _ store: ServedStore, _ vault: VaultID, _ hash: String
    ) throws -> Reply {
        let bounds = try ReadBounds(limits.batchRead, budget)
        let results = try store.vault(vault).write(ownerHash: hash) { writer in
            var batch = BatchTransaction(
                writer: writer, store: store, isAtomic: operations.contains { $0.kind == .writeIfMatch },
                bounds: bounds)
            return try batch.run(operations)
        }
        let answer = JSONValue.record(["vault_id": .string(vault.text), "results": .array(results)])
        return .json(JSONWriter.bytes(answer, .compact), charge: bounds.charge)
    }
}

/// What the files in the answer of one batch take: at most so many bytes of content, and memory that is charged.
final class ReadBounds {
    /// Kept until the answer is sent.
    let charge: MemoryCharge
    private var left: Int64

    init(_ limit: Int, _ budget: MemoryBudget) throws(Refusal) {
        charge = try budget.charge(0)
        left = Int64(limit)
    }

    /// Counts a file before it is read.
    ///
    /// - Throws: 503, by which clients split such a batch and read a single file by its own route (04 §8.3).
    func add(_ size: Int64) throws(Refusal) {
        guard size <= left else { throw Refusal(503, "The answer would be too large") }
        left -= size
        // The file, its base64 and the library's copy of it.
        try charge.grow(by: Int(size) * 4)
    }
}
