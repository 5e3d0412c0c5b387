import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("Streams, colour, pager and signals")
struct StreamTests {
    private struct Stopped: Cancellation {
        let signal: Int32
        func check() throws(Interruption) { throw Interruption(signal: signal) }
    }

    private func vault() async throws -> Tool {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        try tool.write(Array("text\n".utf8), to: "v/a.txt")
        tool.directory = tool.directory.appending(component: "v")
        _ = await tool.run("commit", "-q", "-m", "first")
        return tool
    }

    @Test(
        "a reader that goes away ends the run with 141 and silence",
        arguments: [["ls"], ["log"], ["cat", "a.txt"], ["help"]])
    func brokenPipe(words: [String]) async throws {
        let tool = try await vault()
        tool.outputFailure = .brokenPipe
        let outcome = await tool.run(words.map { Array($0.utf8) })
        #expect(outcome.code == 141)
        #expect(outcome.error == "")
        #expect(await tool.run((words + ["--json"]).map { Array($0.utf8) }).code == 141)
    }

    @Test("a full disk behind standard output is told")
    func fullDisk() async throws {
        let tool = try await vault()
        tool.outputFailure = .noSpace
        let outcome = await tool.run("ls")
        #expect(outcome.code == 12)
        #expect(outcome.error.hasPrefix("vaultctl: cannot write to standard output"))
        #expect(await tool.run("ls", "--json").error.hasPrefix("vaultctl: cannot write to standard output"))
    }

    @Test(
        "when only the report of a verb can not be written, it says that the work was done and hints at nothing",
        arguments: [
            ["init", "-q", "new"], ["commit", "--allow-empty", "-m", "x"], ["push", "--server", "../pub"],
            ["pull", "--server", "../pub"], ["fetch", "--server", "../pub"], ["write", "w.txt"],
            ["clone", "k7m2p9x4", "copy", "--server", "../pub", "--key-file", "../key"],
            ["remote", "add", "--no-check", "x", "/x"], ["config", "set", "push.autoPull", "true"],
            ["fsck"],
        ])
    func reportLost(words: [String]) async throws {
        let tool = try Tool()
        try tool.write(Array("q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4".utf8), to: "key", mode: 0o600)
        _ = await tool.run("init", "-q", "v", "--key-file", "key", "--server", "./pub", "--push")
        tool.directory = tool.directory.appending(component: "v")
        _ = await tool.run("push", "--server", "../pub")
        for json in [[], ["--json"]] {
            tool.outputFailure = .noSpace
            let name = json.isEmpty ? "" : "2"
            let line = words.map { ["new", "copy", "x", "w.txt"].contains($0) ? $0 + name : $0 } + json
            let outcome = await tool.run(line.map { Array($0.utf8) })
            #expect(outcome.code == 12, "\(line)")
            #expect(outcome.error.contains("vaultctl: the work was done, but its report could not"), "\(outcome.error)")
            #expect(!outcome.error.contains("hint:"), "\(line)")
        }
    }

    @Test("into a file there is neither colour nor redrawing, and on a terminal NO_COLOR and --color decide")
    func colour() async throws {
        let tool = try await vault()
        try tool.write([1], to: "v/b.txt")
        func coloured(_ options: String...) async -> Bool {
            let outcome = await tool.run((["status"] + options).map { Array($0.utf8) })
            #expect(!(outcome.text + outcome.error).contains("\r"))
            return outcome.text.contains("\u{1b}[")
        }
        #expect(await !coloured())
        #expect(await coloured("--color", "always"))
        tool.outputIsTerminal = true
        #expect(await coloured())
        #expect(await !coloured("--color=never"))
        tool.environment["TERM"] = Array("dumb".utf8)
        #expect(await !coloured())
        tool.environment["TERM"] = nil
        tool.environment["NO_COLOR"] = Array("1".utf8)
        #expect(await !coloured())
        #expect(await coloured("--color=always"))
        tool.environment["NO_COLOR"] = []
        #expect(await coloured())
        tool.outputIsTerminal = false
        tool.environment["CLICOLOR_FORCE"] = Array("1".utf8)
        #expect(await coloured())
    }

    @Test("log, show and help are paged on a terminal only, by the pager that is named first")
    func pager() async throws {
        let tool = try await vault()
        tool.outputIsTerminal = true
        let direct = await tool.run("log", "--no-pager").text
        #expect(direct.contains("first"))
        #expect(tool.processes.run == [])
        #expect(await tool.run("log").text == "")
        #expect(tool.processes.pager.text == direct)
        tool.environment["PAGER"] = Array("more".utf8)
        _ = await tool.run("show")
        tool.environment["VAULTCTL_PAGER"] = Array("most".utf8)
        _ = await tool.run("help")
        tool.environment["VAULTCTL_PAGER"] = []
        #expect(await tool.run("log").text == direct)
        _ = await tool.run("ls")
        #expect(tool.processes.run == ["less -FRX", "more", "most"])
        tool.environment["VAULTCTL_PAGER"] = nil
        let failed = await tool.run("log", "nowhere")
        #expect(failed.code == 3 && tool.processes.run.count == 3)
        #expect(await tool.run("log", "--json").text.hasPrefix("{"))
    }

    @Test("a signal ends the run with its code", arguments: [(2, 130), (15, 143), (1, 129)] as [(Int32, Int32)])
    func signals(signal: Int32, code: Int32) async throws {
        let tool = try await vault()
        tool.cancellation = Stopped(signal: signal)
        #expect(await tool.run("log").code == code)
        let outcome = await tool.run("log", "--json")
        #expect(outcome.code == code)
        let bytes = outcome.output
        let value = try JSONReader.parse(bytes.span)
        #expect(value["error"]?["code"]?.text == "cancelled")
        #expect(value["exit"]?.int == Int64(code))
    }

    @Test("advice is for people at a terminal, and not in CI")
    func advice() async throws {
        let tool = try await vault()
        func advised() async throws -> Bool {
            try tool.write(Array("\(tool.clock.nowNs)".utf8), to: "v/c.txt")
            tool.clock.advance(ms: 5000)
            return await tool.run("commit", "-m", "more", "--progress", "never").error.contains("next: ")
        }
        #expect(try await !advised())
        tool.errorIsTerminal = true
        #expect(try await advised())
        tool.environment["CI"] = Array("1".utf8)
        #expect(try await !advised())
    }

    @Test("'-vv' tells cause and place, less does not")
    func details() async throws {
        let tool = try Tool()
        #expect(!(await tool.run("status", "-v").error.contains("detail: ")))
        #expect(await tool.run("status", "-vv").error.contains("detail: "))
    }
}
