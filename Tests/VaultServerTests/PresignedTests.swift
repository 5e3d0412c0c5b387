import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// Uploads in parts and signed downloads, with the server in the place of an object store (spec 04 §7).
@Suite("Presigned transfer", .timeLimit(.minutes(1)))
struct PresignedTests {
    private let server: TestServer
    private let path = "bare/data/obj-cas-imm-00000000000b"
    private static let content = (0..<11_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 10) }

    private var bytes: [UInt8] { Self.content }

    init() throws {
        server = try TestServer()
    }

    private init(_ server: TestServer) {
        self.server = server
    }

    private func post(_ step: String, _ body: JSONValue) throws -> TestConnection.Answer {
        try server.request(
            "POST", "/api/vault/presigned/\(step)/vault001", headers: TestServer.writer,
            body: JSONWriter.bytes(body, .compact))
    }

    private struct Upload {
        let id: String
        let partSize: Int
        /// Targets without scheme and host.
        let targets: [String]
    }

    private func initiate(size: Int, parts: Int) throws -> Upload {
        let answer = try post(
            "initiate",
            .record([
                "file_id": .string(path), "file_size_bytes": .integer(Int64(size)),
                "num_parts": .integer(Int64(parts)),
            ]))
        #expect(answer.status == 200)
        let urls = try #require(answer.json?["part_urls"]?.items)
        #expect(urls.compactMap { $0["part_number"]?.int } == urls.indices.map { Int64($0 + 1) })
        return Upload(
            id: try #require(answer.json?["upload_id"]?.text), partSize: Int(answer.json?["part_size"]?.int ?? 0),
            targets: try urls.map { try Self.target(#require($0["upload_url"]?.text), server) })
    }

    private static func target(_ url: String, _ server: TestServer) throws -> String {
        let head = "http://127.0.0.1"
        #expect(url.hasPrefix(head + "/"))
        return String(url.dropFirst(head.count))
    }

    private func send(_ upload: Upload, _ part: Int, _ bytes: some Collection<UInt8>) throws -> TestConnection.Answer {
        try server.request(
            "PUT", upload.targets[part - 1], headers: [("Content-Type", "application/octet-stream")],
            body: Array(bytes))
    }

    private func complete(_ upload: Upload, _ tags: [String]) throws -> TestConnection.Answer {
        try post(
            "complete",
            .record([
                "file_id": .string(path), "upload_id": .string(upload.id),
                "parts": .array(
                    tags.enumerated().map {
                        .record(["part_number": .integer(Int64($0.offset + 1)), "etag": .string($0.element)])
                    }),
            ]))
    }

    @Test("the sizes of parts are those of the real server")
    func sizes() {
        #expect(VaultService.parts(size: 12_000_028, wanted: 2) == (2, 6_000_014))
        #expect(VaultService.parts(size: 5_000_000, wanted: 1) == (1, 5 << 20))
        #expect(VaultService.parts(size: 25 << 20, wanted: 0) == (3, 10 << 20))
        #expect(VaultService.parts(size: 0, wanted: 0) == (1, 10 << 20))
        #expect(VaultService.parts(size: 1, wanted: 1) == (1, 5 << 20))
    }

    @Test("parts in any order make the file, which can be read in ranges")
    func roundTrip() throws {
        let upload = try initiate(size: bytes.count, parts: 2)
        #expect(upload.partSize == 5_500_000)
        let second = try send(upload, 2, bytes[5_500_000...])
        // An attempt that broke off is made again.
        #expect(try send(upload, 1, bytes[..<100]).status == 400)
        let first = try send(upload, 1, bytes[..<5_500_000])
        let tags = [first, second].compactMap { $0.headers["etag"] }
        #expect(tags.count == 2)
        #expect(try server.read(path) == nil)
        let done = try complete(upload, tags)
        #expect(done.status == 200)
        #expect(done.json?["status"]?.text == "ok")
        let url = try server.request("GET", "/api/vault/presigned/read-url/vault001/" + RequestTarget.escaped(path))
        #expect(url.json?["expires_in"]?.int == 3600)
        let target = try Self.target(try #require(url.json?["url"]?.text), server)
        let part = try server.request("GET", target, headers: [("Range", "bytes=0-8388607")])
        #expect(part.status == 206)
        #expect(part.headers["content-range"] == "bytes 0-8388607/11000000")
        #expect(part.body == Array(bytes[..<8_388_608]))
        #expect(try server.request("GET", target).body == bytes)
        // Done is done.
        #expect(try complete(upload, tags).status == 404)
        #expect(try send(upload, 1, bytes[..<5_500_000]).status == 404)
    }

    @Test("an upload is complete only with every part under its own tag")
    func incomplete() throws {
        let upload = try initiate(size: 6 << 20, parts: 2)
        let tag = try #require(try send(upload, 1, bytes[..<(5 << 20)]).headers["etag"])
        #expect(try complete(upload, [tag]).status == 400)
        #expect(try complete(upload, [tag, tag]).status == 400)
        let cancelled = try post("cancel", .record(["upload_id": .string(upload.id), "file_id": .string(path)]))
        #expect(cancelled.text == #"{"status":"cancelled"}"#)
        #expect(try complete(upload, [tag, tag]).status == 404)
        #expect(try server.list() == [])
        let uploads = try server.folder.open().openDirectory(
            path: ["root", "vault001", ".vaultctl", "uploads"].map { Array($0.utf8) })
        #expect(try uploads?.entries().isEmpty == true)
    }

    /// An upload whose parts are all there, and their tags.
    private func sent(_ bytes: [UInt8]) throws -> (upload: Upload, tags: [String]) {
        let upload = try initiate(size: bytes.count, parts: 1)
        return (upload, [try #require(try send(upload, 1, bytes).headers["etag"])])
    }

    @Test("an upload that could not be completed is kept, and can be completed or sent again")
    func failedComplete() throws {
        let (upload, tags) = try sent(Array("first".utf8))
        try Shell.run("mkdir -p '\(server.root.text)/vault001/\(path)'")
        #expect(try complete(upload, tags).status == 400)
        #expect(try complete(upload, tags).status == 400)
        try Shell.run("rmdir '\(server.root.text)/vault001/\(path)'")
        let again = try #require(try send(upload, 1, Array("other".utf8)).headers["etag"])
        #expect(try complete(upload, tags).status == 400)
        #expect(try complete(upload, [again]).status == 200)
        #expect(try server.read(path) == Array("other".utf8))
    }

    @Test("an upload that failed after it began to count is found complete when that is asked for again")
    func interruptedComplete() throws {
        let failing = Locked(false)
        let server = try TestServer { configuration, _ in
            let real = configuration.environment
            configuration.environment = VaultEnvironment(
                fileSystem: real.fileSystem, clock: real.clock, random: real.random,
                failPoints: FailPoints { point throws(Errno) in
                    if point == .folderJournalWritten, failing.withLock({ $0 }) { throw .ioError }
                })
        }
        let other = PresignedTests(server)
        let (upload, tags) = try other.sent(Array("first".utf8))
        failing.withLock { $0 = true }
        #expect(try other.complete(upload, tags).status == 500)
        #expect(try server.read(path) == nil)
        failing.withLock { $0 = false }
        #expect(try other.complete(upload, tags).status == 200)
        #expect(try server.read(path) == Array("first".utf8))
        #expect(try other.complete(upload, tags).status == 404)
    }

    @Test("an address allows what it was signed for and nothing else")
    func signatures() throws {
        let upload = try initiate(size: 100, parts: 1)
        let target = upload.targets[0]
        for bad in [
            target.replacing("signature=", with: "signature=0"), target.replacing("/1?", with: "/2?"),
            target.replacing("expires=", with: "expires=9"), String(target.prefix { $0 != "?" }),
        ] {
            let status = try server.request("PUT", bad, body: [1]).status
            #expect(status == 403, "\(bad)")
        }
        #expect(try server.request("GET", target).status == 405)
    }

    @Test("an address expires, and so does the upload")
    func expiry() throws {
        let clock = TestClock()
        let server = try TestServer { configuration, _ in
            let real = configuration.environment
            configuration.environment = .init(
                fileSystem: real.fileSystem, clock: clock, random: real.random, failPoints: real.failPoints)
        }
        #expect(try server.put("bare/data/x", [1]).status == 200)
        let url = try server.request("GET", "/api/vault/presigned/read-url/vault001/bare/data/x").json?["url"]?.text
        let target = try Self.target(try #require(url), server)
        #expect(try server.request("GET", target).status == 200)
        clock.advance(ms: 3_600_000)
        #expect(try server.request("GET", target).status == 200)
        clock.advance(ms: 1_000)
        #expect(try server.request("GET", target).status == 403)
    }

    @Test("bodies of the wrong form are told by a list, as the real server does")
    func malformed() throws {
        let answer = try post("initiate", .record(["file_id": .string(path)]))
        #expect(answer.status == 400)
        #expect(answer.json?["detail"]?.items?.isEmpty == false)
        let many = JSONValue.record([
            "file_id": .string(path), "file_size_bytes": .integer(5), "num_parts": .integer(10_001),
        ])
        #expect(try post("initiate", many).status == 400)
        let huge = JSONValue.record([
            "file_id": .string(path), "file_size_bytes": .integer(.max), "num_parts": .integer(1),
        ])
        #expect(try post("initiate", huge).status == 413)
        let outside = JSONValue.record([
            "file_id": .string("bare/../x"), "file_size_bytes": .integer(5), "num_parts": .integer(1),
        ])
        #expect(try post("initiate", outside).status == 400)
    }
}
