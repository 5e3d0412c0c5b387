import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// Many clients at once: nothing is lost and nobody waits for ever.
///
/// The long form is interop/load_server.py.
@Suite("Many clients at once", .timeLimit(.minutes(2)))
struct ConcurrencyTests {
    @Test("lose no update: every compare-and-swap that was confirmed is in the chain")
    func noLostUpdate() throws {
        let server = try TestServer()
        let port = server.server.port
        let ref = "bare/refs/ref-pid-muw-000000000001"
        #expect(try server.batch("vault001", [Op.swap(ref, "0", match: nil)]).status == 200)
        let confirmed = Locked(0)
        try WorkerPool(threads: 24).forEach(count: 24) { client in
            let connection = try TestConnection(port: port)
            for round in 0..<6 {
                if client % 3 == 0 {
                    let answer = try connection.request("GET", "/api/vault/read/vault001/" + ref)
                    #expect(answer.status == 200)
                    continue
                }
                let held = try connection.request("GET", "/api/vault/read/vault001/" + ref).text
                let number = try #require(Int(held))
                let operations: [JSONValue] = [
                    Op.write("bare/data/c\(client)r\(round)", held),
                    Op.swap(ref, String(number + 1), match: held),
                ]
                let answer = try connection.request(
                    "POST", "/api/vault/batch/vault001", headers: TestServer.writer,
                    body: JSONWriter.bytes(.record(["operations": .array(operations)]), .compact))
                #expect(answer.status == 200)
                if answer.json?["results"]?.items?.last?["status"]?.text == "ok" {
                    confirmed.withLock { $0 += 1 }
                }
            }
        }
        let total = confirmed.withLock { $0 }
        #expect(total > 0)
        #expect(try server.read(ref) == Array(String(total).utf8))
        // The objects of a batch that lost are not there.
        #expect(try server.list().count == total + 1)
    }

    @Test("with one vault that is locked by another program, others are served")
    func lockedVault() throws {
        let server = try TestServer { configuration, _ in configuration.limits.workers = 2 }
        #expect(try server.put("bare/x", [1], vault: "vault001").status == 200)
        let own = try #require(
            try server.folder.open().openDirectory(path: ["root", "vault001", ".vaultctl"].map { Array($0.utf8) }))
        let lock = try own.openForAppending(Array("lock".utf8), mode: 0o600)
        #expect(try lock.lock(wait: false))
        let waiting = try (0..<6).map { _ in
            let connection = try server.connect()
            let lines = TestServer.writer.map { "\($0.0): \($0.1)\r\n" }.joined()
            try connection.send(
                "PUT /api/vault/write/vault001/bare/x HTTP/1.1\r\nHost: x\r\n\(lines)Content-Length: 1\r\n\r\n2")
            return connection
        }
        #expect(try server.put("bare/x", [3], vault: "vault002").status == 200)
        #expect(try server.read("bare/x", vault: "vault001") == [1])
        try lock.unlock()
        for connection in waiting { #expect(try connection.answer().status == 200) }
        #expect(try server.read("bare/x", vault: "vault001") == Array("2".utf8))
    }

    @Test("are all answered before a stop, and none after it")
    func stop() throws {
        var server: TestServer? = try TestServer()
        let port = try #require(server?.server.port)
        let connection = try TestConnection(port: port)
        let lines = TestServer.writer.map { "\($0.0): \($0.1)\r\n" }.joined()
        try connection.send(
            "PUT /api/vault/write/vault001/bare/x HTTP/1.1\r\nHost: x\r\n\(lines)Content-Length: 4\r\n\r\nab")
        let sent = Locked(false)
        let thread = try BackgroundThread {
            SystemClock().sleep(milliseconds: 300)
            try? connection.send("cd")
            sent.withLock { $0 = true }
        }
        while server?.server.load.requests == 0 { SystemClock().sleep(milliseconds: 5) }
        server = nil
        thread.join()
        #expect(sent.withLock { $0 })
        let answer = try connection.answer()
        #expect(answer.status == 200)
        #expect(answer.headers["connection"]?.lowercased() == "close")
        #expect(throws: TestConnection.Broken.self) { try TestConnection(port: port) }
    }
}
