internal import VaultCore
internal import VaultFormat
internal import VaultSystem

extension VaultService {
    // MARK: R1, signed files

    func planRead(_ request: Request, _ store: ServedStore, _ vault: VaultID, _ path: StorePath) {
        let conditions = Conditions(request.exchange)
        request.task.finish = { .reply(try Self.file(store, vault, path, conditions)) }
    }

    func planSignedFile(_ request: Request, _ store: ServedStore, _ vault: VaultID, _ path: StorePath) throws {
        try checkSignature(request)
        planRead(request, store, vault, path)
    }

    /// The headers that decide how much of a file is sent.
    struct Conditions: Sendable {
        let range: String?
        let ifRange: String?
        let ifNoneMatch: String?

        init(_ exchange: Exchange) {
            range = exchange.header("Range")
            ifRange = range == nil ? nil : exchange.header("If-Range")
            ifNoneMatch = exchange.header("If-None-Match")
        }
    }

    private static func file(
        _ store: ServedStore, _ vault: VaultID, _ path: StorePath, _ conditions: Conditions
    ) throws -> Reply {
        guard let (file, status) = try store.open(vault, path) else { throw Refusal.noSuchFile }
        var headers: [(name: StaticString, value: String)] = [("Accept-Ranges", "bytes")]
        var range = conditions.range
        if path.isImmutable {
            let tag = Self.tag(status)
            headers.append(("ETag", tag))
            headers.append(("Cache-Control", "public, max-age=31536000, immutable"))
            if let known = conditions.ifNoneMatch, Self.names(known, tag) {
                return Reply(status: 304, contentType: Self.bytesType, body: .bytes([]), headers: headers)
            }
            if let condition = conditions.ifRange, condition != tag { range = nil }
        } else {
            headers.append(Reply.noStore)
            if conditions.ifRange != nil { range = nil }
        }
        return try send(file, status.size, range: range, contentType: Self.bytesType, headers: headers)
    }

    static let bytesType = "application/octet-stream"

    /// A file or the part of it that was asked for: small ones whole, large ones from the disk.
    static func send(
        _ file: any File, _ size: Int64, range: String?, contentType: String,
        headers: [(name: StaticString, value: String)]
    ) throws -> Reply {
        var headers = headers
        var part = (offset: Int64(0), count: size)
        var status = 200
        switch ByteRange(range, size: size) {
        case .whole: break
        case .unsatisfiable:
            headers.append(("Content-Range", "bytes */\(size)"))
            return Reply(status: 416, contentType: contentType, body: .bytes([]), headers: headers)
        case .part(let offset, let count):
            status = 206
            part = (offset, count)
            headers.append(("Content-Range", "bytes \(offset)-\(offset + count - 1)/\(size)"))
        }
        if part.count > ServerLimits.inlineBytes, let descriptor = SentDescriptor(file) {
            return Reply(
                status: status, contentType: contentType,
                body: .file(descriptor, offset: part.offset, count: part.count), headers: headers)
        }
        if part.offset > 0 { try file.seek(to: part.offset) }
        var bytes = try file.read(upTo: Int(part.count))
        while bytes.count < part.count {
            let more = try file.read(upTo: Int(part.count) - bytes.count)
            // Shorter only when somebody truncates the file, which nothing here does.
            guard !more.isEmpty else { throw Errno.ioError }
            bytes += more
        }
        return Reply(status: status, contentType: contentType, body: .bytes(bytes), headers: headers)
    }

    /// A tag that changes with the file.
    static func tag(_ status: FileStatus) -> String {
        "\"" + String(status.size, radix: 16) + "-" + String(status.modifiedNs, radix: 16) + "\""
    }

    /// Whether an `If-None-Match` names a tag.
    static func names(_ header: String, _ tag: String) -> Bool {
        header == "*"
            || header.split(separator: ",").contains { part in
                let part = part.drop { $0 == " " }
                return part.prefix { $0 != " " } == tag || (part.hasPrefix("W/") && part.dropFirst(2) == tag)
            }
    }

    // MARK: R5, R11, R12

    func planList(_ request: Request, _ store: ServedStore, _ vault: VaultID) {
        let prefix = request.target.parameter("prefix") ?? ""
        let (budget, limit) = (budget, limits.listedFiles)
        request.task.finish = {
            .work(lane: nil) {
                var folder = prefix[...]
                while folder.hasSuffix("/") { folder = folder.dropLast() }
                // Seen from the vault, everything lies below `bare`.
                let files =
                    prefix.count > StorePath.longest
                    ? []
                    : try store.vault(vault).list(
                        below: prefix.isEmpty ? "bare" : String(folder), limit: limit)
                let size = files.reduce(256) { $0 + $1.utf8.count + 3 }
                let charge = try budget.charge(size * 3)
                var bytes: [UInt8] = []
                bytes.reserveCapacity(size)
                bytes.append(contentsOf: "{\"vault_id\":\"\(vault.text)\",\"prefix\":".utf8)
                JSONWriter.append(.string(prefix), .compact, to: &bytes)
                bytes.append(",\"files\":[")
                for (index, file) in files.enumerated() {
                    if index > 0 { bytes.append(",") }
                    JSONWriter.append(.string(file), .compact, to: &bytes)
                }
                bytes.append("]}")
                return .reply(.json(bytes, charge: charge))
            }
        }
    }

    func planReadBase64(_ request: Request, _ store: ServedStore, _ vault: VaultID, _ path: StorePath) {
        let budget = budget
        request.task.finish = {
            .work(lane: nil) {
                guard let (file, status) = try store.open(vault, path) else { throw Refusal.noSuchFile }
                guard status.size <= ServerLimits.base64Bytes else {
                    throw Refusal(
                        413,
                        "File too large for base64 download. Use /api/vault/read/{vault_id}/{file_id} instead.")
                }
                let charge = try budget.charge(Int(status.size) * 4)
                let bytes = try file.readToEnd(limit: Int(status.size), sizeHint: Int(status.size))
                let document = JSONValue.record([
                    "vault_id": .string(vault.text), "file_id": .string(path.text),
                    "data": .string(Base64.text(bytes.span)), "size": .integer(Int64(bytes.count)),
                ])
                return .reply(.json(JSONWriter.bytes(document, .compact), charge: charge))
            }
        }
    }

    func planHealth(_ request: Request, _ store: ServedStore, _ vault: VaultID) {
        request.task.finish = {
            guard case .writeKey = try store.vault(vault).owner() else { throw Refusal(404, "Vault not found") }
            return .reply(.json(.record(["status": .string("ok"), "vault_id": .string(vault.text)])))
        }
    }
}
