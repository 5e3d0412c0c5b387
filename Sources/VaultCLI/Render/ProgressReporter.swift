internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Shows on standard error how far a long operation has come (spec 10 B.9).
final class ProgressReporter: Observer {
    /// How progress is shown.
    enum Mode: Sendable {
        case none
        /// One line, redrawn.
        case redraw
        /// One line per phase, and none before two seconds.
        case lines
        /// One JSON object per line.
        case json
    }

    /// How far something has come, whichever library does it.
    struct Step {
        /// A word for what is being done.
        let name: String
        let done: Int
        var total: Int?
        var bytes: Int64 = 0
        var totalBytes: Int64?
    }

    private struct State {
        var phase: String?
        var phaseStartNs: Int64 = 0
        var lastShownNs: Int64 = .min
        var lastMovedNs: Int64 = 0
        var hasLine = false
        var latest: Step?
    }

    private let mode: Mode
    private let messages: Messages
    private let columns: Int
    private let clock: any Clock
    private let startNs: Int64
    private let trace: TraceLog?
    private let state: Locked<State>

    private static let redrawNs: Int64 = 100_000_000
    private static let patienceNs: Int64 = 2_000_000_000
    private static let stallNs: Int64 = 60_000_000_000

    init(mode: Mode, messages: Messages, columns: Int, clock: any Clock, trace: TraceLog? = nil) {
        self.mode = mode
        self.messages = messages
        self.columns = columns
        self.clock = clock
        self.trace = trace
        startNs = clock.monotonicNs
        state = Locked(State(lastMovedNs: clock.monotonicNs))
    }

    func progress(_ progress: Progress) {
        step(
            Step(
                name: progress.phase.rawValue, done: progress.done, total: progress.total, bytes: progress.bytes,
                totalBytes: progress.totalBytes))
    }

    /// Notes how far something has come, and shows it when that is due.
    func step(_ step: Step) {
        guard mode != .none || trace != nil else { return }
        let now = clock.monotonicNs
        let (isNew, shown) = state.withLock { state -> (Bool, Step?) in
            let isNew = state.phase != step.name
            if isNew {
                state.phase = step.name
                state.phaseStartNs = now
                state.hasLine = false
                state.lastShownNs = .min
            }
            state.latest = step
            state.lastMovedNs = now
            return (isNew, isDue(&state, now) ? step : nil)
        }
        if isNew { trace?.step(step.name) }
        if let shown { show(shown) }
    }

    func warning(_ text: String) {
        messages.warning(text)
    }

    /// Called about once a second while a remote is waited for: shows what has not been shown, and what is waited for
    /// when nothing has moved for a minute.
    func tick() {
        guard mode != .none else { return }
        let now = clock.monotonicNs
        let (shown, stalled) = state.withLock { state -> (Step?, String?) in
            let stalled = now - state.lastMovedNs >= Self.stallNs ? state.phase : nil
            if stalled != nil { state.lastMovedNs = now }
            guard let latest = state.latest, isDue(&state, now) else { return (nil, stalled) }
            return (latest, stalled)
        }
        if let shown { show(shown) }
        if let stalled { messages.note("nothing has moved for a minute; still waiting for \(stalled)") }
    }

    private func isDue(_ state: inout State, _ now: Int64) -> Bool {
        switch mode {
        case .none: return false
        case .redraw, .json:
            guard state.lastShownNs == .min || now - state.lastShownNs >= Self.redrawNs else { return false }
            state.lastShownNs = now
            return true
        case .lines:
            guard !state.hasLine, now - startNs >= Self.patienceNs else { return false }
            state.hasLine = true
            return true
        }
    }

    private func show(_ progress: Step) {
        switch mode {
        case .none: return
        case .redraw: messages.progress(redraw: String(text(progress).prefix(max(columns - 1, 1))))
        case .lines: messages.progressLine(text(progress))
        case .json:
            messages.progressLine(
                JSONWriter.text(
                    .record([
                        "progress": .string(progress.name),
                        "done": .count(progress.done),
                        "total": .optional(progress.total),
                        "bytes": .integer(progress.bytes),
                        "total_bytes": .optional(progress.totalBytes),
                    ]), .compact))
        }
    }

    private func text(_ progress: Step) -> String {
        var text = "\(progress.name) \(progress.done)"
        if let total = progress.total { text += "/\(total)" }
        if progress.bytes > 0 || progress.totalBytes != nil {
            text += ", \(TextRenderer.size(progress.bytes))"
            if let total = progress.totalBytes { text += " of \(TextRenderer.size(total))" }
        }
        return text
    }
}

extension Call {
    /// Who is told about progress and warnings of this run.
    func observer() -> ProgressReporter {
        let sink = surroundings.standardError
        let mode: ProgressReporter.Mode =
            switch arguments.last(GlobalOptions.progress).map({ String(decoding: $0, as: UTF8.self) }) {
            case "never": .none
            case "json": .json
            case "always": sink.isTerminal ? .redraw : .lines
            default: has(GlobalOptions.quiet) ? .none : sink.isTerminal ? .redraw : .lines
            }
        return ProgressReporter(
            mode: mode, messages: messages, columns: sink.columns ?? 80, clock: surroundings.vault.clock,
            trace: trace)
    }
}
