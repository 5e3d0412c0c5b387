internal import VaultCore
internal import VaultFormat
internal import VaultSystem

extension VaultService {
    // MARK: R4

    func planBatch(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        if let length = request.bodyLength, length > Int64(limits.jsonBody) { throw Refusal.tooLarge }
        let body = try MemoryBody(limit: limits.jsonBody, budget: budget)
        request.task.sink = body
        let credentials = AccessControl.credentials(request)
        request.task.finish = { [self] in
            .work(lane: nil) { [self] in
                let operations = try BatchOperation.all(in: try body.document(else: BatchOperation.malformed))
                if operations.allSatisfy({ $0.kind == .read }) {
                    return .reply(try readAll(operations, store, vault))
                }
                let hash = try access.checkWriter(credentials)
                let served = store.vault(vault)
                try AccessControl.check(hash, try served.owner())
                return .work(lane: vault) {
                    // The body counts as memory in use until its operations are done.
                    defer { withExtendedLifetime(body) {} }
                    return .reply(try Self.apply(operations, served, vault, hash))
                }
            }
        }
    }

    /// Reads files straight into the answer; what does not fit is told by a status that clients answer by asking for less.
    private func readAll(_ operations: [BatchOperation], _ store: ServedStore, _ vault: VaultID) throws -> Reply {
        let charge = try budget.charge(0)
        defer { withExtendedLifetime(charge) {} }
        var total: Int64 = 0
        var bytes = Array("{\"vault_id\":\"\(vault.text)\",\"results\":[".utf8)
        for (index, operation) in operations.enumerated() {
            if index > 0 { bytes.append(",") }
            bytes.append("{\"file_id\":")
            JSONWriter.append(.string(operation.fileID), .compact, to: &bytes)
            guard let path = operation.path, let (file, status) = try store.open(vault, path) else {
                bytes.append(",\"status\":\"not_found\"}")
                continue
            }
            total += status.size
            guard total <= Int64(limits.batchRead) else {
                // Clients split such a batch, and read a single file by its own route (04 §8.3).
                throw Refusal(503, "The answer would be too large")
            }
            // The file, its base64 and the library's copy of it.
            try charge.grow(by: Int(status.size) * 4)
            let content = try file.readToEnd(limit: limits.batchRead, sizeHint: Int(status.size))
            bytes.append(",\"status\":\"ok\",\"data\":\"")
            Base64.append(content.span, to: &bytes)
            bytes.append("\"}")
        }
        bytes.append("]}")
        return .json(bytes)
    }

    private static func apply(
        _ operations: [BatchOperation], _ served: ServedVault, _ vault: VaultID, _ hash: String
    ) throws -> Reply {
        let results = try served.write(ownerHash: hash) { writer in
            var batch = BatchTransaction(writer: writer, isAtomic: operations.contains { $0.kind == .writeIfMatch })
            return try batch.run(operations)
        }
        return .json(.record(["vault_id": .string(vault.text), "results": .array(results)]))
    }
}

/// The effect of a batch, gathered in memory and applied in one step at its end.
private struct BatchTransaction {
    let writer: ServedVaultWriter
    /// A batch that compares is applied as a whole or not at all.
    let isAtomic: Bool
    /// What the operations so far would leave: bytes, or nil for a file that is removed.
    private var overlay: [StorePath: [UInt8]?] = [:]
    private var results: [JSONValue] = []

    init(writer: ServedVaultWriter, isAtomic: Bool) {
        self.writer = writer
        self.isAtomic = isAtomic
    }

    mutating func run(_ operations: [BatchOperation]) throws -> [JSONValue] {
        for (index, operation) in operations.enumerated() {
            guard let path = operation.path else {
                return try stop(operations, index, operation.result("error", ["detail": .string("unknown operation")]))
            }
            switch operation.kind {
            case .read: results.append(operation.readResult(try current(path)))
            case .write:
                overlay[path] = .some(try operation.content())
                results.append(operation.result("ok"))
            case .writeIfMatch:
                let new = try operation.content()
                let held = try current(path)
                // An empty file is not absent, and no text stands for its content (04 §4.1).
                guard held == (try operation.expected()), held?.isEmpty != true else {
                    let shown: JSONValue =
                        held.map { $0.isEmpty ? .null : .string(Base64.text($0.span)) } ?? .null
                    return try stop(operations, index, operation.result("conflict", ["current": shown]))
                }
                overlay[path] = .some(new)
                results.append(operation.result("ok"))
            case .delete:
                let isThere = try exists(path)
                if isThere { overlay[path] = .some(nil) }
                results.append(operation.result(isThere ? "ok" : "not_found"))
            case .unknown: break
            }
        }
        try commit()
        return results
    }

    /// Ends the batch at an operation that did not happen; the answers end there as well.
    private mutating func stop(
        _ operations: [BatchOperation], _ index: Int, _ result: JSONValue
    ) throws -> [JSONValue] {
        guard isAtomic else {
            try commit()
            return results + [result]
        }
        // What stands before it has not been applied and must not be taken for done.
        let before = zip(operations[..<index], results).map { operation, result in
            operation.kind == .read ? result : operation.result("not_applied")
        }
        return before + [result]
    }

    private func current(_ path: StorePath) throws -> [UInt8]? {
        if let known = overlay[path] { return known }
        return try writer.read(path, limit: ServerLimits.comparedBytes)
    }

    private func exists(_ path: StorePath) throws -> Bool {
        if let known = overlay[path] { return known != nil }
        return try writer.open(path) != nil
    }

    private func commit() throws {
        var changes: [StorePath: ServedVaultWriter.Staged?] = [:]
        for (path, content) in overlay {
            guard let content else {
                if try writer.open(path) != nil { changes[path] = .some(nil) }
                continue
            }
            // The same bytes are there, durably: nothing to do.
            if let (file, size) = try writer.open(path), size == content.count,
                try file.readToEnd(limit: content.count, sizeHint: content.count) == content
            {
                continue
            }
            changes[path] = .some(try writer.stage(content))
        }
        try writer.publish(changes)
    }
}
