import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// Reading one file: the whole, a part, or the news that nothing changed (issue C, 04 §14).
@Suite("Reading a file", .timeLimit(.minutes(1)))
struct FileReadTests {
    private let server: TestServer
    private let object = "bare/data/obj-cas-imm-0123456789ab"
    private let ref = "bare/refs/ref-pid-muw-000000000001"

    init() throws {
        server = try TestServer()
        #expect(try server.put(object, Array(0..<100)).status == 200)
        #expect(try server.put(ref, Array("ref".utf8)).status == 200)
    }

    private func get(_ path: String, _ headers: [(String, String)] = []) throws -> TestConnection.Answer {
        try server.request("GET", "/api/vault/read/vault001/" + path, headers: headers)
    }

    @Test("lets what never changes be kept, and nothing else")
    func caching() throws {
        let fixed = try get(object)
        #expect(fixed.headers["cache-control"] == "public, max-age=31536000, immutable")
        let tag = try #require(fixed.headers["etag"])
        let moving = try get(ref)
        #expect(moving.headers["cache-control"] == "no-store")
        #expect(moving.headers["etag"] == nil)
        let known = try get(object, [("If-None-Match", "\"other\", \(tag)")])
        #expect(known.status == 304)
        #expect(known.headers["etag"] == tag)
        #expect(try get(object, [("If-None-Match", "\"other\"")]).status == 200)
        #expect(try server.list().count == 2)
    }

    @Test(
        "gives the part that is asked for",
        arguments: [
            ("bytes=0-0", 206, 0..<1, "bytes 0-0/100"), ("bytes=10-19", 206, 10..<20, "bytes 10-19/100"),
            ("bytes=90-", 206, 90..<100, "bytes 90-99/100"), ("bytes=-5", 206, 95..<100, "bytes 95-99/100"),
            ("bytes=50-1000", 206, 50..<100, "bytes 50-99/100"), ("bytes=-1000", 206, 0..<100, "bytes 0-99/100"),
            ("bytes=100-", 416, 0..<0, "bytes */100"), ("bytes=-0", 416, 0..<0, "bytes */100"),
            ("bytes=5-2", 200, 0..<100, ""), ("bytes=0-1,5-6", 200, 0..<100, ""), ("lines=1-2", 200, 0..<100, ""),
            ("bytes=a-b", 200, 0..<100, ""), ("bytes=99999999999999999999-", 200, 0..<100, ""),
        ])
    func ranges(_ header: String, _ status: Int, _ part: Range<Int>, _ contentRange: String) throws {
        let answer = try get(object, [("Range", header)])
        #expect(answer.status == status)
        #expect(answer.body == part.map { UInt8($0) })
        #expect(answer.headers["content-range"] ?? "" == contentRange)
    }

    @Test("gives a part only of the file that the client has seen")
    func conditionalRange() throws {
        let tag = try #require(try get(object).headers["etag"])
        #expect(try get(object, [("Range", "bytes=0-1"), ("If-Range", tag)]).status == 206)
        #expect(try get(object, [("Range", "bytes=0-1"), ("If-Range", "\"x\"")]).status == 200)
        #expect(try get(ref, [("Range", "bytes=0-1"), ("If-Range", "\"x\"")]).status == 200)
    }

    @Test("sends large files from the disk, whole and in parts")
    func large() throws {
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 12) }
        #expect(try server.put("bare/data/large", bytes).status == 200)
        #expect(try server.read("bare/data/large") == bytes)
        let part = try get("bare/data/large", [("Range", "bytes=1000001-2500000")])
        #expect(part.status == 206)
        #expect(part.body == Array(bytes[1_000_001...2_500_000]))
    }

    @Test("follows no link and opens no folder")
    func links() throws {
        try Shell.run(
            """
            cd '\(server.root.text)' && ln -s /etc/passwd vault001/bare/data/link && ln -s vault001 vault002 &&
            ln -s /etc vault001/bare/data/folder
            """)
        #expect(try get("bare/data/link").status == 404)
        #expect(try get("bare/data/folder/passwd").status == 404)
        #expect(try server.request("GET", "/api/vault/read/vault002/" + ref).status == 404)
        #expect(try server.list() == [object, ref])
        #expect(try get("bare/data").status == 404)
        #expect(try get("bare/data/" + "x").status == 404)
        #expect(try server.request("GET", "/api/vault/read/vault001/.vaultctl%2Fowner.json").status == 400)
        #expect(try server.request("GET", "/api/vault/read/vault001/bare%2F..%2F.vaultctl%2Fowner.json").status == 400)
    }

    @Test("keeps one connection for many requests")
    func keepAlive() throws {
        let connection = try server.connect()
        for _ in 0..<50 {
            #expect(try connection.request("GET", "/api/vault/read/vault001/" + ref).body == Array("ref".utf8))
            #expect(try connection.request("GET", "/api/vault/read/vault001/bare/refs/none").status == 404)
        }
    }
}
