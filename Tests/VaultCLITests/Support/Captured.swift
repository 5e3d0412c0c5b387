internal import VaultCLI
internal import VaultSystem

/// A stream that keeps what is written to it.
final class Captured: OutputSink {
    private let bytes = Locked<[UInt8]>([])
    private let failure: Errno?
    let isTerminal: Bool
    let isExposedFile: Bool
    let columns: Int?

    init(isTerminal: Bool = false, isExposedFile: Bool = false, failure: Errno? = nil) {
        self.isTerminal = isTerminal
        self.isExposedFile = isExposedFile
        self.failure = failure
        columns = isTerminal ? 80 : nil
    }

    func write(_ bytes: [UInt8]) throws(Errno) {
        if let failure { throw failure }
        self.bytes.withLock { $0 += bytes }
    }

    var all: [UInt8] { bytes.withLock { $0 } }
    var text: String { String(decoding: all, as: UTF8.self) }
}

/// Descriptors with fixed content.
struct FixedInput: InputSource {
    var descriptors: [Int32: [UInt8]] = [:]

    func read(descriptor: Int32, limit: Int) throws(Errno) -> [UInt8] {
        guard let bytes = descriptors[descriptor] else {
            if descriptor == 0 { return [] }
            throw .badDescriptor
        }
        guard bytes.count <= limit else { throw .fileTooLarge }
        return bytes
    }

    var streamDescriptor: Int32? { nil }
    var isTerminal: Bool { false }
}

/// A terminal that answers what it was told to, and keeps what it was shown.
final class FakeTerminal: PromptTerminal {
    let isAvailable: Bool
    private let state: Locked<(answers: [String], shown: String, hidden: Int)>

    init(isAvailable: Bool = false, answers: [String] = []) {
        self.isAvailable = isAvailable
        state = Locked((answers: answers, shown: "", hidden: 0))
    }

    func show(_ text: String) throws(Errno) {
        guard isAvailable else { throw .noSuchDevice }
        state.withLock { $0.shown += text }
    }

    func ask(_ question: String, hidden: Bool) throws(Errno) -> [UInt8] {
        guard isAvailable else { throw .noSuchDevice }
        return state.withLock { state in
            state.shown += question
            if hidden { state.hidden += 1 }
            return state.answers.isEmpty ? [] : Array(state.answers.removeFirst().utf8)
        }
    }

    var shown: String { state.withLock { $0.shown } }
    var hiddenQuestions: Int { state.withLock { $0.hidden } }
}

/// Commands that are not run: each gives a fixed answer.
final class FakeProcesses: ProcessRunner {
    private let commands = Locked<[String]>([])
    let output: [UInt8]
    let exit: Int32
    /// What an editor leaves in its file, which is the last word of its command.
    let edited: String?
    let pager = Captured(isTerminal: true)

    init(output: [UInt8] = [], exit: Int32 = 0, edited: String? = nil) {
        self.output = output
        self.exit = exit
        self.edited = edited
    }

    func capture(
        _ command: String, in directory: FilePath, limit: Int
    ) throws(Errno) -> (output: [UInt8], exit: Int32) {
        commands.withLock { $0.append(command) }
        return (output, exit)
    }

    func interact(_ command: String, in directory: FilePath) throws(Errno) -> Int32 {
        commands.withLock { $0.append(command) }
        if let edited, let start = command.firstIndex(of: "'") {
            let path = FilePath(String(command[command.index(after: start)...].dropLast()))
            let folder = try LinuxFileSystem().openDirectory(path.parent)
            let name = path.lastComponent ?? []
            try folder.removeFile(name)
            try folder.createFile(name, mode: 0o600).write(Array(edited.utf8).span)
        }
        return exit
    }

    func startPager(_ command: String) throws(Errno) -> any Pager {
        commands.withLock { $0.append(command) }
        return FakePager(sink: pager)
    }

    var run: [String] { commands.withLock { $0 } }
}

/// A pager whose pages are kept.
private struct FakePager: Pager {
    let sink: Captured

    func write(_ bytes: [UInt8]) throws(Errno) { try sink.write(bytes) }
    func finish() {}
    var isTerminal: Bool { true }
    var columns: Int? { 80 }
    var isExposedFile: Bool { false }
}
