import Testing

@testable import VaultCLI

@Suite("Completion")
struct CompletionTests {
    private func words(_ line: String) -> [[UInt8]] {
        line.split(separator: " ", omittingEmptySubsequences: false).map { Array($0.utf8) }
    }

    private func complete(_ line: String, lookup: [String] = []) -> [String] {
        let engine = CompletionEngine(table: .standard) { _, _ in lookup.map { .init($0) } }
        return engine.candidates(words(line)).map { String(decoding: $0.word, as: UTF8.self) }
    }

    @Test(
        "what may stand at the last word is offered",
        arguments: [
            ("com", ["commit", "completion"]),
            ("remote ", ["list", "add", "rm", "rename", "set-url", "set-default", "show"]),
            ("-C /x remote se", ["set-url", "set-default"]), ("log --onel", ["--oneline"]),
            ("log --color ", ["auto", "always", "never"]), ("log --color=al", ["--color=always"]),
            ("log --color = al", ["always"]), ("completion ", ["bash", "zsh", "fish"]), ("help stat", ["status"]),
            ("cat -o ", [":file"]), ("--vault-dir ", [":folder"]), ("commit a", [":file"]),
            ("config get core.c", ["core.color", "core.cacheKeys"]), ("fetch x", []),
            ("nonsense x", []),
        ])
    func offered(line: String, expected: [String]) {
        #expect(complete(line) == expected)
    }

    @Test("paths, revisions and remotes come from the vault, those that fit")
    func lookedUp() {
        #expect(complete("cat do", lookup: ["docs/", "a.txt"]) == ["docs/"])
        #expect(complete("log ", lookup: ["HEAD"]) == ["HEAD"])
        #expect(complete("log HEAD -- d", lookup: ["docs/"]) == ["docs/"])
        #expect(complete("push --remote h", lookup: ["home", "usb"]) == ["home"])
        #expect(complete("remote rm ", lookup: ["home", "usb"]) == ["home", "usb"])
    }

    @Test("a hidden verb answers for shells, silently where there is no vault")
    func hiddenVerb() async throws {
        let tool = try Tool()
        #expect(await tool.run("__complete", "--", "vers").text == "version\ttell the version\n")
        let nothing = await tool.run("__complete", "--", "cat", "")
        #expect(nothing.code == 0 && nothing.text == "" && nothing.error == "")
        #expect(!(await tool.run("help").text.contains("__complete")))
    }

    @Test("paths of a vault are offered from the current folder")
    func vaultPaths() async throws {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        try tool.write([], to: "v/docs/plan.md")
        try tool.write([], to: "v/deep/a b.txt")
        _ = await tool.run("-C", "v", "commit", "-q", "-m", "x")
        #expect(await tool.run("__complete", "--", "-C", "v", "cat", "d").text == "deep/\ndocs/\n")
        #expect(await tool.run("__complete", "--", "-C", "v", "cat", "docs/p").text == "docs/plan.md\n")
        #expect(await tool.run("__complete", "--", "-C", "v/docs", "cat", "../deep/").text == "../deep/a b.txt\n")
        #expect(await tool.run("__complete", "--", "-C", "v", "log", "H").text == "HEAD\tthe last commit\n")
    }

    @Test("keys of a store are offered by label and by digits, own ones, contacts or both, as the verb takes them")
    func keys() async throws {
        let tool = try Tool()
        let vectors = ScriptVectors(tool: tool)
        try vectors.keyStore("alice", in: Array("home/.sg-send".utf8))
        try vectors.contact("bob", in: Array("home/.sg-send".utf8))
        let alice = "Alice Example\tsha256:d4c4ab77bf610487\n"
        let (digits, bob) = ("d4c4ab77bf610487\tAlice Example\n", "default\tsha256:28aac7a7ead9dfdf\n")
        let bobsDigits = "28aac7a7ead9dfdf\tdefault\n"
        func offered(_ words: String...) async -> String {
            await tool.run((["__complete", "--", "pki"] + words).map { Array($0.utf8) }).text
        }
        #expect(await offered("show", "") == alice + digits)
        #expect(await offered("sign", "--sign-with", "d4") == digits)
        #expect(await offered("rename", "--contact", "") == bob + bobsDigits)
        #expect(await offered("seal", "--to", "") == bob + alice + bobsDigits + digits)
        #expect(await offered("verify", "--signed-by", "de") == bob)
        #expect(await offered("decrypt", "--fingerprint=A") == "--fingerprint=Alice Example\n")
        #expect(await offered("show", "--home", "nowhere", "") == "")
        // Labels of strangers: two alike, an option, control characters.
        _ = await tool.run("pki", "rename", "--contact", "28aa", "Alice Example")
        #expect(await offered("seal", "--to", "Al") == "")
        for (label, hint) in [
            ("--force", "--force"), ("a\u{1B}[31m", "\"a\\033[31m\""), ("\u{202E}nnA", "\"\\342\\200\\256nnA\""),
        ] {
            _ = await tool.run("pki", "rename", "--contact", "28aa", "--", label)
            #expect(await offered("delete", "--contact", "") == "28aac7a7ead9dfdf\t\(hint)\n")
        }
    }

    @Test("a vault whose key would have to be derived offers nothing")
    func neverDerives() async throws {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        _ = await tool.run("-C", "v", "config", "set", "core.cacheKeys", "false")
        #expect(await tool.run("__complete", "--", "-C", "v", "log", "H").text == "")
    }

    @Test("each script asks the hidden verb and names the shell's own completion", arguments: CompletionScript.allCases)
    func scripts(script: CompletionScript) async throws {
        let text = try await Tool().run("completion", script.rawValue).text
        #expect(text.contains("vaultctl __complete -- "))
        #expect(text.contains(":file") && text.contains(":folder"))
    }
}
