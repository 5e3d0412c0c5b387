internal import VaultCore
internal import VaultSystem

extension Surroundings {
    /// The process as it is.
    package static func process() -> Surroundings {
        let environment = SystemEnvironment.all()
        let signals = Signals.install()
        let machine = VaultEnvironment.production()
        var clock = machine.clock
        if let text = environment[FixedClock.variable].map({ String(decoding: $0, as: UTF8.self) }),
            let ms = FixedClock.milliseconds(text)
        {
            clock = FixedClock(wallMs: ms, running: clock)
        }
        let vault = VaultEnvironment(
            fileSystem: machine.fileSystem, clock: clock, random: machine.random, failPoints: machine.failPoints,
            pool: WorkerPool(cancellation: signals))
        // A working directory that was deleted fails whatever needs it, by its name, and nothing else.
        let here = (try? vault.fileSystem.currentDirectory()) ?? "."
        return Surroundings(
            environment: environment, workingDirectory: here,
            standardInput: SystemInput(), standardOutput: SystemOutput(stream: .output),
            standardError: SystemOutput(stream: .error), terminal: SystemTerminal(), processes: SystemProcesses(),
            cancellation: signals, systemConfiguration: "/etc/vaultctl/config.json", vault: vault)
    }
}

/// The environment as a dictionary.
enum SystemEnvironment {
    static func all() -> [String: [UInt8]] {
        var variables: [String: [UInt8]] = [:]
        for entry in ProcessContext.environmentEntries {
            guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(decoding: entry[..<equals], as: UTF8.self)
            // The first of several counts, as for getenv.
            if variables[name] == nil { variables[name] = Array(entry[(equals + 1)...]) }
        }
        return variables
    }
}

/// A clock whose wall time stands still (`SOURCE_DATE_EPOCH`), so that commits come out the same every time.
struct FixedClock: Clock {
    let wallMs: Int64
    let running: any Clock

    var nowNs: Int64 { wallMs * 1_000_000 }
    var monotonicNs: Int64 { running.monotonicNs }

    /// What it is set by, in seconds since 1970.
    static let variable = "SOURCE_DATE_EPOCH"

    /// Nil when the text is no number of seconds, or the time none that the formats can hold.
    static func milliseconds(_ text: String) -> Int64? {
        guard let seconds = Int64(text), (0...9_000_000_000).contains(seconds) else { return nil }
        return seconds * 1000
    }
}

private struct SystemInput: InputSource {
    func read(descriptor: Int32, limit: Int) throws(Errno) -> [UInt8] {
        try StandardStreams.read(descriptor: descriptor, limit: limit)
    }

    var streamDescriptor: Int32? { 0 }
    var isTerminal: Bool { Terminal.isTerminal(0) }
}

private struct SystemOutput: OutputSink {
    let stream: StandardStreams.Output

    func write(_ bytes: [UInt8]) throws(Errno) {
        try StandardStreams.write(bytes.span, to: stream)
    }

    var isTerminal: Bool { Terminal.isTerminal(stream.rawValue) }
    var columns: Int? { Terminal.width(of: stream.rawValue) }

    var isExposedFile: Bool {
        guard let file = try? LinuxFile(duplicating: stream.rawValue), let status = try? file.status() else {
            return false
        }
        return status.kind == .regular && status.mode & 0o044 != 0
    }
}

private struct SystemTerminal: PromptTerminal {
    var isAvailable: Bool { Terminal.isAvailable }

    func show(_ text: String) throws(Errno) {
        try Terminal.show(text)
    }

    func ask(_ question: String, hidden: Bool) throws(Errno) -> [UInt8] {
        try Terminal.ask(question, hidden: hidden)
    }
}

private struct SystemProcesses: ProcessRunner {
    func capture(
        _ command: String, in directory: FilePath, limit: Int
    ) throws(Errno) -> (output: [UInt8], exit: Int32) {
        let outcome = try Subprocess.capture(
            try moved(command, to: directory), removingFromEnvironment: Surroundings.secretVariables, limit: limit)
        return (outcome.output, outcome.exitCode)
    }

    func interact(_ command: String, in directory: FilePath) throws(Errno) -> Int32 {
        try Subprocess.run(
            try moved(command, to: directory), removingFromEnvironment: Surroundings.secretVariables)
    }

    func startPager(_ command: String) throws(Errno) -> any Pager {
        SystemPager(
            process: try Subprocess.Sink(command, removingFromEnvironment: Surroundings.secretVariables))
    }

    /// A command that starts where `-C` says.
    private func moved(_ command: String, to directory: FilePath) throws(Errno) -> String {
        guard directory != (try LinuxFileSystem().currentDirectory()) else { return command }
        guard let text = String(validating: directory.bytes, as: UTF8.self) else { throw .invalidArgument }
        return "cd -- \(ShellWord.quoted(text)) || exit 126\n\(command)"
    }
}

private struct SystemPager: Pager {
    let process: Subprocess.Sink

    func write(_ bytes: [UInt8]) throws(Errno) {
        try process.write(bytes.span)
    }

    func finish() {
        _ = try? process.finish()
    }

    var isTerminal: Bool { true }
    var columns: Int? { Terminal.width(of: 1) }
    var isExposedFile: Bool { false }
}
