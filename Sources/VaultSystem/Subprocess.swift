internal import CSystemShim
internal import Glibc

/// Shell commands that a user configured: key commands, the pager, the editor.
package enum Subprocess {
    /// How a command ended.
    package struct Outcome: Sendable, Equatable {
        /// The exit code, or 128 + signal.
        package let exitCode: Int32
        /// What it wrote to standard output.
        package let output: [UInt8]
    }

    /// Runs a command through `/bin/sh -c`, without input, and collects what it writes; standard error is passed
    /// through.
    /// - Throws: `Errno.fileTooLarge` when it writes more than `limit` bytes, `.interrupted` after a signal; it is ended
    ///   then.
    package static func capture(
        _ command: String, removingFromEnvironment removed: Set<String>, limit: Int
    ) throws(Errno) -> Outcome {
        let ends = try makePipe()
        let reading = LinuxFile(owning: ends.reading, waits: true)
        let process: Int32
        do throws(Errno) {
            process = try spawn(command, without: removed, input: -1, output: ends.writing)
            Syscalls.close(ends.writing)
        } catch {
            Syscalls.close(ends.writing)
            throw error
        }
        do throws(Errno) {
            let output = try reading.readToEnd(limit: limit)
            // It may go on after it has closed its output.
            return Outcome(exitCode: try waitForEnd(of: process), output: output)
        } catch {
            end(process)
            throw error
        }
    }

    /// Waits for a command; a noted signal ends the wait with `Errno.interrupted`.
    private static func waitForEnd(of process: Int32) throws(Errno) -> Int32 {
        var stepMs: Int32 = 1
        while true {
            if let code = try endedCode(of: process) { return code }
            try Waiting.pause(milliseconds: stepMs)
            stepMs = min(stepMs * 2, 20)
        }
    }

    /// Asks a command to end, makes it end a moment later, and takes its exit code from the system.
    private static func end(_ process: Int32) {
        _ = kill(process, SIGTERM)
        for _ in 0..<20 {
            // Gone, or no child any more.
            do throws(Errno) {
                if try endedCode(of: process) != nil { return }
            } catch { return }
            _ = poll(nil, 0, 5)
        }
        _ = kill(process, SIGKILL)
        _ = try? wait(process)
    }

    /// The exit code of a command that has ended; nil while it runs.
    private static func endedCode(of process: Int32) throws(Errno) -> Int32? {
        var status: Int32 = 0
        let found = try Syscalls.call { unsafe waitpid(process, &status, WNOHANG) }
        return found == 0 ? nil : vs_exit_code(status)
    }

    /// Runs a command on the user's terminal and waits for it; gives its exit code.
    package static func run(
        _ command: String, removingFromEnvironment removed: Set<String>
    ) throws(Errno) -> Int32 {
        try wait(try spawn(command, without: removed, input: 0, output: -1))
    }

    /// A command that is fed through its standard input, for example a pager.
    package final class Sink: Sendable {
        private let process: Int32
        private let pipe: Locked<LinuxFile?>

        package init(_ command: String, removingFromEnvironment removed: Set<String>) throws(Errno) {
            let ends = try Subprocess.makePipe()
            defer { Syscalls.close(ends.reading) }
            pipe = Locked(LinuxFile(owning: ends.writing))
            process = try Subprocess.spawn(command, without: removed, input: ends.reading, output: -1)
        }

        /// Hands it bytes; `Errno.brokenPipe` when it no longer reads.
        package func write(_ bytes: Span<UInt8>) throws(Errno) {
            guard let file = pipe.withLock({ $0 }) else { throw .brokenPipe }
            try file.write(bytes)
        }

        /// Ends its input and waits for it; gives its exit code.
        package func finish() throws(Errno) -> Int32 {
            pipe.withLock { $0 = nil }
            return try Subprocess.wait(process)
        }
    }

    private static func makePipe() throws(Errno) -> (reading: Int32, writing: Int32) {
        var reading: Int32 = -1
        var writing: Int32 = -1
        _ = try Syscalls.call { unsafe vs_pipe(&reading, &writing) }
        return (reading, writing)
    }

    private static func spawn(
        _ command: String, without removed: Set<String>, input: Int32, output: Int32
    ) throws(Errno) -> Int32 {
        let kept = ProcessContext.environmentEntries.filter { entry in
            let name = entry.prefix { $0 != UInt8(ascii: "=") }
            return !removed.contains(String(decoding: name, as: UTF8.self))
        }
        // Copies for the length of the call; posix_spawn keeps none of them.
        var environment = unsafe kept.map { entry in unsafe strdup(entry.map { CChar(bitPattern: $0) } + [0]) }
        defer { unsafe environment.forEach { unsafe free($0) } }
        unsafe environment.append(nil)
        var process: Int32 = 0
        let result = unsafe vs_spawn_shell(command, environment, input, output, &process)
        guard result == 0 else { throw Errno(rawValue: result) }
        return process
    }

    private static func wait(_ process: Int32) throws(Errno) -> Int32 {
        var status: Int32 = 0
        _ = try Syscalls.call { unsafe waitpid(process, &status, 0) }
        return vs_exit_code(status)
    }
}
