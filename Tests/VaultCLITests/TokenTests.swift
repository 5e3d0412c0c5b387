import Testing
import VaultFormat
import VaultSystem

@testable import VaultCLI

/// A clone of a server that wants a token for writes.
private struct Scene {
    static let token = "tok-Q9x7Lm3"
    let server: WebServer
    let tool: Tool

    init() async throws {
        server = try WebServer("--token \(Self.token)")
        tool = try Tool()
        #expect(await tool.run("init", "-q", "a", "--server", server.url).code == 0)
        try tool.write(Array("\(Self.token)\n".utf8), to: "token", mode: 0o600)
        try tool.write(Array("wrong-token\n".utf8), to: "wrong", mode: 0o600)
    }

    /// Runs a verb in the clone.
    func run(_ words: String...) async -> Tool.Outcome {
        let outcome = await tool.run((["-C", "a"] + words).map { Array($0.utf8) })
        #expect(!(outcome.text + outcome.error + tool.terminal.shown).contains(Self.token), "\(words)")
        return outcome
    }

    func json(_ outcome: Tool.Outcome) throws -> JSONValue {
        let bytes = outcome.output
        return try JSONReader.parse(bytes.span)
    }

    var kept: [UInt8]? { try? tool.read("a/.sg_vault/local/token") }
    var keptForUser: String? {
        (try? tool.read("home/.local/share/vaultctl/tokens.json")).map { String(decoding: $0, as: UTF8.self) }
    }
}

@Suite("keys token")
struct KeysTokenTests {
    @Test func `keeps a token in the clone once its server has taken it`() async throws {
        let scene = try await Scene()
        let set = await scene.run("keys", "token", "set", "--token-file", "../token", "--json")
        #expect(set.code == 0, "\(set.text)")
        let document = try scene.json(set)
        #expect(document["schema"]?.text == "vaultctl/keys-token/1")
        #expect(document["place"]?.text == "clone" && document["server"]?.text == scene.server.url)
        #expect(scene.kept == Array(Scene.token.utf8))
        #expect(try scene.tool.mode("a/.sg_vault/local/token") == 0o600)
        #expect(scene.keptForUser == nil)
        #expect(await scene.run("push", "-q").code == 0)
    }

    @Test func `keeps no token that the server refuses, and none that it was not asked about`() async throws {
        let scene = try await Scene()
        let refused = await scene.run("keys", "token", "set", "--token-file", "../wrong", "--json")
        #expect(refused.code == 6 && refused.text.contains("\"token_refused\""))
        for (words, code) in [
            (["--server", "http://127.0.0.1:1"], Int32(7)), (["--offline"], 7),
            (["--server", "http://192.0.2.1"], 6),
        ] {
            let outcome = await scene.tool.run(
                (["-C", "a", "keys", "token", "set", "--token-file", "../token"] + words).map { Array($0.utf8) })
            #expect(outcome.code == code, "\(words): \(outcome.error)")
        }
        try scene.server.fault("/batch/", status: 400, detail: "", count: 1)
        try scene.server.fault("/batch/", status: 500, detail: "down", count: 9)
        #expect(await scene.run("keys", "token", "set", "--token-file", "../token").code == 7)
        #expect(scene.kept == nil && scene.keptForUser == nil)
        // Asking claimed no vault id.
        #expect(await scene.run("doctor", "--json").text.contains("the server has no vault"))
    }

    @Test func `keeps a token for the user, by server, anywhere`() async throws {
        let scene = try await Scene()
        scene.tool.input.descriptors[5] = Array(Scene.token.utf8)
        let set = await scene.tool.run("keys", "token", "set", scene.server.url + "/", "--token-fd", "5")
        #expect(set.code == 0, "\(set.error)")
        #expect(set.text == "Kept the token for \(scene.server.url) for this user\n")
        #expect(scene.keptForUser?.contains("\"\(scene.server.url)\"") == true && scene.kept == nil)
        #expect(try scene.tool.mode("home/.local/share/vaultctl/tokens.json") == 0o600)
        #expect(await scene.run("push", "-q").code == 0)

        let status = try scene.json(await scene.run("keys", "token", "status", "--json"))
        #expect(status["source"]?.text == "user" && status["server"]?.text == scene.server.url)
        #expect(status["tokens"]?.items?.count == 1)
        let plan = await scene.tool.run("keys", "token", "rm", "--dry-run", scene.server.url)
        #expect(plan.code == 0 && plan.text.hasPrefix("Would forget"))
        #expect(await scene.tool.run("keys", "token", "rm", scene.server.url).code == 0)
        #expect(await scene.tool.run("keys", "token", "rm", scene.server.url).code == 3)
        #expect(await scene.tool.run("keys", "token", "status").text == "no token is kept\n")
    }

    @Test func `tells where a token comes from and forgets the clone's, also in its older place`() async throws {
        let scene = try await Scene()
        func source(_ words: String...) async throws -> String? {
            let outcome = await scene.tool.run(
                (["-C", "a", "keys", "token", "status", "--json"] + words).map { Array($0.utf8) })
            #expect(outcome.code == 0)
            return try scene.json(outcome)["source"]?.text
        }
        #expect(try await source() == nil)
        try scene.tool.write(Array("\(Scene.token)\n".utf8), to: "a/.sg_vault/token", mode: 0o600)
        #expect(try await source() == "clone")
        scene.tool.environment["VAULTCTL_TOKEN"] = Array("x".utf8)
        #expect(try await source() == "environment")
        #expect(try await source("--token-file", "no-such-file") == "option")
        scene.tool.environment["VAULTCTL_TOKEN"] = nil
        #expect(await scene.run("keys", "token", "set", "--token-file", "../token").code == 0)
        #expect(await scene.run("keys", "token", "rm").code == 0)
        #expect(try await source() == nil)
        #expect(await scene.run("keys", "token", "rm").code == 3)
    }

    @Test func `takes no token from an argument and repeats none`() async throws {
        let scene = try await Scene()
        for words in [
            [Scene.token], ["set", Scene.token], ["set", scene.server.url, Scene.token], ["rm", Scene.token],
            ["status", Scene.token], ["set", "https://\(Scene.token)@example.org"],
        ] {
            let outcome = await scene.tool.run((["-C", "a", "keys", "token"] + words).map { Array($0.utf8) })
            #expect(outcome.code == 2, "\(words)")
            #expect(!(outcome.text + outcome.error).contains(Scene.token), "\(outcome.error)")
        }
        #expect(await scene.run("keys", "token", "set", "/srv/vaults").code == 2)
    }

    @Test func `asks on the terminal only where that is allowed`() async throws {
        let scene = try await Scene()
        #expect(await scene.run("keys", "token", "set").code == 14)
        scene.tool.terminal = FakeTerminal(isAvailable: true, answers: [Scene.token])
        for option in ["--no-input", "--json"] { #expect(await scene.run("keys", "token", "set", option).code == 14) }
        #expect(scene.tool.terminal.hiddenQuestions == 0)
        #expect(await scene.run("keys", "token", "set").code == 0)
        #expect(scene.tool.terminal.hiddenQuestions == 1)
        #expect(scene.kept == Array(Scene.token.utf8))
    }
}

@Suite("A token that a server wants and nobody gave")
struct TokenPromptTests {
    @Test func `is asked for once, used, and not kept`() async throws {
        let scene = try await Scene()
        // Several requests at once are refused for want of it.
        for number in UInt8(0)..<8 {
            try scene.tool.write([UInt8](repeating: number, count: 1_000_000 + Int(number)), to: "a/f\(number)")
        }
        _ = await scene.run("commit", "-q", "-m", "many")
        scene.tool.terminal = FakeTerminal(isAvailable: true, answers: [Scene.token, "another"])
        let push = await scene.run("push")
        #expect(push.code == 0, "\(push.error)")
        #expect(scene.tool.terminal.hiddenQuestions == 1)
        #expect(scene.tool.terminal.shown == "Access token for \(scene.server.url): ")
        #expect(scene.kept == nil && scene.keptForUser == nil)
    }

    @Test func `is kept with --save once it has worked`() async throws {
        let scene = try await Scene()
        scene.tool.terminal = FakeTerminal(isAvailable: true, answers: ["wrong-token", Scene.token])
        let wrong = await scene.run("push", "--save")
        #expect(wrong.code == 6 && wrong.error.contains("refuses the access token"))
        #expect(!wrong.error.contains("wrong-token") && scene.kept == nil)
        #expect(await scene.run("push", "--save").code == 0)
        #expect(scene.kept == Array(Scene.token.utf8))
    }

    @Test(arguments: ["--json", "--no-input", "CI", "no terminal"])
    func `is never asked for where nobody may be asked`(reason: String) async throws {
        let scene = try await Scene()
        scene.tool.terminal = FakeTerminal(isAvailable: reason != "no terminal", answers: [Scene.token])
        if reason == "CI" { scene.tool.environment["CI"] = Array("1".utf8) }
        let push = await reason.hasPrefix("--") ? scene.run("push", reason) : scene.run("push")
        #expect(push.code == 6)
        #expect((push.text + push.error).contains("wants an access token"))
        #expect(scene.tool.terminal.hiddenQuestions == 0)
    }

    @Test func `is not asked for in place of one that is refused`() async throws {
        let scene = try await Scene()
        scene.tool.terminal = FakeTerminal(isAvailable: true, answers: [Scene.token])
        #expect(await scene.run("push", "--token-file", "../wrong").code == 6)
        #expect(scene.tool.terminal.hiddenQuestions == 0)
    }

    @Test func `also goes with reads where a server wants it for them`() async throws {
        let scene = try await Scene()
        #expect(await scene.run("push", "-q", "--token-file", "../token").code == 0)
        scene.tool.terminal = FakeTerminal(isAvailable: true, answers: [Scene.token])
        try scene.server.fault("/batch/", status: 401, detail: "Access token required")
        let pull = await scene.run("pull", "--save")
        #expect(pull.code == 0, "\(pull.error)")
        // A server that refused without it and then answered has taken it.
        #expect(scene.kept == Array(Scene.token.utf8))
    }
}
