internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The effect of a batch, gathered in memory and applied in one step at its end.
struct BatchTransaction {
    let writer: ServedVaultWriter
    let store: ServedStore
    /// A batch that compares is applied as a whole or not at all.
    let isAtomic: Bool
    /// What the answer's contents may take together, and the memory that they do take.
    let bounds: ReadBounds
    /// What the operations so far would leave: bytes, or nil for a file that is removed.
    private var overlay: [StorePath: [UInt8]?] = [:]
    private var results: [JSONValue] = []
    /// Where nothing was found; nobody else writes meanwhile.
    private var absent: Set<StorePath> = []

    init(writer: ServedVaultWriter, store: ServedStore, isAtomic: Bool, bounds: ReadBounds) {
        self.writer = writer
        self.store = store
        self.isAtomic = isAtomic
        self.bounds = bounds
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
                // An empty file is not absent, and no text stands for its content (04 §4.1).
                guard try holds(path, try operation.expected()) else {
                    let held = try current(path)
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

    /// Whether a file is what a swap expects; read only where its size fits, so what is compared is no larger than
    /// what was sent.
    private mutating func holds(_ path: StorePath, _ expected: [UInt8]?) throws -> Bool {
        if let known = overlay[path] { return known == expected && known?.isEmpty != true }
        guard let expected else { return try standsFree(path) }
        guard let (file, size) = try writer.open(path) else { return false }
        guard size > 0, size == Int64(expected.count) else { return false }
        return try file.readToEnd(limit: expected.count, sizeHint: expected.count) == expected
    }

    /// Whether there is no file at a place.
    private mutating func standsFree(_ path: StorePath) throws -> Bool {
        switch try writer.kind(of: path) {
        case nil: absent.insert(path)
        case .regular?, .unknown?: return false
        // No file, and what it is decides whether one can be put there.
        case .directory?, .symbolicLink?, .other?: break
        }
        return true
    }

    /// What a file holds, for the answer.
    private func current(_ path: StorePath) throws -> [UInt8]? {
        if let known = overlay[path] {
            if let known { try bounds.add(Int64(known.count)) }
            return known
        }
        guard let (file, size) = try writer.open(path) else { return nil }
        try bounds.add(size)
        return try file.readToEnd(limit: Int(size), sizeHint: Int(size))
    }

    private func exists(_ path: StorePath) throws -> Bool {
        if let known = overlay[path] { return known != nil }
        return try writer.open(path) != nil
    }

    private func commit() throws {
        let written = overlay.values.compactMap { $0.map { Int64($0.count) } }
        // Removing needs no room: a full disk is emptied that way.
        if !written.isEmpty { try store.checkRoom(for: written.reduce(0, +)) }
        var changes: [StorePath: ServedVaultWriter.Staged?] = [:]
        for (path, content) in overlay {
            guard let content else {
                if try writer.open(path) != nil { changes[path] = .some(nil) }
                continue
            }
            // The same bytes are there, durably: nothing to do.
            if !absent.contains(path), let (file, size) = try writer.open(path), size == content.count,
                try file.readToEnd(limit: content.count, sizeHint: content.count) == content
            {
                continue
            }
            changes[path] = .some(try writer.stage(content))
        }
        try writer.publish(changes, absent: absent)
    }
}
