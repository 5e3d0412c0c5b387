import Testing
import VaultFormat
import VaultSystem

@testable import VaultServer

/// Requests that no honest client sends.
@Suite("Hostile requests", .timeLimit(.minutes(1)))
struct HostileRequestTests {
    @Test(
        "to odd targets are refused and harm nobody",
        arguments: [
            ("/api/vault/read/vault001/%", 400), ("/api/vault/read/vault001/%zz", 400),
            ("/api/vault/read/vault001/bare%00x", 400), ("/api/vault/read/vault001/%ff%fe", 400),
            ("/" + String(repeating: "x", count: 5000), 400), ("/../../etc/passwd", 404), ("//", 404),
            ("/api/vault/read/../../etc", 400), ("/api", 404), ("/api/vault", 404), ("/api/vault/", 404),
            ("/api/vault/read", 404), ("/api/vault/read/", 404), ("/api/vault/list/vault001/x", 404),
            ("/api/vault/presigned/initiate", 404), ("/api/vault/presigned/x/vault001", 404),
            ("/transfer/file/vault001/bare/x", 403), ("/transfer/part/vault001/x/0", 404), ("/transfer", 404),
            ("/api/vault/list/vault001?prefix=../../", 200), ("/api/vault/list/vault001?prefix=%2e%2e", 200),
            ("/api/vault/list/vault001?prefix=bare/../..", 200),
        ])
    func targets(_ target: String, _ status: Int) throws {
        let server = try TestServer()
        #expect(try server.put("bare/x", [1]).status == 200)
        let answer = try server.request("GET", target)
        #expect(answer.status == status)
        if status == 200 { #expect(answer.json?["files"]?.items?.isEmpty == true) }
        #expect(try server.read("bare/x") == [1])
    }

    @Test("with two lengths are refused")
    func smuggling() throws {
        let server = try TestServer()
        for lengths in [
            "Content-Length: 1\r\nTransfer-Encoding: chunked", "Content-Length: 1\r\nContent-Length: 2",
            "Content-Length: -1", "Content-Length: 1x",
        ] {
            let connection = try server.connect()
            try connection.send("PUT /api/vault/write/vault001/bare/x HTTP/1.1\r\nHost: x\r\n\(lengths)\r\n\r\n1")
            do {
                #expect(try connection.answer().status == 400)
            } catch is TestConnection.Broken {
                // The library itself may end the connection without a word.
            }
        }
        #expect(try server.list() == [])
    }

    @Test("in pieces are bounded like others")
    func chunked() throws {
        let server = try TestServer { configuration, _ in
            configuration.limits.jsonBody = 1000
            configuration.limits.fileBytes = 200_000
        }
        let piece = String(repeating: "x", count: 500)
        func chunks(_ count: Int) -> String {
            String(repeating: "1f4\r\n\(piece)\r\n", count: count) + "0\r\n\r\n"
        }
        let headers = TestServer.writer.map { "\($0.0): \($0.1)\r\n" }.joined()
        for (target, count, status) in [
            ("POST /api/vault/batch/vault001", 4, 413), ("PUT /api/vault/write/vault001/bare/x", 500, 413),
            ("PUT /api/vault/write/vault001/bare/y", 4, 200), ("GET /api/vault/read/vault001/bare/y", 200, 413),
        ] {
            let connection = try server.connect()
            try connection.send("\(target) HTTP/1.1\r\nHost: x\r\n\(headers)Transfer-Encoding: chunked\r\n\r\n")
            try connection.send(chunks(count))
            #expect(try connection.answer().status == status, "\(target)")
        }
        #expect(try server.list() == ["bare/y"])
        #expect(try server.read("bare/y")?.count == 2000)
    }

    @Test("that take more memory together than there is are put off")
    func memory() throws {
        let server = try TestServer { configuration, _ in configuration.limits.memory = 100_000 }
        let answer = try server.request(
            "POST", "/api/vault/batch/vault001", headers: TestServer.writer,
            body: [UInt8](repeating: 0x20, count: 200_000))
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] == "1")
        #expect(try server.batch("vault001", [Op.write("bare/x", "1")]).status == 200)
    }

    @Test("whose answers are not read keep the memory that these take, until they have gone")
    func unreadAnswer() throws {
        let server = try TestServer { configuration, _ in configuration.limits.memory = 40 << 20 }
        #expect(try server.put("bare/data/a", [UInt8](repeating: 1, count: 8 << 20)).status == 200)
        let body = JSONWriter.bytes(.record(["operations": .array([Op.read("bare/data/a")])]), .compact)
        let target = "/api/vault/batch/vault001"
        let slow = try server.connect()
        try slow.send("POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n")
        try slow.send(body)
        try slow.awaitAnswer()
        #expect(try server.request("POST", target, body: body).status == 503)
        #expect(try slow.answer().status == 200)
        var status = 0
        for _ in 0..<50 where status != 200 {
            SystemClock().sleep(milliseconds: 20)
            status = try server.request("POST", target, body: body).status
        }
        #expect(status == 200)
    }

    @Test("that never end do not keep their connection")
    func slow() throws {
        let server = try TestServer { configuration, _ in configuration.limits.idleSeconds = 1 }
        let head = try server.connect(patience: 10)
        try head.send("GET /info/hea")
        let body = try server.connect(patience: 10)
        try body.send("POST /api/vault/batch/vault001 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        let clock = SystemClock()
        // A byte now and then keeps no connection alive.
        for _ in 0..<8 {
            clock.sleep(milliseconds: 400)
            try? head.send("x")
            try? body.send(" ")
            server.server.tick()
        }
        #expect(head.isClosed)
        #expect(body.isClosed)
        #expect(try server.request("GET", "/info/health").status == 200)
    }

    @Test("by many connections at once leave room for others")
    func connections() throws {
        let server = try TestServer { configuration, _ in
            configuration.limits.connections = 64
            configuration.limits.connectionsPerClient = 20
            configuration.limits.idleSeconds = 1
        }
        let idle = (0..<30).compactMap { _ in try? server.connect(patience: 1) }
        #expect(server.server.load.connections <= 20)
        withExtendedLifetime(idle) {}
        var status = 0
        for _ in 0..<50 where status != 200 {
            server.server.tick()
            SystemClock().sleep(milliseconds: 100)
            status = (try? server.request("GET", "/info/health").status) ?? 0
        }
        #expect(status == 200)
    }
}
