internal import VaultSystem

/// Standard output through a pager that is started with the first bytes, so that a verb that fails shows none.
final class PagedOutput: OutputSink {
    private enum State {
        case waiting
        case paging(any Pager)
        /// The pager could not be started.
        case direct
    }

    private let command: String
    private let processes: any ProcessRunner
    private let direct: any OutputSink
    private let state = Locked(State.waiting)

    /// The paged form of a terminal, or nil where nothing is paged (spec 10 B.9).
    static func make(for call: ParsedArguments, surroundings: Surroundings, settings: () throws -> Settings) rethrows
        -> PagedOutput?
    {
        guard call.verb?.pages ?? true, surroundings.standardOutput.isTerminal, !call.has(GlobalOptions.noPager),
            !call.has(GlobalOptions.json)
        else { return nil }
        let command =
            try surroundings.text("VAULTCTL_PAGER") ?? surroundings.text("PAGER") ?? settings().text(.pager) ?? ""
        guard !command.isEmpty, command != "cat" else { return nil }
        return PagedOutput(
            command: command, processes: surroundings.processes, direct: surroundings.standardOutput)
    }

    private init(command: String, processes: any ProcessRunner, direct: any OutputSink) {
        self.command = command
        self.processes = processes
        self.direct = direct
    }

    func write(_ bytes: [UInt8]) throws(Errno) {
        let sink = state.withLock { state -> any OutputSink in
            if case .waiting = state {
                state = (try? processes.startPager(command)).map { .paging($0) } ?? .direct
            }
            if case .paging(let pager) = state { return pager }
            return direct
        }
        try sink.write(bytes)
    }

    /// Waits until the person has read enough.
    func finish() {
        let pager = state.withLock { state -> (any Pager)? in
            if case .paging(let pager) = state { pager } else { nil }
        }
        pager?.finish()
    }

    var isTerminal: Bool { true }
    var columns: Int? { direct.columns }
    var isExposedFile: Bool { false }
}
