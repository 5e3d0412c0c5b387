import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// Who may do what (spec 04 §5, issue C).
@Suite("Access", .timeLimit(.minutes(1)))
struct AccessTests {
    @Test("without a token file nobody is asked for a token")
    func open() throws {
        let server = try TestServer { configuration, _ in configuration.tokens = nil }
        let headers = [("x-sgraph-vault-write-key", TestServer.writeKey)]
        #expect(
            try server.request("PUT", "/api/vault/write/vault001/bare/x", headers: headers, body: [1]).status == 200)
    }

    @Test("a file of tokens that is read again counts at once; one that is damaged changes nothing")
    func reload() throws {
        let server = try TestServer()
        #expect(try server.put("bare/x", [1]).status == 200)
        try TestServer.writeTokens(["other": "another"], to: server.folder)
        #expect(try server.put("bare/x", [2]).status == 200)
        server.server.reload()
        #expect(try server.put("bare/x", [3]).status == 401)
        let headers = [("x-sgraph-access-token", "another"), TestServer.writer[1]]
        #expect(
            try server.request("PUT", "/api/vault/write/vault001/bare/x", headers: headers, body: [4]).status == 200)
        try TestServer.write(Array("no token".utf8), "tokens", in: server.folder)
        server.server.reload()
        #expect(
            try server.request("PUT", "/api/vault/write/vault001/bare/x", headers: headers, body: [5]).status == 200)
        #expect(server.warnings.all.count == 1)
        #expect(try server.read("bare/x") == [5])
    }

    @Test(
        "a token file is names and hashes, nothing else",
        arguments: [
            "", "# nothing", "name", "name 00", "na/me " + String(repeating: "0", count: 64),
            "a \(String(repeating: "0", count: 64)) b", "a \(String(repeating: "g", count: 64))",
            "a \(String(repeating: "0", count: 64))\na \(String(repeating: "1", count: 64))",
        ])
    func malformedTokens(_ text: String) {
        #expect(throws: VaultError.self) { try TokenFile(Array(text.utf8)) }
    }

    @Test("a token file that others can write is refused")
    func exposedTokens() throws {
        let error = #expect(throws: VaultError.self) {
            try TestServer { _, folder in
                let directory = try folder.open()
                try directory.openFile(Array("tokens".utf8)).setMode(0o666)
            }
        }
        #expect(error?.code == .refused)
    }

    @Test("a new token is long, random, and known by its hash alone")
    func newToken() throws {
        let made = try TokenFile.make(name: "laptop", random: SeededRandom(seed: 1))
        #expect(made.token.utf8.count == 68)
        #expect(made.line.hasPrefix("laptop "))
        #expect(!made.line.contains(made.token))
        let file = try TokenFile(Array(made.line.utf8))
        #expect(try file.name(of: made.token) == "laptop")
        #expect(try file.name(of: made.token + "x") == nil)
        #expect(try file.name(of: "") == nil)
    }

    @Test("a file whose last token was taken back lets nobody in")
    func noToken() throws {
        let made = try TokenFile.make(name: "laptop", random: SeededRandom(seed: 1))
        for text in ["", "# none\n"] {
            let file = try TokenFile(Array(text.utf8), mayBeEmpty: true)
            #expect(try file.name(of: made.token) == nil)
            #expect(try file.name(of: "") == nil)
        }
        #expect(throws: VaultError.self) { try TokenFile(Array("name".utf8), mayBeEmpty: true) }
    }

    @Test("a read-only server writes nothing and makes nothing")
    func readOnly() throws {
        let server = try TestServer { configuration, _ in configuration.isReadOnly = true }
        for (method, target, body) in [
            ("PUT", "/api/vault/write/vault001/bare/x", [1] as [UInt8]),
            ("DELETE", "/api/vault/delete/vault001/bare/x", []),
            ("DELETE", "/api/vault/destroy/vault001", Array(#"{"vault_id":"vault001"}"#.utf8)),
            ("POST", "/api/vault/presigned/initiate/vault001", Array("{}".utf8)),
        ] {
            let answer = try server.request(method, target, headers: TestServer.writer, body: body)
            #expect(answer.status == 403)
            #expect(answer.detail == "This server is read-only")
        }
        #expect(try server.batch("vault001", [Op.write("bare/x", "1")]).status == 403)
        #expect(try server.batch("vault001", [Op.read("bare/x")]).status == 200)
        #expect(try LinuxFileSystem().openDirectory(server.root).entries().isEmpty)
    }

    @Test("other machines are served with TLS and tokens only")
    func binding() throws {
        for change: @Sendable (inout ServerConfiguration) -> Void in [
            { $0.address = "0.0.0.0" }, { $0.address = "::" }, { $0.address = "192.0.2.1" },
            {
                $0.address = "0.0.0.0"; $0.tokens = nil; $0.certificate = "/c"; $0.privateKey = "/k"
            },
        ] {
            let error = #expect(throws: VaultError.self) {
                try TestServer { configuration, _ in change(&configuration) }
            }
            #expect(error?.code == .refused)
        }
        for change: @Sendable (inout ServerConfiguration) -> Void in [
            { $0.address = "localhost" }, { $0.address = "" }, { $0.root = nil }, { $0.certificate = "/c" },
        ] {
            let error = #expect(throws: VaultError.self) {
                try TestServer { configuration, _ in change(&configuration) }
            }
            #expect(error?.code == .usage)
        }
    }

    @Test("a port in use, and a certificate that is none, are told")
    func starting() throws {
        let server = try TestServer()
        let port = server.server.port
        let taken = #expect(throws: VaultError.self) {
            try TestServer { configuration, _ in configuration.port = port }
        }
        #expect(taken?.code == .ioError)
        let refused = #expect(throws: VaultError.self) {
            try TestServer { configuration, folder in
                try TestServer.write(Array("no certificate".utf8), "cert", in: folder)
                configuration.certificate = folder.appending("cert")
                configuration.privateKey = folder.appending("cert")
            }
        }
        #expect(refused?.code == .usage)
    }

    @Test("the log tells of an answer that the client broke off what it took of it")
    func brokenOff() throws {
        let server = try TestServer { configuration, folder in configuration.accessLog = folder.appending("log") }
        let size = 32 << 20
        #expect(try server.put("bare/data/x", [UInt8](repeating: 1, count: size)).status == 200)
        do {
            let connection = try server.connect()
            try connection.send("GET /api/vault/read/vault001/bare/data/x HTTP/1.1\r\nHost: x\r\n\r\n")
            try connection.awaitAnswer()
        }
        var lines: [JSONValue] = []
        for _ in 0..<500 where lines.count < 2 {
            SystemClock().sleep(milliseconds: 10)
            let text = try LinuxFileSystem().readFile(server.folder.appending("log"), limit: 1 << 20)
            lines = try text.split(separator: UInt8(ascii: "\n")).map { line in
                let bytes = Array(line)
                return try JSONReader.parse(bytes.span)
            }
        }
        let told = try #require(lines.last)
        #expect(told["complete"] == .bool(false))
        let sent = try #require(told["sent"]?.int)
        #expect(sent > 0 && sent < Int64(size))
    }

    @Test("the log tells who did what, and no secret")
    func log() throws {
        let server = try TestServer { configuration, folder in configuration.accessLog = folder.appending("log") }
        // The lines of one connection stand in the order of its requests.
        let connection = try server.connect()
        let put = "/api/vault/write/vault001/bare/data/x"
        #expect(
            try connection.request("PUT", put, headers: TestServer.writer, body: Array("content".utf8)).status == 200)
        #expect(try connection.request("GET", "/api/vault/list/vault001?prefix=bare&secret=hidden").status == 200)
        let bad = [("x-sgraph-access-token", "wrong-token"), TestServer.writer[1]]
        #expect(try connection.request("PUT", put, headers: bad, body: [1]).status == 401)
        let url = try connection.request("GET", "/api/vault/presigned/read-url/vault001/bare/data/x").json?["url"]?.text
        let target = String(try #require(url).dropFirst("http://127.0.0.1".count))
        #expect(try connection.request("GET", target).body == Array("content".utf8))
        // A line is written after the answer has gone.
        let read = {
            String(
                decoding: try LinuxFileSystem().readFile(server.folder.appending("log"), limit: 1 << 20), as: UTF8.self)
        }
        var rounds = 0
        while try read().split(separator: "\n").count < 5, rounds < 500 {
            SystemClock().sleep(milliseconds: 10)
            rounds += 1
        }
        let text = try read()
        let lines = try text.split(separator: "\n").map { line in
            let bytes = Array(line.utf8)
            return try JSONReader.parse(bytes.span)
        }
        #expect(lines.map { $0["status"]?.int } == [200, 200, 401, 200, 200])
        #expect(lines[0]["token"]?.text == "test")
        #expect(lines[0]["received"]?.int == 7)
        #expect(lines[0]["client"]?.text == "127.0.0.1")
        #expect(lines[2]["token"]?.isNull == true)
        #expect(lines[4]["path"]?.text == "/transfer/file/vault001/bare/data/x")
        for secret in [TestServer.token, TestServer.writeKey, "wrong-token", "signature", "hidden", "content"] {
            #expect(!text.contains(secret))
        }
        // Log rotation moves the file away.
        let folder = try server.folder.open()
        try folder.rename(Array("log".utf8), to: folder, as: Array("log.1".utf8), replacing: true)
        server.server.reload()
        #expect(try server.request("GET", "/info/health").status == 200)
        while try read().isEmpty, rounds < 500 {
            SystemClock().sleep(milliseconds: 10)
            rounds += 1
        }
        #expect(try read().contains("/info/health"))
    }
}
