internal import VaultSystem

/// Notes, warnings, errors and progress, on standard error.
///
/// Every text passes the redaction filter and loses its control characters.
final class Messages: Sendable {
    /// What no message may repeat.
    let secrets = KnownSecrets()
    private let sink: any OutputSink
    private let isQuiet: Bool
    private let givesAdvice: Bool
    /// What erases the progress line that stands on the terminal at this moment.
    private let eraser = Locked<[UInt8]>([])
    /// Somebody is answering a question on the terminal.
    private let isAsking = Locked(false)

    init(sink: any OutputSink, isQuiet: Bool, givesAdvice: Bool) {
        self.sink = sink
        self.isQuiet = isQuiet
        self.givesAdvice = givesAdvice && !isQuiet && sink.isTerminal
    }

    /// Something that went wrong and ends the run, with one command that mends it.
    func error(_ failure: Failure, verbosity: Int) {
        send("vaultctl: \(failure.message)")
        if let hint = failure.hint { send("hint: \(hint)") }
        if verbosity > 1, let details = failure.details { send("detail: \(details)") }
    }

    /// Something that a person should know although the run goes on.
    ///
    /// * `isSecurity`: Somebody may be deceived; quiet runs tell it too.
    func warning(_ text: String, isSecurity: Bool = false) {
        guard !isQuiet || isSecurity else { return }
        send("warning: \(clean(text))")
    }

    /// Something worth knowing.
    func note(_ text: String) {
        guard !isQuiet else { return }
        send("note: \(clean(text))")
    }

    /// What to do next; for people only.
    func advice(_ command: String) {
        guard givesAdvice else { return }
        send("next: \(clean(command))")
    }

    /// Lines of help.
    func plain(_ lines: [String]) {
        send(lines.joined(separator: "\n"))
    }

    /// A line of progress that stays.
    func progressLine(_ text: String) {
        send(clean(text))
    }

    /// A line of progress that the next one replaces.
    func progress(redraw text: String) {
        guard !isAsking.withLock({ $0 }) else { return }
        eraser.withLock { eraser in
            let line = Array(clean(text).utf8)
            let blanks = max(0, eraser.count - 2 - line.count)
            write([UInt8(ascii: "\r")] + line + [UInt8](repeating: UInt8(ascii: " "), count: blanks))
            eraser =
                [UInt8(ascii: "\r")] + [UInt8](repeating: UInt8(ascii: " "), count: line.count)
                + [UInt8(ascii: "\r")]
        }
    }

    /// Takes the line of progress away.
    func eraseProgress() {
        eraser.withLock { eraser in
            write(eraser)
            eraser = []
        }
    }

    /// Runs a question on the terminal, where no progress gets in its way.
    func whileAsking<Answer: ~Copyable>(_ ask: () throws -> Answer) throws -> Answer {
        isAsking.withLock { $0 = true }
        defer { isAsking.withLock { $0 = false } }
        eraseProgress()
        return try ask()
    }

    private func clean(_ text: String) -> String {
        secrets.redacted(TextSafety.line(text))
    }

    private func send(_ text: String) {
        eraser.withLock { eraser in
            write(eraser + Array(text.utf8) + [UInt8(ascii: "\n")])
            eraser = []
        }
    }

    /// Nobody can be told that standard error is closed.
    private func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        try? sink.write(bytes)
    }
}
