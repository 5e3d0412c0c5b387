import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

/// Answers that no honest server gives.
@Suite("A hostile server")
struct HostileServerTests {
    private let id: VaultID
    private let authorization: WriteAuthorization

    init() throws {
        id = try VaultID("abcd1234")
        let key = try VaultKey(parsing: Array("passphrase:abcd1234".utf8).span)
        authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
    }

    /// Bytes that can be read from anywhere.
    private struct Large: ObjectSource {
        let bytes: [UInt8]
        var size: Int64 { Int64(bytes.count) }
        func read(into sink: (Span<UInt8>) throws -> Void) throws { try sink(bytes.span) }
        func bytes(at offset: Int64, count: Int) throws -> [UInt8]? {
            Array(bytes[Int(offset)..<min(bytes.count, Int(offset) + count)])
        }
    }

    private func large() throws -> (id: ObjectID, bytes: [UInt8], batch: WriteBatch) {
        let bytes = (0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 13) }
        let object = ObjectID(digest: try SHA256.hash(bytes.span), width: .short)
        return (object, bytes, try WriteBatch([.object(object, Large(bytes: bytes))]))
    }

    @Test(arguments: [Int64.max, .max / 2, (10 << 20) + 1, 1, 0, -1, .min] as [Int64])
    func `chooses no other size of parts than it may`(size: Int64) async throws {
        let server = try StandIn("--presigned")
        let part = JSONValue.record([
            "part_number": .integer(1), "upload_url": .string("\(server.url)/_s3/\(id.text)/part/x/1"),
        ])
        let plan = JSONValue.record([
            "upload_id": .string("x"), "part_urls": .array([part]), "part_size": .integer(size),
        ])
        try await server.fault([
            "match": .string("presigned/initiate"), "status": .integer(200),
            "body": .string(String(decoding: JSONWriter.bytes(plan, .compact), as: UTF8.self)),
        ])
        let batch = try large().batch
        await #expect(throws: VaultError(.serverError, "")) {
            try await HTTPRemote.test(server.url, id).apply(batch, authorization: authorization)
        }
        #expect(try await server.log().allSatisfy { !$0.line.hasPrefix("PUT") })
    }

    @Test func `points a part elsewhere, where it arrives whole`() async throws {
        let server = try StandIn("--presigned")
        let (_, bytes, batch) = try large()
        try await server.fault([
            "match": .string("PUT /_s3/"), "status": .integer(307), "count": .integer(9),
            "headers": .record(["Location": .string("\(server.url)/elsewhere")]),
        ])
        try await server.fault([
            "match": .string("PUT /elsewhere"), "status": .integer(200), "headers": .record(["ETag": .string("\"x\"")]),
        ])
        try await server.fault([
            "match": .string("presigned/complete"), "status": .integer(200), "body": .string(#"{"status":"ok"}"#),
        ])
        let remote = try HTTPRemote.test(server.url, id) { $0.client.stallMs = 3000 }
        #expect(try await remote.apply(batch, authorization: authorization) == .applied)
        let arrived = try await server.log().filter { $0.line.hasPrefix("PUT /elsewhere") }
        #expect(arrived.map(\.body) == [bytes])
    }

    @Test(arguments: [("--presigned", "presigned/complete"), ("", "PUT /api/vault/write/")])
    func `does not say that a large file was written`(option: String, route: String) async throws {
        let server = try StandIn(option)
        try await server.fault([
            "match": .string(route), "status": .integer(200), "count": .integer(9),
            "body": .string("<html>hello</html>"),
        ])
        let batch = try large().batch
        await #expect(throws: VaultError(.serverError, "")) {
            try await HTTPRemote.test(server.url, id).apply(batch, authorization: authorization)
        }
    }

    @Test(arguments: ["This server is read-only", "This vault is read-only here"])
    func `takes no writes at all, and is not taken for one with another key`(detail: String) async throws {
        let server = try StandIn()
        try await server.fault([
            "match": .string("batch"), "status": .integer(403), "count": .integer(9),
            "body": .string("{\"detail\":\"\(detail)\"}"),
        ])
        let bytes: [UInt8] = [1, 2, 3]
        let object = ObjectID(digest: try SHA256.hash(bytes.span), width: .short)
        let batch = try WriteBatch([.object(object, Large(bytes: bytes))])
        await #expect(throws: VaultError(.readOnlyRemote, "")) {
            try await HTTPRemote.test(server.url, id).apply(batch, authorization: authorization)
        }
    }

    @Test func `is gone in the middle of a head, and is asked again`() async throws {
        let server = try StandIn()
        let file = FileID.object(try ObjectID("obj-cas-imm-0123456789ab"))
        try await server.plant(id, file, [1, 2, 3])
        try await server.fault(["match": .string("batch"), "status": .string("half-head")])
        let found = try await HTTPRemote.test(server.url, id).readAll([file])
        #expect(found[file] == .content([1, 2, 3]))
    }

    @Test(arguments: ["\(Int64.max)", "\(Int64(1) << 40)"])
    func `names a length that no file has`(total: String) async throws {
        let server = try StandIn()
        let file = FileID.object(try ObjectID("obj-cas-imm-0123456789ab"))
        try await server.fault([
            "match": .string("GET /api/vault/read/"), "status": .integer(206), "count": .integer(9),
            "headers": .record(["Content-Range": .string("bytes 0-4194303/\(total)")]),
            "body": .string(String(repeating: "x", count: 4 << 20)),
        ])
        let remote = try HTTPRemote.test(server.url, id)
        await #expect(throws: VaultError(.serverError, "")) { try await remote.stream(file) { _ in } }
        #expect(try await server.log().count(where: { $0.line.hasPrefix("GET /api/vault/read/") }) == 1)
    }

    @Test func `changes the length of a file while it is read`() async throws {
        let server = try StandIn("--ranges")
        let file = FileID.object(try ObjectID("obj-cas-imm-0123456789ab"))
        try await server.plant(id, file, [UInt8](repeating: 1, count: 9 << 20))
        try await server.fault([
            "match": .string("GET /api/vault/read/"), "skip": .integer(1), "status": .integer(206),
            "headers": .record(["Content-Range": .string("bytes 8388608-9437183/9437185")]),
            "body": .string(String(repeating: "x", count: 1 << 20)),
        ])
        let remote = try HTTPRemote.test(server.url, id)
        await #expect(throws: VaultError(.serverError, "")) { try await remote.stream(file) { _ in } }
    }

    @Test(.timeLimit(.minutes(1))) func `sends an error without an end`() async throws {
        let server = try StandIn()
        try await server.fault(["match": .string("/info"), "status": .string("endless")])
        let address = try #require(WebURL(server.url)).appending("/info/health")
        let failure = await #expect(throws: HTTPFailure.self) {
            try await HTTPClient().send(HTTPRequest(method: .get, url: address))
        }
        #expect(failure?.kind == .garbled)
    }
}

/// Files that are given piece by piece follow the same rule about repeated requests as all others.
@Suite("Streams that are asked for again")
struct StreamRetryTests {
    private let id: VaultID
    private let file: FileID
    private let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    init() throws {
        id = try VaultID("abcd1234")
        file = .object(try ObjectID("obj-cas-imm-0123456789ab"))
    }

    /// A server that has the file, which in the second form is a host without the API.
    private func server(isStatic: Bool) async throws -> StandIn {
        let server = try StandIn()
        try await server.plant(id, file, content)
        if isStatic {
            try await server.fault(["match": .string("batch"), "status": .integer(405), "count": .integer(99)])
        }
        return server
    }

    private func remote(_ server: StandIn, _ change: (inout HTTPRemote.Options) -> Void = { _ in }) async throws
        -> HTTPRemote
    {
        let remote = try HTTPRemote.test(server.url, id, change)
        // What kind of server it is shows with the first read.
        _ = try await remote.readAll([file])
        return remote
    }

    private func streamed(_ remote: HTTPRemote) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        let isThere = try await remote.stream(file) { span in bytes += [UInt8](copying: span) }
        #expect(isThere)
        return bytes
    }

    @Test(
        arguments: [JSONValue.integer(429), .integer(502), .integer(503), .string("drop"), .string("truncate")],
        [
            false, true,
        ])
    func `come through what passes, each byte once`(status: JSONValue, isStatic: Bool) async throws {
        let server = try await server(isStatic: isStatic)
        let remote = try await remote(server)
        try await server.fault([
            "match": .string("GET /api/vault/read/"), "status": status, "when": .string("after"), "count": .integer(2),
        ])
        #expect(try await streamed(remote) == content)
    }

    @Test(arguments: [false, true]) func `wait as long as they are told to, and no longer than allowed`(
        isStatic: Bool
    ) async throws {
        let server = try await server(isStatic: isStatic)
        let folder = try TemporaryFolder("backoff")
        let clock = SystemClock()
        let kept = NotBeforeFile(folder: folder.path, fileSystem: LinuxFileSystem(), clock: clock)
        let remote = try await remote(server) { $0.backoff = kept }
        func fault(_ seconds: Int) async throws {
            try await server.fault([
                "match": .string("GET /api/vault/read/"), "status": .integer(503),
                "headers": .record(["Retry-After": .string("\(seconds)")]),
            ])
        }
        try await fault(1)
        let before = clock.monotonicNs
        #expect(try await streamed(remote) == content)
        #expect(clock.monotonicNs - before >= 1_000_000_000)
        try await fault(3600)
        await #expect(throws: VaultError(.deferred, "")) { try await remote.stream(file) { _ in } }
        #expect(kept.notBefore(server.url).map { $0 > clock.nowMs + 3_500_000 } == true)
    }
}
