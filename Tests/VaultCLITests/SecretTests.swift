import Testing
import VaultCore
import VaultCrypto

@testable import VaultCLI

@Suite("Secrets on their way in")
struct SecretTests {
    private static let key = "sgit_private_vault_q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4"

    private func taken(_ text: String) throws -> String {
        var bytes = Array(text.utf8)
        let secret = try SecretText.taken(&bytes, from: "the file")
        #expect(bytes.allSatisfy { $0 == 0 })
        return SecretOutput.text(secret)
    }

    @Test("exactly one line end is removed")
    func lineEnds() throws {
        #expect(try taken("abc") == "abc")
        #expect(try taken("abc\n") == "abc")
        #expect(try taken("abc\r\n") == "abc")
        #expect(try taken(" abc ") == " abc ")
        #expect(try taken("é") == "é")
    }

    @Test(
        "an empty value, control characters and too many bytes are refused by the name of the source",
        arguments: [
            ("", "the file is empty"), ("\n", "the file is empty"), ("abc\n\n", "the file holds a control character"),
            ("a\tb", "the file holds a control character"), ("abc\r", "the file holds a control character"),
            ("a\u{0}b", "the file holds a control character"), ("a\u{85}b", "the file holds a control character"),
            (String(repeating: "x", count: 4097), "the file holds more than 4096 bytes"),
        ])
    func refused(text: String, message: String) {
        #expect { try taken(text) } throws: {
            ($0 as? VaultError)?.message == message && ($0 as? VaultError)?.code == .usage
        }
    }

    @Test("a secret of 4096 bytes and its line end is accepted")
    func longest() throws {
        #expect(try taken(String(repeating: "x", count: 4096) + "\r\n").utf8.count == 4096)
    }

    @Test("of several sources the first of the contract's order is used")
    func order() async throws {
        let tool = try Tool()
        func source(_ name: String) -> [UInt8] { Array("phrase-\(name):\(name)00".utf8) }
        for name in ["fdfdfd", "filefi", "efilef"] { try tool.write(source(name), to: name, mode: 0o600) }
        tool.input.descriptors[7] = source("fdfdfd")
        tool.processes = FakeProcesses(output: source("comman"))
        tool.environment["VAULTCTL_KEY_FILE"] = Array("efilef".utf8)
        tool.environment["VAULTCTL_KEY_COMMAND"] = Array("print".utf8)
        tool.environment["VAULTCTL_KEY"] = source("envenv")
        let options = [["--key-fd", "7"], ["--key-file", "filefi"], ["--key-command", "print"]]
        let ids = ["fdfdfd00", "filefi00", "comman00", "efilef00", "comman00", "envenv00"]
        for step in 0..<6 {
            let given = options.dropFirst(step).flatMap { $0 }
            if step > 3 { tool.environment["VAULTCTL_KEY_FILE"] = nil }
            if step > 4 { tool.environment["VAULTCTL_KEY_COMMAND"] = nil }
            let outcome = await tool.run((["keys", "classify"] + given).map { Array($0.utf8) })
            #expect(outcome.text.contains("vault_id: \(ids[step])\n"), "step \(step): \(outcome.error)")
        }
    }

    @Test("a private key among the arguments is refused, naming the safe ways, and accepted with a warning on demand")
    func argv() async throws {
        let tool = try Tool()
        for words in [["clone", Self.key], ["clone", "pass phrase:abcd1234"], ["keys", "classify", Self.key]] {
            let refused = await tool.run((words + ["--server", "/x"]).map { Array($0.utf8) })
            #expect(refused.code == 2)
            #expect(refused.error.contains("standard input") && refused.error.contains("--key-file"))
            #expect(refused.error.contains("--key-fd") && refused.error.contains("--insecure-argv"))
            #expect(!refused.error.contains("q3v9x0") && !refused.error.contains("pass phrase"))
        }
        let allowed = await tool.run("keys", "classify", "--insecure-argv", Self.key)
        #expect(allowed.code == 0)
        #expect(allowed.error.hasPrefix("warning: "))
    }

    @Test("a published read key is accepted as an argument")
    func publicKey() async throws {
        let hex = String(repeating: "ab", count: 32)
        let outcome = try await Tool().run("keys", "classify", "sgit_public_read_\(hex):k7m2p9x4")
        #expect(outcome.text.contains("kind: read-public\n") && outcome.text.contains("mode: read-only\n"))
        #expect(outcome.error == "")
    }

    @Test("a key file that others can read is used with a warning, and refused with --strict-permissions")
    func permissions() async throws {
        let tool = try Tool()
        try tool.write(Array(Self.key.utf8), to: "open.key", mode: 0o640)
        let used = await tool.run("keys", "classify", "--key-file", "open.key")
        #expect(used.code == 0 && used.error.contains("can be read by other users"))
        let refused = await tool.run("keys", "classify", "--key-file", "open.key", "--strict-permissions")
        #expect(refused.code == 9)
        try tool.write(Array(Self.key.utf8), to: "shut.key", mode: 0o600)
        #expect(await tool.run("keys", "classify", "--key-file", "shut.key", "--strict-permissions").error == "")
    }

    @Test("a key command that fails is exit 6")
    func command() async throws {
        let tool = try Tool()
        tool.processes = FakeProcesses(output: Array(Self.key.utf8), exit: 3)
        let outcome = await tool.run("keys", "classify", "--key-command", "false")
        #expect(outcome.code == 6)
        #expect(!outcome.error.contains("q3v9"))
    }

    @Test("without a source the terminal is asked without echo, and without a terminal it is exit 14")
    func prompt() async throws {
        let tool = try Tool()
        #expect(await tool.run("keys", "classify").code == 14)
        tool.terminal = FakeTerminal(isAvailable: true, answers: [Self.key, Self.key, Self.key])
        #expect(await tool.run("keys", "classify").text.contains("vault_id: k7m2p9x4"))
        #expect(tool.terminal.hiddenQuestions == 1)
        #expect(await tool.run("keys", "classify", "--no-input").code == 14)
        #expect(await tool.run("keys", "classify", "--json").code == 14)
        tool.environment["CI"] = Array("true".utf8)
        #expect(await tool.run("keys", "classify").code == 14)
    }

    @Test("no message repeats a key that does not read")
    func unreadable() async throws {
        let tool = try Tool()
        tool.environment["VAULTCTL_KEY"] = Array("no-colon-secret".utf8)
        for json in [[], ["--json"]] {
            let outcome = await tool.run((["keys", "derive"] + json).map { Array($0.utf8) })
            #expect(outcome.code == 2)
            #expect(!(outcome.text + outcome.error).contains("no-colon"))
        }
    }

    @Test("key material goes into a file that others can read only with -y")
    func exposedOutput() async throws {
        let tool = try Tool()
        tool.environment["VAULTCTL_KEY"] = Array(Self.key.utf8)
        tool.outputIsExposed = true
        let refused = await tool.run("keys", "derive", "--show-secrets")
        #expect(refused.code == 9 && refused.text == "")
        #expect(await tool.run("keys", "derive", "--show-secrets", "-y").text.contains("read_key: "))
        #expect(await tool.run("keys", "derive").code == 0)
    }
}
