internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Presigned transfer, with the server itself in the place of an object store (04 §7).
extension VaultService {
    /// A body of the wrong form: 400 with a list, as the real server answers.
    private static func invalid(_ member: String) -> Refusal {
        Refusal(
            .json(
                .record([
                    "detail": .array([
                        .record([
                            "type": .string("invalid"), "loc": .array([.string("body"), .string(member)]),
                            "msg": .string("missing or of the wrong type"),
                        ])
                    ])
                ]), status: 400))
    }

    /// Checks a writer and takes a JSON body; `finish` runs with the document, once the write key is known to fit.
    private func planDocument(
        _ request: Request, _ store: ServedStore, _ vault: VaultID,
        _ finish: @escaping @Sendable (JSONValue, String) throws -> Step
    ) throws {
        let hash = try access.checkWriter(AccessControl.credentials(request))
        let body = try MemoryBody(limit: 2 << 20, budget: budget)
        request.task.sink = body
        request.task.finish = {
            .work(lane: nil) {
                try AccessControl.check(hash, try store.vault(vault).owner())
                let document = try body.document(else: Self.invalid("body"))
                guard case .object = document else { throw Self.invalid("body") }
                return try finish(document, hash)
            }
        }
    }

    private static func text(_ document: JSONValue, _ name: String) throws(Refusal) -> String {
        guard let text = document[name: name]?.text else { throw invalid(name) }
        return text
    }

    // MARK: R7

    func planInitiate(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        let base = access.baseURL(host: request.exchange.header("Host"))
        try planDocument(request, store, vault) { [self] document, _ in
            let path = try Route.storePath(try Self.text(document, "file_id"))
            guard let size = document["file_size_bytes"]?.int, size >= 0 else { throw Self.invalid("file_size_bytes") }
            guard let wanted = document["num_parts"]?.int, wanted >= 0 else { throw Self.invalid("num_parts") }
            guard size <= limits.fileBytes else { throw Refusal.tooLarge }
            let (count, partSize) = Self.parts(size: size, wanted: wanted)
            guard count <= ServerLimits.parts else { throw Refusal(400, "Maximum \(ServerLimits.parts) parts allowed") }
            try store.checkRoom(for: size)
            let random = try access.random.bytes(16)
            let id = Hex.text(random.span)
            let session = UploadSession(
                id: id, vault: vault, path: path, size: size, partSize: partSize, partCount: Int(count),
                expiresNs: clock.monotonicNs + limits.signedSeconds * 1_000_000_000,
                file: try UploadFile(in: try store.vault(vault).uploadFolder()))
            try uploads.add(session)
            let urls = try (1...Int(count)).map { number in
                let target = "/transfer/part/\(vault.text)/\(id)/\(number)"
                return JSONValue.record([
                    "part_number": .integer(Int64(number)),
                    "upload_url": .string(base + (try signer.sign(method: "PUT", path: target, escaped: target))),
                ])
            }
            return .reply(
                .json(
                    .record(["upload_id": .string(id), "part_urls": .array(urls), "part_size": .integer(partSize)])))
        }
    }

    /// How many parts of which size.
    static func parts(size: Int64, wanted: Int64) -> (count: Int64, size: Int64) {
        if wanted == 0 {
            return (max(1, (size + ServerLimits.chosenPart - 1) / ServerLimits.chosenPart), ServerLimits.chosenPart)
        }
        return (wanted, max(ServerLimits.smallestPart, (size - 1) / wanted + 1))
    }

    // MARK: A part

    func planPart(
        _ request: Request, _ store: ServedStore, _ vault: VaultID, _ upload: String, _ part: Int
    ) throws {
        try checkSignature(request)
        let session = try uploads.find(upload, vault)
        guard part <= session.partCount else { throw Refusal(404, "Unknown upload") }
        if let length = request.bodyLength, length != session.length(of: part) {
            throw Refusal(400, "The part has not the length that was announced")
        }
        try store.checkRoom(for: session.length(of: part))
        let body = try PartBody(session, part: part, of: store)
        request.task.sink = body
        request.task.finish = {
            let tag = try body.end()
            return .reply(
                Reply(
                    status: 200, contentType: "application/xml", body: .bytes([]),
                    headers: [("ETag", tag), Reply.noStore]))
        }
    }

    func checkSignature(_ request: Request) throws {
        guard try signer.isValid(method: request.task.method, target: request.target) else {
            throw Refusal(403, "The address is not signed, or has expired")
        }
    }

    // MARK: R8

    func planComplete(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        try planDocument(request, store, vault) { [self] document, hash in
            let fileID = try Self.text(document, "file_id")
            let session = try uploads.find(try Self.text(document, "upload_id"), vault)
            guard session.path.text == fileID else { throw Refusal(400, "The upload is for another file_id") }
            guard let items = document["parts"]?.items else { throw Self.invalid("parts") }
            var tags: [Int: String] = [:]
            for item in items {
                guard let number = item["part_number"]?.int, let tag = item["etag"]?.text else {
                    throw Self.invalid("parts")
                }
                tags[Int(number)] = tag
            }
            let file = try session.complete(tags)
            // What fails here, a full disk or a lock that is held, may go better next time: the parts are kept.
            // Outside the lock: the bytes take their time to reach the disk.
            do { try file.sync() } catch {
                session.reopen()
                throw error
            }
            return .work(lane: vault) { [self] in
                do {
                    try store.vault(vault).write(ownerHash: hash) { writer in
                        try file.publish(as: session.path, by: writer)
                    }
                } catch {
                    session.reopen()
                    throw error
                }
                uploads.remove(session)
                let tag = "\"\(session.id)-\(session.partCount)\""
                return .reply(.json(.record(["status": .string("ok"), "etag": .string(tag)])))
            }
        }
    }

    // MARK: R9

    func planCancel(_ request: Request, _ store: ServedStore, _ vault: VaultID) throws {
        try planDocument(request, store, vault) { [self] document, _ in
            let session = try uploads.find(try Self.text(document, "upload_id"), vault)
            uploads.remove(session)
            return .reply(.json(.record(["status": .string("cancelled")])))
        }
    }

    // MARK: R10

    func planReadURL(_ request: Request, _ vault: VaultID, _ path: StorePath) {
        let base = access.baseURL(host: request.exchange.header("Host"))
        request.task.finish = { [self] in
            let head = "/transfer/file/\(vault.text)/"
            let escaped = head + RequestTarget.escaped(path.text)
            let signed = try signer.sign(method: "GET", path: head + path.text, escaped: escaped)
            return .reply(
                .json(.record(["url": .string(base + signed), "expires_in": .integer(limits.signedSeconds)])))
        }
    }
}
