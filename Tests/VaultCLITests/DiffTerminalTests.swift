import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("Differences on a terminal, in a pipe and beside git")
struct DiffTerminalTests {
    private let tool: Tool

    init() async throws {
        tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        tool.directory = tool.directory.appending(component: "v")
        try tool.write(Array("plain\nold\n".utf8), to: "v/a.txt")
        _ = await tool.run("commit", "-q", "-m", "first")
        // Escapes that would colour, move and retitle a terminal, beside a tab.
        try tool.write(Array("plain\n\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\ttab\r\n".utf8), to: "v/a.txt")
        tool.environment["VAULTCTL_PAGER"] = Array("cat".utf8)
    }

    private let spelledOut = "+\\033[31mred\\033]0;title\\007\\302\\2332J\ttab\\015"

    @Test func `in a pipe content is what it is`() async {
        let text = await tool.run("diff").text
        #expect(text.contains("\n+\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\ttab\r\n"))
        #expect(!text.contains("\u{1b}[32m"))
    }

    @Test(arguments: [["diff"], ["show", "-p"], ["log", "-p", "-n", "1"], ["log", "-p", "--graph", "-n", "1"]])
    func `on a terminal content can not drive it`(words: [String]) async {
        if words[0] != "diff" { _ = await tool.run("commit", "-q", "-m", "second") }
        tool.outputIsTerminal = true
        tool.environment["NO_COLOR"] = [0x31]
        let plain = await tool.run(words.map { Array($0.utf8) }).text
        #expect(plain.contains(spelledOut + "\n"))
        #expect(!plain.contains("\u{1b}") && !plain.contains("\u{9b}") && !plain.contains("\r"))
        tool.environment["NO_COLOR"] = nil
        tool.environment["TERM"] = Array("xterm".utf8)
        let coloured = await tool.run(words.map { Array($0.utf8) }).text
        #expect(coloured.contains("\u{1b}[32m\(spelledOut)\u{1b}[0m\n"))
        #expect(
            coloured.contains("\u{1b}[31m-old\u{1b}[0m\n") && coloured.contains("\u{1b}[36m@@ -1,2 +1,2 @@\u{1b}[0m\n"))
        // With the colours taken away it is the same text.
        var bare = coloured
        for code in ["0", "1", "31", "32", "33", "36", "2"] { bare = bare.replacing("\u{1b}[\(code)m", with: "") }
        #expect(bare == plain)
        tool.environment["TERM"] = Array("dumb".utf8)
        #expect(await tool.run(words.map { Array($0.utf8) }).text == plain)
    }

    @Test func `colour in a pipe is for something like a terminal`() async {
        let text = await tool.run("diff", "--color", "always").text
        #expect(text.contains("\u{1b}[32m\(spelledOut)\u{1b}[0m\n"))
        #expect(!text.contains("\u{1b}]0"))
    }

    @Test(arguments: [["diff"], ["show"], ["log"]]) func `goes through the pager, unless told not to`(
        words: [String]
    ) async {
        tool.outputIsTerminal = true
        tool.environment["VAULTCTL_PAGER"] = nil
        let outcome = await tool.run(words.map { Array($0.utf8) })
        #expect(outcome.text == "" && tool.processes.run == ["less -FRX"])
        #expect(!tool.processes.pager.text.isEmpty)
        #expect(await !tool.run((words + ["--no-pager"]).map { Array($0.utf8) }).text.isEmpty)
        #expect(tool.processes.run.count == 1)
    }

    @Test func `paths for programs are followed by NUL and not quoted`() async throws {
        try tool.write([], to: Array("v/tab\tand \"quote\"".utf8))
        try tool.write(Array("plain\nold\n".utf8), to: "v/b.txt")
        try tool.folder.open().openDirectory(Array("v".utf8)).removeFile(Array("a.txt".utf8))
        let names = await tool.run("diff", "-z", "--name-only").text
        #expect(names == "b.txt\0tab\tand \"quote\"\0")
        let marks = "R b.txt\0a.txt\0A tab\tand \"quote\"\0"
        #expect(await tool.run("diff", "-z", "--name-status").text == marks)
        #expect(await tool.run("diff", "-z").text == marks)
        #expect(await tool.run("diff", "--name-only").text == "b.txt\n\"tab\\tand \\\"quote\\\"\"\n")
    }

    @Test func `statistics are those of git`() async throws {
        var old: [String: String] = ["x": "moved\n", "empty": "", "long/name/of/a/file": "a\nb\n", "gone": "1\n2\n3\n"]
        old["a.txt"] = (1...9).map { "\($0)\n" }.joined()
        var new: [String: String] = ["y": "moved\n", "empty": "now\n", "long/name/of/a/file": "a\n", "bin": "\0\0\0"]
        new["a.txt"] = (3...12).map { "\($0)\n" }.joined()
        try tool.folder.open().openDirectory(Array("v".utf8)).removeFile(Array("a.txt".utf8))
        for (name, text) in old {
            for place in ["v", "g"] { try tool.write(Array(text.utf8), to: "\(place)/\(name)") }
        }
        _ = await tool.run("commit", "-q", "-m", "old")
        let git = "cd '\(tool.folder.path.text)/g' && export GIT_CONFIG_GLOBAL=/dev/null && "
        try Shell.run(git + "git init -q . && git add -A && git -c user.name=a -c user.email=a commit -q -m old")
        for place in ["v", "g"] {
            for name in old.keys where new[name] == nil {
                try tool.folder.open().openDirectory(Array(place.utf8)).removeFile(Array(name.utf8))
            }
            for (name, text) in new { try tool.write(Array(text.utf8), to: "\(place)/\(name)") }
        }
        func byGit(_ options: String) throws -> String {
            String(decoding: try Shell.run(git + "git add -A && git diff --cached -M100% \(options)"), as: UTF8.self)
        }
        #expect(await tool.run("diff", "--stat").text == (try byGit("--stat")))
        #expect(await tool.run("diff", "--name-only").text == (try byGit("--name-only")))
        let marks = try byGit("--name-status").split(separator: "\n").map { line -> String in
            let parts = line.split(separator: "\t")
            return "\(parts[0].prefix(1)) \(parts.dropFirst().joined(separator: " -> "))"
        }
        #expect(await tool.run("diff", "--name-status").text == marks.joined(separator: "\n") + "\n")
        // The hunks, without what is git's own in the headers.
        let patch = try byGit("").split(separator: "\n", omittingEmptySubsequences: false).filter {
            !$0.hasPrefix("index ")
        }
        #expect(await tool.run("diff").text == patch.joined(separator: "\n"))
    }
}
