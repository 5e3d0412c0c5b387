import Testing
import VaultCore

@testable import VaultCLI

@Suite("The argument parser")
struct ArgumentParserTests {
    private func parse(_ words: String...) throws -> ParsedArguments {
        try ArgumentParser.parse(words.map { Array($0.utf8) }, table: .standard)
    }

    private func message(_ words: [String]) -> String {
        do {
            _ = try ArgumentParser.parse(words.map { Array($0.utf8) }, table: .standard)
            return "accepted"
        } catch {
            return (error as? VaultError)?.message ?? "\(error)"
        }
    }

    @Test("global options stand before or after the verb and among positionals")
    func globalsAnywhere() throws {
        let lines = [
            ["--json", "ls", "a"], ["ls", "--json", "a"], ["ls", "a", "--json"],
        ]
        for line in lines {
            let parsed = try ArgumentParser.parse(line.map { Array($0.utf8) }, table: .standard)
            #expect(parsed.verb?.name == "ls")
            #expect(parsed.has(GlobalOptions.json))
            #expect(parsed.allPositionals == [Array("a".utf8)])
        }
    }

    @Test("short options are bundled, and the rest of a bundle is the value of an option that takes one")
    func bundles() throws {
        let listed = try parse("ls", "-rlq")
        #expect(listed.has(ListCommand.recursive) && listed.has(ListCommand.long) && listed.has(GlobalOptions.quiet))
        #expect(try parse("log", "-n5").last(LogCommand.number) == Array("5".utf8))
        #expect(try parse("log", "-qn", "5").last(LogCommand.number) == Array("5".utf8))
    }

    @Test("an option and its value are joined by '=' or follow each other")
    func values() throws {
        #expect(try parse("ls", "--rev=HEAD~1").last(ListCommand.revision) == Array("HEAD~1".utf8))
        #expect(try parse("ls", "--rev", "HEAD~1").last(ListCommand.revision) == Array("HEAD~1".utf8))
        #expect(try parse("ls", "--rev=").last(ListCommand.revision) == [])
        #expect(try parse("commit", "-m", "--amend").last(CommitCommand.message) == Array("--amend".utf8))
    }

    @Test("an optional value is only taken after '='")
    func optionalValues() throws {
        #expect(try parse("push", "--force-with-lease").last(PushCommand.lease) == [])
        #expect(try parse("push", "--force-with-lease=HEAD").last(PushCommand.lease) == Array("HEAD".utf8))
    }

    @Test("of an option given twice the last value counts, unless it is repeatable")
    func repetition() throws {
        let parsed = try parse("commit", "-m", "a", "-m", "b", "-F", "x", "-F", "y")
        #expect(parsed.all(CommitCommand.message) == [Array("a".utf8), Array("b".utf8)])
        #expect(parsed.last(CommitCommand.messageFile) == Array("y".utf8))
    }

    @Test("'--' ends the options, and '-' is a positional")
    func separator() throws {
        let parsed = try parse("log", "HEAD", "--", "--json", "-n")
        #expect(parsed.positionals == [Array("HEAD".utf8)])
        #expect(parsed.separated == [Array("--json".utf8), Array("-n".utf8)])
        #expect(!parsed.has(GlobalOptions.json))
        #expect(try parse("clone", "-").allPositionals == [Array("-".utf8)])
    }

    @Test("arguments are bytes: what is no UTF-8 passes through")
    func bytes() throws {
        let name: [UInt8] = [0xff, 0x2d, 0x80]
        let parsed = try ArgumentParser.parse([Array("cat".utf8), name], table: .standard)
        #expect(parsed.allPositionals == [name])
    }

    @Test("a group finds its actions, and its default stands for the group's word")
    func groups() throws {
        #expect(try parse("remote", "add", "a", "/b").verb?.name == "remote add")
        #expect(try parse("remote").verb?.name == "remote list")
        #expect(try parse("remote", "-v").verb?.name == "remote list")
        #expect(try parse("remote", "--default", "add", "a", "/b").has(RemoteCommand.isDefault))
    }

    @Test(
        "what is not understood is refused with the nearest known spelling",
        arguments: [
            (["comit"], "unknown verb 'comit'; did you mean 'commit'?"),
            (["log", "--onelin"], "unknown option '--onelin' for 'log'; did you mean '--oneline'?"),
            (["--jsn", "log"], "unknown option '--jsn'; did you mean '--json'?"),
            (["--oneline", "log"], "option '--oneline' belongs after the verb"),
            (["status", "-x"], "unknown option '-x' for 'status'"),
            (["commit", "-m"], "option '-m' needs a value (MSG)"),
            (["log", "--oneline=yes"], "option '--oneline' takes no value"),
            (["fetch", "now"], "'fetch' does not take the argument 'now'"),
            (["push", "force"], "'push' does not take the argument 'force'; did you mean '--force'?"),
            (["cat"], "'cat' needs PATH"),
            (
                ["remote", "ad"],
                "'remote' has no action 'ad'; it has list, add, rm, rename, set-url, set-default or show; did you mean 'add'?"
            ),
            (["remote", "--default"], "unknown option '--default' for 'remote list'"),
            (["keys"], "'keys' needs an action: show, derive, classify or token"),
            (["log", "HEAD", "a.txt"], "'log' does not take the argument 'a.txt' (paths stand after '--')"),
            (["--"], "'--' stands before any verb"),
            (["blame"], "unknown verb 'blame'"),
            (
                ["push", "--token-files", "x"],
                "unknown option '--token-files' for 'push'; did you mean '--token-file'?"
            ),
        ])
    func refused(words: [String], expected: String) {
        #expect(message(words) == expected)
    }

    @Test(
        "what could be a secret is not repeated",
        arguments: [
            "sgit_private_vault_q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4", "my secret:abcd1234", "q3v9x0k2m8t5w1z7r4y6b0n2x",
        ])
    func secretsAreNotEchoed(secret: String) {
        for words in [[secret], ["fetch", secret], ["remote", secret], ["help", "commit", "x", secret]] {
            #expect(!message(words).contains(secret.suffix(8)))
        }
    }

    @Test("help is given whatever positionals are missing")
    func helpFirst() throws {
        #expect(try parse("cat", "-h").has(GlobalOptions.help))
        #expect(try parse("remote", "--help").groupWord == "remote")
        #expect(try parse("--version").verb == nil)
    }

    @Test("a request for JSON is seen also where the line does not parse")
    func asksForJSON() {
        func asks(_ words: String...) -> Bool { ArgumentParser.asksForJSON(words.map { Array($0.utf8) }) }
        #expect(asks("log", "--bogus", "--json"))
        #expect(!asks("log", "--bogus", "--", "--json"))
    }
}
