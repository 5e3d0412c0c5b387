import Testing
import VaultCore
import VaultTestSupport

@testable import VaultCLI

@Suite("Progress on standard error")
struct ProgressTests {
    private let clock = TestClock()

    private func reporter(_ mode: ProgressReporter.Mode, _ sink: Captured, columns: Int = 40) -> ProgressReporter {
        ProgressReporter(
            mode: mode, messages: Messages(sink: sink, isQuiet: false, givesAdvice: false), columns: columns,
            clock: clock)
    }

    @Test("a line on a terminal is redrawn at most ten times a second and no wider than it")
    func redraws() {
        let sink = Captured(isTerminal: true)
        let reporter = reporter(.redraw, sink, columns: 20)
        for step in 0..<100 {
            reporter.progress(Progress(phase: .upload, done: step, total: 100, bytes: 1 << 20, totalBytes: 1 << 30))
            clock.advance(ms: 20)
        }
        let frames = sink.text.split(separator: "\r")
        #expect(frames.count == 20)
        #expect(frames.allSatisfy { $0.count < 20 && $0.hasPrefix("upload ") })
        #expect(!sink.text.contains("\n"))
    }

    @Test("the line is erased by what follows")
    func erased() {
        let sink = Captured(isTerminal: true)
        let messages = Messages(sink: sink, isQuiet: false, givesAdvice: false)
        messages.progress(redraw: "upload 1/2")
        messages.warning("careful")
        #expect(sink.text == "\rupload 1/2\r          \rwarning: careful\n")
        messages.progress(redraw: "abc")
        messages.progress(redraw: "a")
        messages.eraseProgress()
        messages.eraseProgress()
        #expect(sink.text.hasSuffix("\rabc\ra  \r \r"))
    }

    @Test("elsewhere there is at most one line per phase and none before two seconds")
    func lines() {
        let sink = Captured()
        let reporter = reporter(.lines, sink)
        for step in 0..<40 {
            reporter.progress(Progress(phase: step < 30 ? .download : .checkout, done: step))
            clock.advance(ms: 100)
        }
        #expect(sink.text == "download 20\ncheckout 30\n")
    }

    @Test("the JSON form has one object per line")
    func json() {
        let sink = Captured()
        reporter(.json, sink).progress(Progress(phase: .upload, done: 3, total: 10, bytes: 5))
        #expect(sink.text == "{\"progress\":\"upload\",\"done\":3,\"total\":10,\"bytes\":5,\"total_bytes\":null}\n")
    }

    @Test("a minute without movement says what is waited for, once")
    func stall() {
        let sink = Captured()
        let reporter = reporter(.lines, sink)
        reporter.progress(Progress(phase: .upload, done: 1))
        clock.advance(ms: 59_000)
        reporter.tick()
        clock.advance(ms: 2_000)
        reporter.tick()
        reporter.tick()
        #expect(sink.text == "upload 1\nnote: nothing has moved for a minute; still waiting for upload\n")
    }

    @Test("'never' and '-q' show nothing, 'always' and 'json' ask for it")
    func modes() async throws {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        try tool.write([1], to: "v/a")
        let shown = await tool.run("-C", "v", "commit", "-m", "x", "--progress", "json")
        #expect(shown.error.contains("{\"progress\":\"encrypt\""))
        try tool.write([2], to: "v/a")
        tool.errorIsTerminal = true
        #expect(
            await tool.run("-C", "v", "commit", "-m", "x", "--progress", "never").error.contains("encrypt") == false)
        try tool.write([3], to: "v/a")
        #expect(await tool.run("-C", "v", "commit", "-q", "-m", "x").error == "")
        try tool.write([4], to: "v/a")
        #expect(await tool.run("-C", "v", "commit", "-m", "x").error.contains("\rencrypt"))
    }
}
