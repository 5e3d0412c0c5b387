internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Sends one large object: in parts to the server's object store where it has one, else in one stream.
///
/// The object never sits in memory whole, and its content is checked against its id on the way.
struct LargeUpload: Sendable {
    let remote: HTTPRemote
    let writeKey: HTTPSecret
    /// Whether an earlier run may have sent it.
    let isRepeated: Bool

    private var endpoint: Endpoint { remote.endpoint }
    private var knowledge: ServerKnowledge { remote.knowledge }

    func run(_ file: FileID, _ source: any ObjectSource) async throws {
        if isRepeated, !knowledge.hasListed { knowledge.listed(try await remote.list(.objects)) }
        // What an earlier run sent is not sent again.
        if knowledge.holds(file) { return }
        if knowledge.hasPresigned != false {
            let upload = MultipartUpload(remote: remote, writeKey: writeKey)
            if try await upload.run(file, source) {
                knowledge.note(file)
                knowledge.hasWritten = true
                return
            }
            knowledge.hasPresigned = false
        }
        try await put(file, source)
        knowledge.note(file)
        knowledge.hasWritten = true
    }

    private func put(_ file: FileID, _ source: any ObjectSource) async throws {
        let url = endpoint.url("write", file)
        let response = try await endpoint.authorized {
            try await endpoint.retrier.run(url.origin) {
                try await Self.streamed(source) { body in
                    let request = endpoint.request(
                        .put, url, body: body, type: "application/octet-stream", writeKey: writeKey)
                    return try await endpoint.client.send(request)
                }
            }
        }
        guard response.status == 200 else { throw endpoint.errors.error(response, writes: true) }
        guard response.confirms("completed") else {
            // Somebody else may have answered for the server.
            guard try await remote.list(.objects).contains(file) else {
                throw endpoint.errors.garbage("a file is not said to be written")
            }
            return
        }
    }

    /// Lets `send` use a body that a thread reads and checks while it is sent.
    private static func streamed(
        _ source: any ObjectSource, _ send: (HTTPRequest.Body) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        struct Abandoned: Error {}
        let pipe = UploadPipe()
        let failure = Locked<(any Error)?>(nil)
        let thread = try BackgroundThread {
            do {
                try source.read { span in
                    guard pipe.push([UInt8](copying: span)) else { throw Abandoned() }
                }
                pipe.finish()
            } catch {
                if !(error is Abandoned) { failure.withLock { $0 = error } }
                pipe.abandon()
            }
        }
        let result: Result<HTTPResponse, any Error>
        do { result = .success(try await send(.stream(size: source.size, pipe))) } catch { result = .failure(error) }
        pipe.abandon()
        thread.join()
        // What is wrong with the object is the reason, whatever the transfer then said.
        if let failure = failure.withLock({ $0 }) { throw failure }
        return try result.get()
    }
}

/// An upload in parts that run side by side (spec 04 §7.1).
struct MultipartUpload: Sendable {
    let remote: HTTPRemote
    let writeKey: HTTPSecret

    private var endpoint: Endpoint { remote.endpoint }

    /// The size of parts to ask for.
    private static let partSize: Int64 = 10 << 20
    /// No server chooses smaller ones.
    private static let leastPartSize: Int64 = 5 << 20
    private static let partLimit = 10_000
    /// A source without random access is taken into memory up to this size.
    private static let memoryLimit: Int64 = 64 << 20

    private struct Plan: Sendable {
        var uploadID: String
        var partSize: Int64
        /// In the order of the parts.
        var urls: [WebURL]
    }

    /// Sends an object; false, having sent nothing, where the server offers no such way.
    func run(_ file: FileID, _ source: any ObjectSource) async throws -> Bool {
        guard let bytes = try Self.random(source), let plan = try await initiate(file, source.size) else {
            return false
        }
        remote.knowledge.hasPresigned = true
        do {
            let tags = try await send(plan, source, bytes)
            try await complete(file, plan, tags)
            return true
        } catch {
            await cancel(file, plan)
            throw error
        }
    }

    /// Gives any part of an object.
    private typealias Access = @Sendable (_ offset: Int64, _ count: Int) throws -> [UInt8]

    private static func random(_ source: any ObjectSource) throws -> Access? {
        if try source.bytes(at: 0, count: 1) != nil {
            return { offset, count in try source.bytes(at: offset, count: count) ?? [] }
        }
        guard source.size <= memoryLimit else { return nil }
        let whole = try BatchWriter.Item.bytes(source)
        return { offset, count in Array(whole[Int(offset)..<min(whole.count, Int(offset) + count)]) }
    }

    private func post(_ step: String, _ document: JSONValue) async throws -> HTTPResponse {
        let body = JSONWriter.bytes(document, .compact)
        return try await endpoint.send(
            endpoint.request(
                .post, endpoint.url("presigned/\(step)"), body: .bytes(body), type: "application/json",
                writeKey: writeKey))
    }

    private func initiate(_ file: FileID, _ size: Int64) async throws -> Plan? {
        let asked = min(Self.parts(of: size, each: Self.partSize), Int64(Self.partLimit))
        let response = try await post(
            "initiate",
            .record([
                "file_id": .string(file.path), "file_size_bytes": .integer(size),
                "num_parts": .integer(asked),
            ]))
        // No object store behind it, or no such route.
        if [400, 404, 405, 501].contains(response.status) { return nil }
        guard response.status == 200 else { throw endpoint.errors.error(response, writes: true) }
        let bounds = JSONReader.Bounds(depth: 8, values: Self.partLimit * 4)
        guard let document = try? JSONReader.parse(response.body.span, bounds: bounds),
            let uploadID = document["upload_id"]?.text, let items = document["part_urls"]?.items,
            let partSize = document["part_size"]?.int, !uploadID.isEmpty,
            // What a server may answer to what was asked (spec 04 §7.1), so that a hostile one chooses nothing else.
            partSize >= Self.leastPartSize, partSize <= max(Self.partSize, Self.parts(of: size, each: asked)),
            Int64(items.count) == Self.parts(of: size, each: partSize), items.count <= Self.partLimit
        else { throw endpoint.errors.garbage("an upload without its parts") }
        var urls: [Int64: WebURL] = [:]
        for item in items {
            guard let number = item["part_number"]?.int, let text = item["upload_url"]?.text else { continue }
            urls[number] = try ExternalRequest(endpoint: endpoint).checked(text)
        }
        let ordered = (1...Int64(items.count)).compactMap { urls[$0] }
        guard ordered.count == items.count else { throw endpoint.errors.garbage("an upload without all its parts") }
        return Plan(uploadID: uploadID, partSize: partSize, urls: ordered)
    }

    /// How many parts of a size a number of bytes takes; written so that no size is too large to count with.
    private static func parts(of size: Int64, each partSize: Int64) -> Int64 {
        size > 0 ? (size - 1) / partSize + 1 : 1
    }

    /// Sends the parts and checks the object meanwhile; gives the parts' tags.
    private func send(_ plan: Plan, _ source: any ObjectSource, _ access: @escaping Access) async throws -> [String] {
        try await withThrowingTaskGroup(of: (Int, String)?.self) { group in
            group.addTask {
                try await Self.verify(source)
                return nil
            }
            var tags = [String](repeating: "", count: plan.urls.count)
            func take(_ told: (Int, String)?) {
                if let told { tags[told.0] = told.1 }
            }
            for index in plan.urls.indices {
                // One more than the parts: the check.
                if index >= remote.parallel, let told = try await group.next() { take(told) }
                group.addTask { (index, try await send(index, plan, source.size, access)) }
            }
            while let told = try await group.next() { take(told) }
            return tags
        }
    }

    private static func verify(_ source: any ObjectSource) async throws {
        let result = Locked<Result<Void, any Error>>(.success(()))
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try BackgroundThread.detached {
                    let read = Result { try source.read { _ in } }
                    result.withLock { $0 = read }
                    continuation.resume()
                }
            } catch { continuation.resume(throwing: error) }
        }
        try result.withLock { $0 }.get()
    }

    private func send(_ index: Int, _ plan: Plan, _ size: Int64, _ access: @escaping Access) async throws -> String {
        let offset = Int64(index) * plan.partSize
        let count = min(plan.partSize, size - offset)
        let external = ExternalRequest(endpoint: endpoint)
        let part = PartBody(offset: offset, count: count, access: access)
        var request = HTTPRequest(method: .put, url: plan.urls[index], body: .stream(size: count, part))
        request.headers = [HTTPHeader("Content-Type", "application/octet-stream")]
        let response: HTTPResponse
        do {
            response = try await endpoint.retrier.run(request.url.origin) {
                _ = part.rewind()
                return try await external.send(request)
            }
        } catch {
            // What is wrong with the object is the reason, whatever the transfer then said.
            throw part.failure ?? error
        }
        if let failure = part.failure { throw failure }
        guard (200...204).contains(response.status) else {
            throw endpoint.errors.storeError(response)
        }
        guard let tag = response.head.headers["etag"], tag.utf8.count <= 1024 else {
            throw endpoint.errors.garbage("a part without its tag")
        }
        return tag
    }

    private func complete(_ file: FileID, _ plan: Plan, _ tags: [String]) async throws {
        let parts = tags.enumerated().map { index, tag in
            JSONValue.record(["part_number": .integer(Int64(index + 1)), "etag": .string(tag)])
        }
        let failure: any Error
        do {
            let response = try await post(
                "complete",
                .record([
                    "file_id": .string(file.path), "upload_id": .string(plan.uploadID), "parts": .array(parts),
                ]))
            if response.status == 200, response.confirms("ok") { return }
            failure =
                response.status == 200
                ? endpoint.errors.garbage("an upload is not said to be complete")
                : endpoint.errors.error(response, writes: true)
        } catch { failure = error }
        // An earlier attempt whose answer was lost may have completed it.
        guard let there = try? await remote.list(.objects), there.contains(file) else { throw failure }
    }

    private func cancel(_ file: FileID, _ plan: Plan) async {
        let document = JSONValue.record(["upload_id": .string(plan.uploadID), "file_id": .string(file.path)])
        let body = JSONWriter.bytes(document, .compact)
        // What fails here leaves parts that the store drops by itself.
        _ = try? await endpoint.client.send(
            endpoint.request(
                .post, endpoint.url("presigned/cancel"), body: .bytes(body), type: "application/json",
                writeKey: writeKey))
    }
}

extension HTTPResponse {
    /// Whether the body is a document of this status: a success that anybody could have sent is none.
    fileprivate func confirms(_ status: String) -> Bool {
        (try? JSONReader.parse(body.span, bounds: JSONReader.Bounds(depth: 4, values: 64)))?["status"]?.text == status
    }
}

/// A part of an object as the body of a request.
private final class PartBody: BodySource {
    private let offset: Int64
    private let count: Int64
    private let access: @Sendable (Int64, Int) throws -> [UInt8]
    private let state = Locked<(sent: Int64, failure: (any Error)?)>((0, nil))

    init(offset: Int64, count: Int64, access: @escaping @Sendable (Int64, Int) throws -> [UInt8]) {
        self.offset = offset
        self.count = count
        self.access = access
    }

    var failure: (any Error)? { state.withLock { $0.failure } }

    func next(limit: Int) -> BodyPiece {
        state.withLock { state in
            do {
                let bytes = try access(offset + state.sent, min(limit, Int(clamping: count - state.sent)))
                state.sent += Int64(bytes.count)
                return .bytes(bytes[...])
            } catch {
                state.failure = error
                return .stop
            }
        }
    }

    func rewind() -> Bool {
        state.withLock { $0.sent = 0 }
        return true
    }

    func attach(resume: @escaping @Sendable () -> Void) {}
}
