import Glibc
import Testing
import VaultSystem
import VaultTestSupport

@Suite("Shell commands run with a cleaned environment")
struct SubprocessTests {
    @Test("what a command writes is captured with its exit code")
    func capture() throws {
        let outcome = try Subprocess.capture("printf 'a\\0b'; exit 3", removingFromEnvironment: [], limit: 100)
        #expect(outcome.exitCode == 3)
        #expect(outcome.output == [0x61, 0, 0x62])
    }

    @Test("standard input is empty")
    func noInput() throws {
        #expect(try Subprocess.capture("cat", removingFromEnvironment: [], limit: 100).output == [])
    }

    @Test("a death by signal is 128 and the signal")
    func signalled() throws {
        #expect(try Subprocess.capture("kill -9 $$", removingFromEnvironment: [], limit: 9).exitCode == 137)
    }

    @Test("more output than allowed ends the command")
    func limited() {
        #expect(throws: Errno.fileTooLarge) {
            try Subprocess.capture("yes", removingFromEnvironment: [], limit: 100_000)
        }
    }

    @Test("named variables are removed, the others stay")
    func environment() async {
        await #expect(processExitsWith: .success) {
            TestEnvironment.set("VT_SECRET", "hidden")
            TestEnvironment.set("VT_PLAIN", "shown")
            let outcome = try Subprocess.capture(
                "echo \"[$VT_SECRET][$VT_PLAIN]\"", removingFromEnvironment: ["VT_SECRET"], limit: 100)
            try #require(outcome.output == Array("[][shown]\n".utf8))
        }
    }

    @Test("a closed pipe ends a child silently although this process ignores SIGPIPE")
    func pipeSignal() async {
        await #expect(processExitsWith: .success) {
            _ = Signals.install()
            let outcome = try Subprocess.capture("yes | head -n 1", removingFromEnvironment: [], limit: 9)
            try #require(outcome.output == Array("y\n".utf8))
            try #require(
                Subprocess.capture("sh -c 'kill -13 $$'", removingFromEnvironment: [], limit: 9).exitCode == 141)
        }
    }

    @Test("a pager is fed and waited for; one that ends early is a broken pipe")
    func sink() async {
        await #expect(processExitsWith: .success) {
            _ = Signals.install()
            let folder = try TemporaryFolder("sink")
            let target = folder.appending("out")
            let pager = try Subprocess.Sink("cat > '\(target.text)'; exit 4", removingFromEnvironment: [])
            try pager.write(Array("text".utf8).span)
            try #require(pager.finish() == 4)
            try #require(LinuxFileSystem().readFile(target, limit: 9) == Array("text".utf8))
            let closed = try Subprocess.Sink("exec <&-; exit 0", removingFromEnvironment: [])
            var failure: Errno?
            let block = [UInt8](repeating: 0x61, count: 1 << 20)
            do throws(Errno) {
                try closed.write(block.span)
            } catch {
                failure = error
            }
            try #require(failure == .brokenPipe)
            try #require(closed.finish() == 0)
        }
    }
}

@Suite("Signals are noted, not obeyed at once")
struct SignalTests {
    @Test("the first one is seen by the next check", arguments: [SIGINT, SIGTERM, SIGHUP])
    func noted(signal: Int32) async {
        await #expect(processExitsWith: .success) { [signal = signal as Int32] in
            let signals = Signals.install()
            try signals.check()
            Signals.raise(signal)
            try await arrival(at: signals)
            try #require(signals.pending == Interruption(signal: signal))
            try #require(signals.pending?.exitCode == 128 + signal)
            do throws(Interruption) {
                try signals.check()
                Issue.record("the check passed")
            } catch {
                try #require(error == Interruption(signal: signal))
            }
            signals.clear()
            try signals.check()
        }
    }

    @Test("a second interrupt within two seconds ends the process with 130")
    func second() async {
        await #expect(processExitsWith: .exitCode(130)) {
            let signals = Signals.install()
            Signals.raise(SIGINT)
            try await arrival(at: signals)
            Signals.raise(SIGINT)
            try await Task.sleep(for: .seconds(20))
        }
    }

    @Test("an ignored hang-up stays ignored, as under nohup")
    func nohup() async {
        await #expect(processExitsWith: .success) {
            _ = signal(SIGHUP, SIG_IGN)
            let signals = Signals.install()
            Signals.raise(SIGHUP)
            Signals.raise(SIGTERM)
            try await arrival(at: signals)
            try #require(signals.pending == Interruption(signal: SIGTERM))
        }
    }

    @Test("writing to a closed pipe is an error, not the end")
    func brokenPipe() async {
        await #expect(processExitsWith: .success) {
            _ = Signals.install()
            var ends: [Int32] = [-1, -1]
            try #require(unsafe pipe(&ends) == 0)
            close(ends[0])
            try #require(dup2(ends[1], 1) == 1)
            do throws(Errno) {
                try StandardStreams.write("x", to: .output)
                Issue.record("the write succeeded")
            } catch {
                try #require(error == .brokenPipe)
            }
        }
    }

    @Test("a descriptor that somebody made non-blocking takes all that is written, however slow its reader")
    func slowReader() async {
        await #expect(processExitsWith: .success) {
            var ends: [Int32] = [-1, -1]
            try #require(unsafe pipe(&ends) == 0)
            let (reading, writing) = (ends[0], ends[1])
            try #require(fcntl(writing, F_SETFL, O_NONBLOCK) == 0 && dup2(writing, 1) == 1)
            close(writing)
            let text = [UInt8]((0..<400_000).map { UInt8($0 % 251) })
            let (found, _) = try WorkerPool.concurrently(
                { () throws -> [UInt8] in try StandardStreams.read(descriptor: reading, limit: 1 << 20) },
                beside: {
                    try StandardStreams.write(text.span, to: .output)
                    close(1)
                })
            try #require(found == text)
        }
    }
}

/// Waits until another thread has handled a signal.
private func arrival(at signals: Signals) async throws {
    for _ in 0..<10_000 where signals.pending == nil { try await Task.sleep(for: .milliseconds(1)) }
}

@Suite("Fail points")
struct FailPointTests {
    @Test("do nothing unless a test hands in what they do")
    func hits() throws {
        let seen = Locked<[FailPoint]>([])
        for point in FailPoint.allCases { try FailPoints.none.hit(point) }
        let points = FailPoints { point throws(Errno) in
            seen.withLock { $0.append(point) }
            if point == .commitBeforeRef { throw .interrupted }
        }
        try points.hit(.refBeforeRename)
        #expect(throws: Errno.interrupted) { try points.hit(.commitBeforeRef) }
        #expect(seen.withLock { $0 } == [.refBeforeRename, .commitBeforeRef])
    }

    @Test("have distinct names")
    func names() {
        #expect(Set(FailPoint.allCases.map(\.rawValue)).count == FailPoint.allCases.count)
    }
}

@Suite("A process knows its surroundings")
struct ProcessContextTests {
    @Test("arguments, environment and identity are those of the C library")
    func context() {
        #expect(ProcessContext.arguments.count == Int(CommandLine.argc))
        #expect(ProcessContext.arguments.first == Array(CommandLine.arguments[0].utf8))
        #expect(ProcessContext.environment("VT_SURELY_NOT_SET") == nil)
        #expect(ProcessContext.environmentText("PATH")?.isEmpty == false)
        #expect(ProcessContext.environmentEntries.contains { $0.starts(with: Array("PATH=".utf8)) })
        #expect(ProcessContext.processID == getpid())
        #expect(ProcessContext.effectiveUserID == geteuid())
        #expect(!ProcessContext.hostName.isEmpty)
    }

    @Test("core dumps can be turned off")
    func coreDumps() async {
        await #expect(processExitsWith: .success) {
            ProcessContext.disableCoreDumps()
            var limit = rlimit()
            try #require(unsafe getrlimit(__rlimit_resource_t(4), &limit) == 0)
            try #require(limit.rlim_cur == 0 && limit.rlim_max == 0)
        }
    }

    @Test("an inherited descriptor is read to its end, within its limit")
    func descriptor() throws {
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        let text = Array("secret\n".utf8)
        try #require(unsafe write(ends[1], text, text.count) == text.count)
        close(ends[1])
        #expect(try StandardStreams.read(descriptor: ends[0], limit: 100) == text)
        close(ends[0])
        #expect(throws: Errno.badDescriptor) { try StandardStreams.read(descriptor: 987, limit: 100) }
    }

    @Test("what is no terminal is told so, and still has a width")
    func noTerminal() async {
        #expect(!Terminal.isTerminal(987))
        await #expect(processExitsWith: .success) {
            TestEnvironment.set("COLUMNS", "")
            try #require(Terminal.width(of: 987) == 80)
            TestEnvironment.set("COLUMNS", "-3")
            try #require(Terminal.width(of: 987) == 80)
            TestEnvironment.set("COLUMNS", "132")
            try #require(Terminal.width(of: 987) == 132)
        }
    }

    @Test("without a terminal a question fails instead of reading standard input")
    func noQuestion() async {
        await #expect(processExitsWith: .success) {
            // A session of its own has no controlling terminal.
            _ = setsid()
            try #require(!Terminal.isAvailable)
            do throws(Errno) {
                _ = try Terminal.ask("? ", hidden: true)
                Issue.record("it asked")
            } catch {
                try #require(error == .noSuchDevice)
            }
        }
    }
}
