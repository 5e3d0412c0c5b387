import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

/// Requests for objects above 4 MiB (spec 04 §7).
@Suite("Large objects", .timeLimit(.minutes(3)))
struct LargeObjectTests {
    private let scene: WebScene
    private let content = (0..<(17 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    init() throws {
        scene = try WebScene("--presigned")
    }

    /// A vault with one large and some small files at the server.
    private func pushed() async throws -> Vault {
        let vault = try scene.create("a")
        try scene.files.put(content, at: "large", in: "a")
        for number in 0..<4 { try scene.files.put("\(number)", at: "d/f\(number)", in: "a") }
        _ = try vault.commit(CommitOptions(message: "large"))
        _ = try await vault.push(to: try scene.remote())
        return vault
    }

    private func content(of name: String, in clone: String) throws -> [UInt8] {
        try LinuxFileSystem().readFile(scene.files.path(clone).appending(component: name), limit: 64 << 20)
    }

    /// The id of the object whose address the last requests asked for.
    private func largeID(_ log: [StandIn.Seen]) throws -> String {
        let line = try #require(log.first { $0.line.contains("/presigned/read-url/") }).line
        return "obj-" + String(try #require(line.split(separator: "obj-").last))
    }

    private func batches(_ log: [StandIn.Seen], with id: String) -> Int {
        log.filter { $0.line.hasPrefix("POST /api/vault/batch") }
            .count { String(decoding: $0.body, as: UTF8.self).contains(id) }
    }

    @Test func `are asked for together with others once, and then by themselves`() async throws {
        _ = try await pushed()
        try await scene.server.reset()
        try await scene.clone("b", from: try scene.remote())
        #expect(try content(of: "large", in: "b") == content)
        let log = try await scene.server.log()
        #expect(batches(log, with: try largeID(log)) == 1)
        let ranges = log.filter { $0.line.hasPrefix("GET /_s3/") }
        #expect(
            ranges.compactMap { $0.headers["range"] }.sorted() == [
                "bytes=0-8388607", "bytes=16777216-\((17 << 20) + 27)", "bytes=8388608-16777215",
            ])
        // Refs, list, what was too large, commit, two levels of folders, the rest; the address, and three ranges.
        #expect(log.count <= 7 + 1 + 3)
    }

    @Test func `that a folder names are never asked for together with others`() async throws {
        let vault = try await pushed()
        try await scene.clone("b", from: try scene.remote())
        try scene.files.put(content.reversed() as [UInt8], at: "larger", in: "a")
        _ = try vault.commit(CommitOptions(message: "another"))
        _ = try await vault.push(to: try scene.remote())
        try await scene.server.reset()
        _ = try await scene.files.open("b").pull(from: try scene.remote())
        let log = try await scene.server.log()
        #expect(batches(log, with: try largeID(log)) == 0)
        #expect(try content(of: "larger", in: "b") == content.reversed())
    }

    @Test func `take no listing, but after a push that was interrupted, which is not repeated for them`() async throws {
        let vault = try scene.create("a")
        try scene.files.put(content, at: "large", in: "a")
        _ = try vault.commit(CommitOptions(message: "large"))
        try await scene.server.fault([
            "match": .string("POST /api/vault/batch"), "body_has": .string("write-if-match"), "status": .integer(403),
        ])
        await #expect(throws: VaultError.self) { try await vault.push(to: try scene.remote()) }
        func count(_ text: String, _ log: [StandIn.Seen]) -> Int { log.count { $0.line.contains(text) } }
        var log = try await scene.server.log()
        #expect(count("GET /api/vault/list", log) == 0)
        #expect(count("presigned/initiate", log) == 1)
        try await scene.server.reset()
        #expect(try await vault.push(to: try scene.remote()).outcome == .created)
        log = try await scene.server.log()
        #expect(count("GET /api/vault/list", log) == 1)
        #expect(count("presigned/initiate", log) == 0)
        try await scene.server.reset()
        try scene.files.put(content.reversed() as [UInt8], at: "larger", in: "a")
        _ = try vault.commit(CommitOptions(message: "another"))
        #expect(try await vault.push(to: try scene.remote()).outcome == .pushed)
        log = try await scene.server.log()
        #expect(count("GET /api/vault/list", log) == 0)
    }

    @Test func `of the past are settled as well`() async throws {
        let vault = try await pushed()
        try LinuxFileSystem().openDirectory(scene.files.path("a")).removeFile(Array("large".utf8))
        _ = try vault.commit(CommitOptions(message: "without"))
        _ = try await vault.push(to: try scene.remote())
        let cloned = try await scene.clone("b", from: try scene.remote())
        #expect(cloned.commits == 3)
        #expect(try content(of: "d/f0", in: "b") == Array("0".utf8))
    }

    @Test func `leave out a whole portion that a gateway refuses, and everything comes`() async throws {
        let vault = try scene.create("a")
        for number in 0..<30 { try scene.files.put("\(number)", at: "d/f\(number)", in: "a") }
        _ = try vault.commit(CommitOptions(message: "many"))
        _ = try await vault.push(to: try scene.remote())
        try await scene.server.reset()
        try await scene.server.fault([
            "match": .string("POST /api/vault/batch"), "body_has": .string("bare/data/"), "status": .integer(503),
        ])
        try await scene.clone("b", from: try scene.remote())
        #expect(try content(of: "d/f29", in: "b") == Array("29".utf8))
        // Refs, list, what was refused, commit, two levels of folders, the rest.
        #expect(try await scene.server.log().count <= 7)
    }

    /// A disk that gives the first byte and the whole in order, and fails for parts.
    private struct Failing: ObjectSource {
        let content: [UInt8]
        var size: Int64 { Int64(content.count) }
        func read(into sink: (Span<UInt8>) throws -> Void) throws { try sink(content.span) }
        func bytes(at offset: Int64, count: Int) throws -> [UInt8]? {
            guard count == 1 else { throw VaultError(.ioError, "the disk fails") }
            return [content[Int(offset)]]
        }
    }

    @Test func `that the disk does not give are no failure of the network`() async throws {
        let digest = try SHA256.hash(content.span)
        let batch = try WriteBatch([.object(ObjectID(digest: digest, width: .short), Failing(content: content))])
        let keys = scene.files.keys
        let remote = try scene.remote()
        await #expect(throws: VaultError(.ioError, "")) {
            try await remote.apply(
                batch, authorization: WriteAuthorization(vaultID: keys.vaultID, writeKey: keys.write))
        }
    }

    @Test func `are held in memory once`() async throws {
        let server = try StandIn()
        let text = String(repeating: "x", count: 5 << 20)
        try await server.fault(["match": .string("/info"), "status": .integer(200), "body": .string(text)])
        var request = HTTPRequest(
            method: .get, url: try #require(WebURL(server.url)).appending("/info/health"))
        request.answerLimit = 6 << 20
        let body = try await HTTPClient().send(request).body
        #expect(body.count == 5 << 20)
        #expect(body.capacity < (5 << 20) + (64 << 10))
    }
}
