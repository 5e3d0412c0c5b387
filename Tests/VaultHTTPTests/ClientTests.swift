import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

@Suite("The client")
struct ClientTests {
    private func url(_ server: StandIn, _ path: String) throws -> WebURL {
        try #require(WebURL(server.url)).appending(path)
    }

    private func client(
        stallMs: Int64 = 20_000, check: @escaping @Sendable () throws -> Void = {}
    ) -> HTTPClient {
        var options = HTTPClient.Options()
        options.stallMs = stallMs
        return HTTPClient(options, check: check)
    }

    @Test(.timeLimit(.minutes(1))) func `sends many requests side by side and keeps connections`() async throws {
        let server = try StandIn()
        let client = client()
        let request = HTTPRequest(method: .get, url: try url(server, "/info/health"))
        let reused = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let response = try await client.send(request)
                    #expect(response.status == 200)
                    return response.isReused
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(reused >= 80)
        #expect(client.requests == 100)
    }

    @Test(.timeLimit(.minutes(1))) func `ends a transfer in which nothing moves`() async throws {
        let server = try StandIn()
        try await server.fault(["match": .string("/info"), "status": .string("stall"), "seconds": .integer(30)])
        let failure = await #expect(throws: HTTPFailure.self) {
            try await client(stallMs: 300).send(HTTPRequest(method: .get, url: try url(server, "/info/health")))
        }
        #expect(failure?.kind == .stalled)
    }

    @Test(.timeLimit(.minutes(1))) func `ends at once when its task is cancelled`() async throws {
        let server = try StandIn()
        try await server.fault(["match": .string("/info"), "status": .string("stall"), "seconds": .integer(30)])
        let client = client()
        let request = HTTPRequest(method: .get, url: try url(server, "/info/health"))
        let task = Task { try await client.send(request) }
        try await Task.sleep(for: .milliseconds(200))
        let before = SystemClock().monotonicNs
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(SystemClock().monotonicNs - before < 2_000_000_000)
    }

    @Test(.timeLimit(.minutes(1))) func `ends soon after the process wants to stop`() async throws {
        struct Stop: Error, Equatable {}
        let server = try StandIn()
        try await server.fault(["match": .string("/info"), "status": .string("stall"), "seconds": .integer(30)])
        let stops = Locked(false)
        let client = client { if stops.withLock({ $0 }) { throw Stop() } }
        let request = HTTPRequest(method: .get, url: try url(server, "/info/health"))
        let task = Task { try await client.send(request) }
        try await Task.sleep(for: .milliseconds(200))
        stops.withLock { $0 = true }
        await #expect(throws: Stop()) { try await task.value }
    }

    @Test func `does not follow redirects`() async throws {
        let server = try StandIn()
        try await server.fault([
            "match": .string("/info"), "status": .integer(302),
            "headers": .record(["Location": .string("\(server.url)/elsewhere")]),
        ])
        let response = try await client().send(HTTPRequest(method: .get, url: try url(server, "/info/health")))
        #expect(response.status == 302)
        #expect(try await server.log().map(\.line) == ["GET /info/health"])
    }

    @Test func `takes no more of an answer than it was told`() async throws {
        let server = try StandIn()
        try await server.fault([
            "match": .string("/info"), "status": .integer(200), "body": .string(String(repeating: "x", count: 5000)),
        ])
        var request = HTTPRequest(method: .get, url: try url(server, "/info/health"))
        request.answerLimit = 4999
        let limited = request
        let failure = await #expect(throws: HTTPFailure.self) { try await client().send(limited) }
        #expect(failure?.kind == .tooLarge)
    }

    @Test func `takes no endless head`() async throws {
        let server = try StandIn()
        let headers = (0..<150).map { JSONMember(name: "X-\($0)", value: .string(String(repeating: "y", count: 1000))) }
        try await server.fault(["match": .string("/info"), "status": .integer(200), "headers": .object(headers)])
        let failure = await #expect(throws: HTTPFailure.self) {
            try await client().send(HTTPRequest(method: .get, url: try url(server, "/info/health")))
        }
        #expect(failure?.kind == .garbled)
    }

    @Test func `tells an answer that ends early from a whole one`() async throws {
        let server = try StandIn()
        try await server.fault(["match": .string("/info"), "status": .string("truncate"), "when": .string("after")])
        let failure = await #expect(throws: HTTPFailure.self) {
            try await client().send(HTTPRequest(method: .get, url: try url(server, "/info/health")))
        }
        #expect(failure?.kind == .garbled)
    }

    @Test func `tells a server that is not there`() async throws {
        let address = try #require(WebURL("http://127.0.0.1:1/"))
        let failure = await #expect(throws: HTTPFailure.self) {
            try await client().send(HTTPRequest(method: .get, url: address))
        }
        #expect(failure?.kind == .unconnected)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "http://user:Secret77@127.0.0.1:1", "socks5://user:Secret77@127.0.0.1:1", "ftp://user:Secret77@127.0.0.1:1",
            "http://user:Secret77@proxy.invalid:1", "http://user:Secret77@h:99999", "https://user:Secret77@127.0.0.1:1",
        ])
    func `never tells the password of a proxy`(proxy: String) async throws {
        let lines = Locked<[String]>([])
        var options = HTTPClient.Options()
        options.proxies = ProxyRules { $0 == "http_proxy" ? proxy : nil }
        options.trace = { request in lines.withLock { $0.append(request.line) } }
        let client = HTTPClient(options)
        let address = try #require(WebURL("http://vault.invalid/"))
        let failure = await #expect(throws: HTTPFailure.self) {
            try await client.send(HTTPRequest(method: .get, url: address))
        }
        let told = (failure?.message ?? "") + lines.withLock { $0.joined() }
        #expect(!told.isEmpty && !told.contains("Secret77"), "\(told)")
    }

    @Test func `trusts no certificate that it was not told to trust`() async throws {
        let folder = try TemporaryFolder("tls")
        let (certificate, key) = (folder.appending("cert.pem").text, folder.appending("key.pem").text)
        try Shell.run(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout '\(key)' "
                + "-out '\(certificate)' -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null")
        let server = try StandIn("--tls-cert '\(certificate)'", "--tls-key '\(key)'")
        let request = HTTPRequest(method: .get, url: try url(server, "/info/health"))
        let failure = await #expect(throws: HTTPFailure.self) { try await client().send(request) }
        #expect(failure?.kind == .tls)
        var options = HTTPClient.Options()
        options.certificateFile = certificate
        #expect(try await HTTPClient(options).send(request).status == 200)
        options = HTTPClient.Options()
        options.verifiesTLS = false
        #expect(try await HTTPClient(options).send(request).status == 200)
    }

    @Test func `streams a body as slowly as it is taken`() async throws {
        let server = try StandIn()
        let id = try VaultID("abcd1234")
        let file = FileID.object(try ObjectID("obj-cas-imm-0123456789ab"))
        let content = (0..<6_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await server.plant(id, file, content)
        var taken: [UInt8] = []
        let request = HTTPRequest(
            method: .get, url: try url(server, "/api/vault/read/\(id.text)/\(WebURL.segment(file.path))"))
        let response = try await client().stream(request) { chunk in
            taken += chunk
            if taken.count < 3_000_000 { SystemClock().sleep(milliseconds: 5) }
        }
        #expect(response.status == 200)
        #expect(taken == content)
    }
}
