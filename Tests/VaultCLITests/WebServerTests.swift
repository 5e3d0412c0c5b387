import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("A server over HTTP")
struct WebServerTests {
    private static let token = "tok-Q9x7Lm3"

    private func vault(_ tool: Tool, _ server: WebServer) async throws {
        #expect(await tool.run("init", "-q", "a", "--key-out", "a.key", "--server", server.url).code == 0)
        try tool.write([1], to: "a/one.txt")
        #expect(await tool.run("-C", "a", "commit", "-q", "-m", "one").code == 0)
        try tool.write(Array("\(Self.token)\n".utf8), to: "token", mode: 0o600)
    }

    @Test func `takes what is pushed and gives it to clones`() async throws {
        let server = try WebServer()
        let tool = try Tool()
        try await vault(tool, server)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        let id = await tool.run("-C", "a", "info", "--json").output
        let document = try JSONReader.parse(id.span)
        let name = document["vault_id"]?.text ?? ""
        let clone = await tool.run("clone", "-q", "--server", server.url, "--key-file", "a.key", name, "b")
        #expect(clone.code == 0, "\(clone.error)")
        #expect(try tool.read("b/one.txt") == [1])
        try tool.write([2], to: "b/two.txt")
        #expect(await tool.run("-C", "b", "commit", "-q", "-m", "two").code == 0)
        #expect(await tool.run("-C", "b", "push", "-q").code == 0)
        #expect(await tool.run("-C", "a", "pull", "-q").code == 0)
        #expect(try tool.read("a/two.txt") == [2])
        let trace = await tool.run("-C", "a", "pull", "-vv")
        #expect(trace.error.contains("note: POST \(server.url)/api/vault/batch/\(name) 200"))
    }

    @Test func `gets a token from each source, which is kept only where that was asked for and after it worked`()
        async throws
    {
        let server = try WebServer("--token \(Self.token)")
        let tool = try Tool()
        try await vault(tool, server)
        let without = await tool.run("-C", "a", "push", "--json")
        #expect(without.code == 6 && without.text.contains("token_missing"))
        tool.environment["VAULTCTL_TOKEN"] = Array("wrong".utf8)
        let wrong = await tool.run("-C", "a", "push", "--save", "--json")
        #expect(wrong.code == 6 && wrong.text.contains("token_refused"))
        #expect(throws: Errno.noSuchFile) { try tool.read("a/.sg_vault/local/token") }

        tool.environment["VAULTCTL_TOKEN"] = Array(Self.token.utf8)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        #expect(throws: Errno.noSuchFile) { try tool.read("a/.sg_vault/local/token") }
        tool.environment["VAULTCTL_TOKEN"] = nil
        func push(_ number: UInt8, _ words: String...) async throws -> Int32 {
            try tool.write([number], to: "a/more.txt")
            _ = await tool.run("-C", "a", "commit", "-q", "-m", "more")
            let outcome = await tool.run((["-C", "a", "push", "-vv"] + words).map { Array($0.utf8) })
            #expect(!(outcome.text + outcome.error).contains(Self.token))
            return outcome.code
        }
        tool.input.descriptors[7] = Array("\(Self.token)\n".utf8)
        #expect(try await push(1, "--token-fd", "7") == 0)
        tool.environment["VAULTCTL_TOKEN_FILE"] = Array("../token".utf8)
        #expect(try await push(2) == 0)
        tool.environment["VAULTCTL_TOKEN_FILE"] = nil
        #expect(try await push(3) == 6)
        #expect(try await push(4, "--token-file", "../token", "--save") == 0)
        #expect(try tool.read("a/.sg_vault/local/token") == Array(Self.token.utf8))
        #expect(try tool.mode("a/.sg_vault/local/token") == 0o600)
        #expect(try await push(5) == 0)
        #expect(try await push(6, "--save") == 2)
    }

    @Test func `a token that no request needed is not kept, since nothing shows that it works`() async throws {
        let server = try WebServer("--token \(Self.token)")
        let tool = try Tool()
        try await vault(tool, server)
        tool.environment["VAULTCTL_TOKEN"] = Array(Self.token.utf8)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        tool.environment["VAULTCTL_TOKEN"] = Array("wrong-and-never-used".utf8)
        for words in [["pull"], ["push"], ["fetch"], ["status", "--fetch"]] {
            let outcome = await tool.run((["-C", "a"] + words + ["--save"]).map { Array($0.utf8) })
            guard outcome.code != 2 else { continue }
            #expect(outcome.code == 0, "\(words): \(outcome.error)")
            #expect(outcome.error.contains("token not saved"))
            #expect(throws: Errno.noSuchFile) { try tool.read("a/.sg_vault/local/token") }
        }
        tool.environment["VAULTCTL_TOKEN"] = Array(Self.token.utf8)
        #expect(await tool.run("-C", "a", "doctor", "-q", "--write-probe", "--save").code == 0)
        #expect(try tool.read("a/.sg_vault/local/token") == Array(Self.token.utf8))
    }

    @Test(arguments: [[], ["--json"]]) func `repeats no secret to whom doctor tells what it said`(
        words: [String]
    ) async throws {
        let server = try WebServer()
        let tool = try Tool()
        try await vault(tool, server)
        tool.environment["VAULTCTL_TOKEN"] = Array(Self.token.utf8)
        for (match, status) in [("/info/health", 500), ("/api/vault/health", 503)] {
            try server.fault(match, status: status, detail: "the token \(Self.token) is not for you")
            let outcome = await tool.run((["-C", "a", "doctor"] + words).map { Array($0.utf8) })
            #expect(outcome.code == 7)
            #expect(outcome.text.contains("the token <redacted> is not for you"))
            #expect(!(outcome.text + outcome.error).contains(Self.token))
        }
    }

    @Test func `never gets the token of another server`() async throws {
        let server = try WebServer("--token \(Self.token)")
        let other = try WebServer("--token \(Self.token)")
        let tool = try Tool()
        try await vault(tool, server)
        #expect(await tool.run("-C", "a", "push", "-q", "--token-file", "../token", "--save").code == 0)
        #expect(await tool.run("-C", "a", "push", "--server", other.url).code == 6)
        // Kept for the user, by origin, where the clone records another server.
        let saved = await tool.run("-C", "a", "push", "--server", other.url, "--token-file", "../token", "--save")
        #expect(saved.code == 0)
        #expect(try tool.mode("home/.local/share/vaultctl/tokens.json") == 0o600)
        try tool.write([9], to: "a/nine.txt")
        _ = await tool.run("-C", "a", "commit", "-q", "-m", "nine")
        #expect(await tool.run("-C", "a", "push", "--server", other.url).code == 0)
    }

    @Test func `is not asked where that is forbidden or means nothing`() async throws {
        let tool = try Tool()
        let key = "sgit_private_vault_q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4"
        tool.environment["VAULTCTL_KEY"] = Array(key.utf8)
        for (words, code) in [
            (["--server", "http://example.org"], Int32(6)), (["--server", "http://10.1.2.3"], 6),
            (["--server", "http://127.0.0.1:1", "--timeout", "-1"], 2),
            (["--server", "http://127.0.0.1:1", "--max-wait", "soon"], 2),
            (["--server", "http://127.0.0.1:1", "--offline"], 7), (["--server", "http://127.0.0.1:1"], 7),
        ] {
            let outcome = await tool.run((["clone", "k7m2p9x4", "x"] + words).map { Array($0.utf8) })
            #expect(outcome.code == code, "\(words): \(outcome.error)")
        }
    }
}

extension WebServerTests {
    @Test func `says in JSON what the server answered, and when to come back`() async throws {
        let server = try WebServer()
        let tool = try Tool()
        try await vault(tool, server)
        func error(_ words: String...) async throws -> JSONValue? {
            let outcome = await tool.run((["-C", "a", "push", "--json"] + words).map { Array($0.utf8) })
            let bytes = outcome.output
            return try JSONReader.parse(bytes.span)["error"]
        }
        for status in [401, 403, 500, 302] {
            try server.fault("/api/", status: status, detail: "no")
            #expect(try await error()?["http_status"] == .integer(Int64(status)))
        }
        let now = tool.clock.nowMs
        try server.fault("/api/", status: 503, detail: "no", headers: "{\"Retry-After\":\"3600\"}")
        for isFirst in [true, false] {
            let put = try await error()
            #expect(put?["code"]?.text == "deferred")
            #expect(put?["http_status"] == (isFirst ? .integer(503) : .null))
            #expect(put?["not_before_ms"]?.int ?? 0 >= now + 3_600_000)
            #expect(put?["retry_after_ms"]?.int ?? 0 > 3_500_000)
        }
        let unreached = try await error("--server", "http://127.0.0.1:1")
        #expect(unreached?["code"]?.text == "unreachable" && unreached?["http_status"] == .null)
        #expect(unreached?["not_before_ms"] == .null && unreached?["retry_after_ms"] == .null)
    }

    @Test func `is no reason for doctor to leave the clone unlooked at`() async throws {
        let tool = try Tool()
        // Over HTTP the fixed clock of the test would be a warning of its own.
        #expect(await tool.run("init", "-q", "a", "--server", "./remote").code == 0)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        #expect(try await doctor(tool, "--strict").code == 0)
        let pem = try Shell.run("cd '\(tool.directory.text)/a/.sg_vault/local' && ls *.pem")
        let signing = "a/.sg_vault/local/" + String(decoding: pem.dropLast(), as: UTF8.self)
        try Shell.run("cd '\(tool.directory.text)' && chmod 644 a/.sg_vault/local/vault_key '\(signing)'")
        var found = try await doctor(tool)
        #expect(found.code == 0 && found.statuses["file_modes"] == "warn")
        #expect(try await doctor(tool, "--strict").code == 10)
        found = try await doctor(tool, "--fix", "--strict")
        #expect(found.code == 0 && found.statuses["file_modes"] == "pass")
        #expect(try tool.mode("a/.sg_vault/local/vault_key") == 0o600)
        #expect(try tool.mode(signing) == 0o600)
        #expect(found.statuses["lock"] == "pass" && found.statuses["file_names"] == "pass")
        let folder = try LinuxFileSystem().openDirectory(tool.directory.appending("a/.sg_vault/local/vaultctl"))
        #expect(try folder.entries().allSatisfy { !$0.name.starts(with: Array("doctor".utf8)) })
        let lock = try folder.openFile(Array("lock".utf8))
        #expect(try lock.lock(wait: false))
        found = try await doctor(tool, "--strict")
        #expect(found.code == 10 && found.statuses["lock"] == "warn")
        // A server that fails counts for more than a warning.
        #expect(try await doctor(tool, "--strict", "--server", "http://127.0.0.1:1").code == 7)
    }

    /// The statuses that `doctor` tells, by the names of its checks.
    private func doctor(_ tool: Tool, _ words: String...) async throws -> (code: Int32, statuses: [String: String]) {
        let outcome = await tool.run((["-C", "a", "doctor", "--json"] + words).map { Array($0.utf8) })
        let bytes = outcome.output
        let document = try JSONReader.parse(bytes.span)
        let rows = (document["checks"]?.items ?? []).map { ($0["name"]?.text ?? "", $0["status"]?.text ?? "") }
        return (outcome.code, Dictionary(rows) { first, _ in first })
    }

    @Test func `is looked at step by step by doctor`() async throws {
        let server = try WebServer("--token tok-Q9x7Lm3")
        let tool = try Tool()
        #expect(await tool.run("init", "-q", "a", "--server", server.url).code == 0)
        var found = try await doctor(tool, "--write-probe")
        #expect(found.code == 0)
        #expect(found.statuses["api_info"] == "pass" && found.statuses["vault_known"] == "warn")
        #expect(found.statuses["token_verify"] == "skip" && found.statuses["write_probe"] == "skip")
        tool.environment["VAULTCTL_TOKEN"] = Array("tok-Q9x7Lm3".utf8)
        #expect(await tool.run("-C", "a", "push", "-q").code == 0)
        tool.environment["VAULTCTL_TOKEN"] = Array("another".utf8)
        found = try await doctor(tool, "--write-probe")
        #expect(found.code == 7)
        #expect(found.statuses["token_verify"] == "fail" && found.statuses["write_probe"] == "skip")
        tool.environment["VAULTCTL_TOKEN"] = Array("tok-Q9x7Lm3".utf8)
        found = try await doctor(tool, "--write-probe")
        #expect(found.code == 0)
        for name in [
            "parse_url", "dns_resolve", "tcp_reachable", "api_info", "vault_known", "token_verify", "write_probe",
        ] {
            #expect(found.statuses[name] == "pass", "\(name)")
        }
        #expect(found.statuses["tls_handshake"] == "skip" && found.statuses["file_modes"] == "pass")
        found = try await doctor(tool, "--server", "http://127.0.0.1:1")
        #expect(found.code == 7 && found.statuses["tcp_reachable"] == "fail" && found.statuses["api_info"] == "skip")
    }
}
