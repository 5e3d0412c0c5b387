import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// What clients and operators are told when the server can not do what it should.
@Suite("A server's own failures", .timeLimit(.minutes(1)))
struct FailureTests {
    @Test("tell clients nothing of the inside, and the operator the cause, once for each vault")
    func cause() throws {
        let server = try TestServer()
        try Shell.run("echo x >'\(server.root.text)/vault001' && echo x >'\(server.root.text)/vault002'")
        for vault in ["vault001", "vault001", "vault002"] {
            let answer = try server.put("bare/x", [1], vault: vault)
            #expect(answer.status == 500)
            #expect(answer.text == #"{"detail":"An unexpected error occurred."}"#)
        }
        let told = server.warnings.all
        #expect(told.count == 2)
        let cause = "a request failed: cannot make the folder \(server.root.text)/vault001: Not a directory (ENOTDIR)"
        #expect(told.first == "vault001: " + cause)
        #expect(told.last?.hasPrefix("vault002: ") == true)
        // A client's own mistake, which the real server calls a failure, is nothing to tell.
        let malformed = try server.request(
            "POST", "/api/vault/batch/vault003", headers: TestServer.writer, body: [91])
        #expect(malformed.status == 500)
        #expect(server.warnings.all.count == 2)
    }

    @Test("a vault of more files than can be listed is told as that")
    func listing() throws {
        let server = try TestServer { configuration, _ in configuration.limits.listedFiles = 3 }
        for name in ["a", "b", "c"] { #expect(try server.put("bare/\(name)", [1]).status == 200) }
        #expect(try server.list().count == 3)
        #expect(try server.put("bare/d", [1]).status == 200)
        let answer = try server.request("GET", "/api/vault/list/vault001")
        #expect(answer.status == 501)
        #expect(answer.detail == "The vault has more files than a listing may have")
        #expect(try server.read("bare/d") == [1])
    }

    @Test("a disk that is full but for its reserve takes nothing, whatever the way; removing goes on")
    func reserve() throws {
        let server = try TestServer()
        #expect(try server.put("bare/x", [1]).status == 200)
        let full = try TestServer { configuration, _ in
            configuration.root = server.root
            configuration.limits.reserve = 1 << 60
        }
        #expect(try full.put("bare/y", [1]).status == 507)
        #expect(try full.batch("vault001", [Op.write("bare/y", "1")]).status == 507)
        #expect(try full.batch("vault001", [Op.swap("bare/y", "1", match: nil)]).status == 507)
        for count in [1, 2500] {
            let connection = try full.connect()
            let lines = TestServer.writer.map { "\($0.0): \($0.1)\r\n" }.joined()
            try connection.send(
                "PUT /api/vault/write/vault001/bare/y HTTP/1.1\r\nHost: x\r\n\(lines)Transfer-Encoding: chunked\r\n\r\n"
            )
            let piece = "200\r\n" + String(repeating: "x", count: 512) + "\r\n"
            try connection.send(String(repeating: piece, count: count) + "0\r\n\r\n")
            #expect(try connection.answer().status == 507)
        }
        #expect(try server.list() == ["bare/x"])
        #expect(try full.batch("vault001", [Op.delete("bare/x")]).status == 200)
        #expect(try server.list() == [])
    }

    @Test("a disk that fills up while a body arrives is noticed before the body is there")
    func filling() throws {
        let faults = FaultFileSystem(LinuxFileSystem())
        let server = try TestServer { configuration, _ in
            let real = configuration.environment
            configuration.environment = VaultEnvironment(
                fileSystem: faults, clock: real.clock, random: real.random, failPoints: real.failPoints)
        }
        let body = [UInt8](repeating: 1, count: 3 << 20)
        #expect(try server.put("bare/x", body).status == 200)
        let document = JSONWriter.bytes(
            .record([
                "file_id": .string("bare/y"), "file_size_bytes": .integer(Int64(body.count)), "num_parts": .integer(1),
            ]), .compact)
        let upload = try server.request(
            "POST", "/api/vault/presigned/initiate/vault001", headers: TestServer.writer, body: document)
        let url = try #require(upload.json?["part_urls"]?.items?.first?["upload_url"]?.text)
        let target = String(url.dropFirst("http://127.0.0.1".utf8.count))
        // Asked for room once before the body: for a part by its length, for a file by its length and when it leaves
        // memory.
        faults.set(.init(atCall: 2, error: .noSpace, isSticky: true, kinds: [.availableSpace]))
        #expect(try server.request("PUT", target, body: body).status == 507)
        faults.set(.init(atCall: 3, error: .noSpace, isSticky: true, kinds: [.availableSpace]))
        #expect(try server.put("bare/z", body).status == 507)
        faults.set(nil)
        #expect(try server.list() == ["bare/x"])
        #expect(try server.request("PUT", target, body: body).status == 200)
    }
}
