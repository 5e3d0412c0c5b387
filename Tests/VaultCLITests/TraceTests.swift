import Testing
import VaultFormat
import VaultSystem

@testable import VaultCLI

@Suite("VAULTCTL_TRACE")
struct TraceTests {
    private static let token = "tok-Q9x7Lm3"

    private func lines(_ bytes: [UInt8]) throws -> [JSONValue] {
        try bytes.split(separator: UInt8(ascii: "\n")).filter { $0.first == UInt8(ascii: "{") }.map { line in
            let line = Array(line)
            return try JSONReader.parse(line.span)
        }
    }

    @Test func `tells steps, requests and times, to a file that nobody else can read`() async throws {
        let server = try WebServer()
        let tool = try Tool()
        tool.environment["VAULTCTL_TRACE"] = Array("trace".utf8)
        #expect(await tool.run("init", "-q", "a", "--server", server.url).code == 0)
        try tool.write([1], to: "a/one")
        #expect(await tool.run("-C", "a", "commit", "-q", "-m", "one").code == 0)
        tool.environment["VAULTCTL_TRACE"] = Array("../push-trace".utf8)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        let found = try lines(tool.read("push-trace"))
        #expect(found.first?["event"]?.text == "start" && found.first?["verb"]?.text == "push")
        #expect(found.last?["event"]?.text == "end" && found.last?["exit"] == .integer(0))
        let requests = found.filter { $0["event"]?.text == "request" }
        #expect(requests.count >= 2)
        for request in requests {
            #expect(request["url"]?.text?.hasPrefix(server.url) == true && request["status"] == .integer(200))
            #expect(request["ms"]?.int != nil && request["received"]?.int ?? 0 > 0)
        }
        #expect(try tool.mode("push-trace") == 0o600)
        // What is there is added to, and steps are told also of a quiet run.
        tool.environment["VAULTCTL_TRACE"] = Array("../trace".utf8)
        #expect(await tool.run("-C", "a", "fsck", "-q").code == 0)
        let steps = try lines(tool.read("trace")).filter { $0["event"]?.text == "step" }
        #expect(steps.last?["step"]?.text == "verify")
        let before = try lines(tool.read("trace")).count
        #expect(await tool.run("-C", "a", "push", "--server", "http://127.0.0.1:1").code == 7)
        let after = try lines(tool.read("trace"))
        #expect(after.count > before)
        #expect(after.contains { $0["event"]?.text == "request" && $0["failure"]?.text != nil })
        #expect(after.last?["exit"] == .integer(7))
    }

    @Test func `goes to standard error, and not into the result`() async throws {
        let tool = try Tool()
        tool.environment["VAULTCTL_TRACE"] = Array("2".utf8)
        let outcome = await tool.run("init", "a", "--json")
        #expect(try lines(Array(outcome.error.utf8)).count >= 2)
        #expect(outcome.text.split(separator: "\n").count == 1)
    }

    @Test(arguments: ["no-such-folder/trace", "a", "a/.sg_vault/local/trace"])
    func `that can not be written is told and changes nothing`(place: String) async throws {
        let tool = try Tool()
        #expect(await tool.run("init", "-q", "a").code == 0)
        tool.environment["VAULTCTL_TRACE"] = Array("../\(place)".utf8)
        let outcome = await tool.run("-C", "a", "status")
        #expect(outcome.code == 0)
        #expect(outcome.error.contains("warning: VAULTCTL_TRACE has no effect"))
    }

    @Test func `holds no secret`() async throws {
        let server = try WebServer("--token \(Self.token)")
        let tool = try Tool()
        let key = "sgit_private_vault_q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4"
        tool.environment["VAULTCTL_KEY"] = Array(key.utf8)
        tool.environment["VAULTCTL_TOKEN"] = Array(Self.token.utf8)
        tool.environment["VAULTCTL_TRACE"] = tool.directory.appending(component: "trace").bytes
        tool.environment["http_proxy"] = Array("http://user:Secret77@127.0.0.1:1".utf8)
        #expect(await tool.run("init", "-q", "a", "--server", server.url).code == 0)
        try tool.write(Array("content-of-a-file".utf8), to: "a/name-of-a-file")
        #expect(await tool.run("-C", "a", "commit", "-q", "-m", "words of a message").code == 0)
        for words in [
            ["push"], ["pull"], ["doctor", "--write-probe"], ["keys", "show", "."],
            ["keys", "derive", "--show-secrets"], ["keys", "token", "set"],
            ["push", "--token-file", "/no/\(Self.token)"], ["log", "words of a message"], ["cat", "name-of-a-file"],
            ["config", "set", "core.pager", key],
        ] {
            _ = await tool.run((["-C", "a"] + words).map { Array($0.utf8) })
        }
        let settings = ["server.allowCleartext", "http://vault.invalid"]
        _ = await tool.run((["-C", "a", "config", "set"] + settings).map { Array($0.utf8) })
        _ = await tool.run("-C", "a", "push", "--server", "http://vault.invalid/\(Self.token)")
        let trace = String(decoding: try tool.read("trace"), as: UTF8.self)
        let derived = await tool.run("-C", "a", "keys", "derive", "--show-secrets").text
        let keys = derived.split(separator: "\n").filter { $0.contains("_key: ") }.map { String($0.suffix(64)) }
        #expect(keys.count == 2)
        #expect(trace.contains("\"request\"") && trace.contains("vault.invalid"))
        for secret in keys + [
            "q3v9x0k2", Self.token, "Secret77", "content-of-a-file", "name-of-a-file", "words of a message",
        ] {
            #expect(!trace.contains(secret), "\(secret)")
        }
    }
}
