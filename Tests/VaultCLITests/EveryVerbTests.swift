import Testing
import VaultFormat
import VaultSystem

@testable import VaultCLI

@Suite("Every verb")
struct EveryVerbTests {
    /// A line for each verb that gets as far as the verb itself.
    private static let lines: [[String]] = VerbTable.standard.verbs.map { verb in
        let values = [
            "NAME": ".", "URL": "/nowhere/x", "SHELL": "bash", "VAULT": "k7m2p9x4", "PATH": "a.txt", "VALUE": "x",
            "ACTION": "status",
        ]
        let given = verb.positionals.filter(\.required).map { values[$0.name] ?? "x" }
        return verb.words + given
    }

    private func document(_ outcome: Tool.Outcome, _ words: [String]) throws -> JSONValue {
        let bytes = outcome.output
        let text = outcome.text
        #expect(text.hasSuffix("\n") && !text.dropLast().contains("\n"), "\(words): \(text)")
        return try JSONReader.parse(bytes.span)
    }

    /// Part D of the contract, line 5.
    @Test("prints one document with --json, for a failure and inside a vault")
    func json() async throws {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        try tool.write([1], to: "v/a.txt")
        _ = await tool.run("-C", "v", "commit", "-q", "-m", "x")
        for (place, words) in Self.lines.flatMap({ words in [(".", words), ("v", words)] }) {
            let outcome = await tool.run((["-C", place] + words + ["--json"]).map { Array($0.utf8) })
            let value = try document(outcome, words)
            #expect(value["ok"] == .bool(outcome.code == 0), "\(words)")
            if outcome.code == 0 || value["schema"]?.text != "vaultctl/error/1" {
                let verb = VerbTable.standard.verbs.filter { words.starts(with: $0.words) }.max {
                    $0.words.count < $1.words.count
                }
                #expect(value["schema"]?.text == verb?.document.schema)
            } else {
                #expect(value["exit"]?.int == Int64(outcome.code))
                #expect(
                    value.members?.map(\.name) == ["schema", "ok", "verb", "exit", "error", "partial"], "\(words)")
            }
        }
    }

    /// Part D of the contract, line 6.
    @Test("shows no secret unless it is one of the printers")
    func secrecy() async throws {
        let tool = try Tool()
        tool.environment["VAULTCTL_KEY"] = Array("sgit_private_vault_q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4".utf8)
        _ = await tool.run("init", "-q", "v")
        try tool.write([1], to: "v/a.txt")
        tool.environment["VAULTCTL_KEY"] = nil
        let derived = await tool.run("-C", "v", "keys", "derive", "--show-secrets").text
        let secrets = derived.split(separator: "\n").filter { $0.contains("_key: ") }.map { $0.suffix(64) }
        #expect(secrets.count == 2)
        let options = [[], ["--json"], ["-vv"], ["--progress", "json"]]
        for (words, more) in Self.lines.flatMap({ words in options.map { (words, $0) } }) {
            let outcome = await tool.run((["-C", "v"] + words + more).map { Array($0.utf8) })
            let all = outcome.text + outcome.error
            for secret in secrets { #expect(!all.contains(secret), "\(words)") }
            if words.prefix(2) != ["keys", "show"] { #expect(!all.contains("q3v9x0k2"), "\(words)") }
        }
    }

    /// Part D of the contract, line 8.
    @Test("ten writes at once give ten commits or say that they did not")
    func parallelWrites() async throws {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        let directory = tool.directory.appending(component: "v")
        let codes = try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<10 {
                group.addTask {
                    let other = try Tool(seed: UInt64(100 + number))
                    other.directory = directory
                    other.input.descriptors[0] = Array("\(number)".utf8)
                    return await other.run("write", "f\(number).txt").code
                }
            }
            return try await group.reduce(into: [Int32]()) { $0.append($1) }
        }
        let succeeded = codes.filter { $0 == 0 }.count
        #expect(codes.allSatisfy { $0 == 0 || $0 == 11 })
        let log = await tool.run("-C", "v", "log", "--oneline").text
        #expect(log.split(separator: "\n").count == succeeded + 1)
        #expect(await tool.run("-C", "v", "ls").text.split(separator: "\n").count == succeeded)
        #expect(await tool.run("-C", "v", "fsck").code == 0)
    }
}
