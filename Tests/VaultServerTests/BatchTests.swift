import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// What a batch does that the real server's does not, and what it must not do (spec 04 §4, §14).
@Suite("A batch", .timeLimit(.minutes(1)))
struct BatchTests {
    private let server: TestServer

    init() throws {
        server = try TestServer()
    }

    private func results(_ answer: TestConnection.Answer) -> [JSONValue] {
        answer.json?["results"]?.items ?? []
    }

    private func statuses(_ answer: TestConnection.Answer) -> [String] {
        results(answer).compactMap { $0["status"]?.text }
    }

    @Test("with a compare-and-swap that fails leaves nothing behind, also of its deletes")
    func atomic() throws {
        #expect(
            try server.batch("vault001", [Op.write("bare/data/old", "1"), Op.write("bare/refs/r", "A")]).status == 200)
        let answer = try server.batch(
            "vault001",
            [
                Op.write("bare/data/new", "2"), Op.delete("bare/data/old"), Op.read("bare/refs/r"),
                Op.swap("bare/refs/r", "B", match: "X"), Op.write("bare/data/later", "3"),
            ])
        #expect(statuses(answer) == ["not_applied", "not_applied", "ok", "conflict"])
        #expect(results(answer).last?["current"]?.text == Op.base64("A"))
        #expect(try server.list() == ["bare/data/old", "bare/refs/r"])
    }

    @Test("sees what its own operations did before")
    func ownEffects() throws {
        let answer = try server.batch(
            "vault001",
            [
                Op.swap("bare/refs/r", "A", match: nil), Op.swap("bare/refs/r", "B", match: "A"),
                Op.read("bare/refs/r"), Op.delete("bare/refs/r"), Op.read("bare/refs/r"),
                Op.swap("bare/refs/r", "C", match: nil),
            ])
        #expect(statuses(answer) == ["ok", "ok", "ok", "ok", "not_found", "ok"])
        #expect(results(answer)[2]["data"]?.text == Op.base64("B"))
        #expect(try server.read("bare/refs/r") == Array("C".utf8))
    }

    @Test("stops at an unknown operation; without a compare-and-swap what stands before it is applied")
    func unknown() throws {
        let unknown = JSONValue.record(["op": .string("frob"), "file_id": .string("anything")])
        let plain = try server.batch("vault001", [Op.write("bare/data/a", "1"), unknown, Op.write("bare/data/b", "2")])
        #expect(statuses(plain) == ["ok", "error"])
        let compared = try server.batch(
            "vault001", [Op.write("bare/data/c", "1"), unknown, Op.swap("bare/refs/r", "A", match: nil)])
        #expect(statuses(compared) == ["not_applied", "error"])
        #expect(try server.list() == ["bare/data/a"])
    }

    @Test("with one bad operation applies nothing and tells nothing of the inside")
    func malformed() throws {
        let answer = try server.batch(
            "vault001",
            [Op.write("bare/data/a", "1"), .record(["op": .string("write"), "file_id": .string("bare/data/b")])])
        #expect(answer.status == 500)
        #expect(answer.text == #"{"detail":"An unexpected error occurred."}"#)
        #expect(try server.list() == [])
    }

    @Test(
        "takes no id that leads elsewhere",
        arguments: [
            "bare/../../x", "bare//x", "/bare/data/x", "bare/data/..", "bare/data/./x", "bare\\data", "bare/da\\ta",
            "local/config.json", "bare", "bare/", "", "bare/data/x\u{0}y", "bare/data/x\ny", ".vaultctl/owner.json",
            "bare/" + String(repeating: "a/", count: 8) + "x", "bare/data/" + String(repeating: "x", count: 256),
            "bare/" + String(repeating: "xx/", count: 300),
        ])
    func hostileID(_ id: String) throws {
        for operation in [Op.read(id), Op.write(id, "1"), Op.delete(id), Op.swap(id, "1", match: nil)] {
            #expect(try server.batch("vault001", [operation]).status == 400)
        }
        let escaped = RequestTarget.escaped(id)
        #expect(try server.put(escaped, [1]).status == 400)
        #expect(try server.request("GET", "/api/vault/read/vault001/\(escaped)").status == 400)
        #expect(try server.list() == [])
    }

    @Test("that would put a file in the place of a folder, or below a file, is refused and blocks nobody")
    func collisions() throws {
        #expect(try server.batch("vault001", [Op.write("bare/data/a", "1")]).status == 200)
        for bad in [
            [Op.write("bare/data", "1")], [Op.write("bare/data/a/b", "1")], [Op.delete("bare/data/a/b")],
            [Op.write("bare/x", "1"), Op.write("bare/x/y", "2")], [Op.swap("bare/data", "1", match: nil)],
        ] {
            let status = try server.batch("vault001", bad).status
            #expect(status == 400 || status == 200)
        }
        #expect(try server.batch("vault001", [Op.write("bare/data/b", "2")]).status == 200)
        #expect(try server.list() == ["bare/data/a", "bare/data/b"])
    }

    @Test("looks once for what it creates, and opens no folder for each of it")
    func lookUps() throws {
        let files = FaultFileSystem(LinuxFileSystem())
        let server = try TestServer { configuration, _ in
            let real = configuration.environment
            configuration.environment = VaultEnvironment(
                fileSystem: files, clock: real.clock, random: real.random, failPoints: real.failPoints)
        }
        func calls(_ range: Range<Int>) throws -> [Int] {
            files.set(nil)
            let batch = range.map { Op.swap("bare/data/f\($0)", "x", match: nil) }
            #expect(try server.batch("vault001", batch).status == 200)
            let counts = files.counts
            return [.status, .openFile, .openDirectory, .createFile].map { counts[$0, default: 0] }
        }
        _ = try calls(0..<30)
        let (few, many) = (try calls(30..<60), try calls(60..<130))
        #expect(zip(many, few).map { $0.0 - $0.1 } == [40, 0, 0, 40])
        #expect(try server.list().count == 130)
    }

    @Test("of too many values, too deep or too large is refused")
    func bounds() throws {
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        for body in ["{\"operations\":[\(deep)]}", "[]", "{}", "{\"operations\":5}", "{\"operations\":[5]}"] {
            let answer = try server.request(
                "POST", "/api/vault/batch/vault001", headers: TestServer.writer, body: Array(body.utf8))
            #expect(answer.status == (body == "{}" ? 400 : 500), "\(body)")
        }
        let connection = try server.connect()
        try connection.send(
            "POST /api/vault/batch/vault001 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{")
        #expect(try connection.answer().status == 413)
        // A refusal reaches also a client that sends its whole body first.
        let refused = try server.request(
            "PUT", "/api/vault/write/vault001/bare/x", headers: [TestServer.writer[1]],
            body: [UInt8](repeating: 1, count: 8 << 20))
        #expect(refused.status == 401)
    }

    @Test("reads only as much at once as the server's bounds allow")
    func largeReads() throws {
        let server = try TestServer { configuration, _ in configuration.limits.batchRead = 1000 }
        #expect(try server.put("bare/data/a", [UInt8](repeating: 1, count: 600)).status == 200)
        #expect(try server.put("bare/data/b", [UInt8](repeating: 1, count: 600)).status == 200)
        #expect(try server.put("bare/data/c", [UInt8](repeating: 1, count: 1001)).status == 200)
        // A client that meets 503 asks for less at once (04 §8.3).
        #expect(try server.batch("vault001", [Op.read("bare/data/a"), Op.read("bare/data/b")]).status == 503)
        #expect(try server.batch("vault001", [Op.read("bare/data/a")]).status == 200)
        #expect(try server.batch("vault001", [Op.read("bare/data/c")]).status == 503)
        #expect(try server.read("bare/data/c")?.count == 1001)
    }

    @Test("that also writes reads no more than others, and else does nothing")
    func mixedReads() throws {
        let server = try TestServer { configuration, _ in configuration.limits.batchRead = 1000 }
        #expect(try server.put("bare/data/a", [UInt8](repeating: 1, count: 600)).status == 200)
        let large = String(repeating: "x", count: 600)
        for reads in [
            [Op.read("bare/data/a"), Op.read("bare/data/a")],
            // What the batch itself wrote takes room in the answer as well.
            [Op.read("bare/data/a"), Op.write("bare/data/b", large), Op.read("bare/data/b")],
        ] {
            #expect(try server.batch("vault001", [Op.write("bare/data/new", "1")] + reads).status == 503)
        }
        #expect(try server.list() == ["bare/data/a"])
        let answer = try server.batch("vault001", [Op.read("bare/data/a"), Op.write("bare/data/new", "1")])
        #expect(statuses(answer) == ["ok", "ok"])
    }

    @Test("that also writes takes its answer's memory from what all requests share")
    func mixedMemory() throws {
        let server = try TestServer { configuration, _ in configuration.limits.memory = 100_000 }
        #expect(try server.put("bare/data/a", [UInt8](repeating: 1, count: 30_000)).status == 200)
        #expect(try server.batch("vault001", [Op.write("bare/x", "1"), Op.read("bare/data/a")]).status == 503)
        #expect(try server.list() == ["bare/data/a"])
    }

    /// A batch of reads, made larger by blanks.
    private func padded(_ count: Int) -> [UInt8] {
        let operations = JSONValue.array(Array(repeating: Op.read("bare/data/a"), count: 100))
        return JSONWriter.bytes(.record(["operations": operations]), .compact)
            + [UInt8](repeating: UInt8(ascii: " "), count: count)
    }

    @Test("from somebody who may not write is small, and takes no memory beyond that")
    func withoutToken() throws {
        let server = try TestServer { configuration, _ in configuration.limits.memory = 1 << 20 }
        let target = "/api/vault/batch/vault001"
        #expect(try server.request("POST", target, body: padded(0)).status == 200)
        #expect(try server.request("POST", target, body: padded(300_000)).status == 401)
        let wrong = [("x-sgraph-access-token", "wrong"), TestServer.writer[1]]
        #expect(try server.request("POST", target, headers: wrong, body: padded(600_000)).status == 401)
        // The same in pieces: no length is announced.
        let connection = try server.connect()
        try connection.send("POST \(target) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        let body = padded(600_000)
        try connection.send("\(String(body.count, radix: 16))\r\n")
        try connection.send(body)
        try connection.send("\r\n0\r\n\r\n")
        #expect(try connection.answer().status == 401)
        #expect(try server.request("POST", target, headers: TestServer.writer, body: padded(300_000)).status == 200)
    }
}
