internal import VaultCore
internal import VaultFormat
internal import VaultHTTP
internal import VaultSystem

/// What a run does, step by step, as JSON lines for whoever looks into it (spec 10 B.6, `VAULTCTL_TRACE`).
///
/// It holds no header, no argument and no content; texts pass the filter for secrets all the same.
final class TraceLog: Sendable {
    private enum Sink: Sendable {
        case file(any File)
        case standardError
    }

    private let sink: Sink
    private let messages: Messages
    private let clock: any Clock
    private let startNs: Int64
    /// One line at a time.
    private let order = Locked(())

    /// The log that the environment asks for; nil for none.
    ///
    /// A place that can not be written to is told, and the run goes on without.
    static func opened(for call: Call) -> TraceLog? {
        guard let name = call.surroundings.environment["VAULTCTL_TRACE"], !name.isEmpty else { return nil }
        guard name != Array("2".utf8) else { return TraceLog(.standardError, call) }
        do {
            return TraceLog(.file(try file(name, call)), call)
        } catch {
            let failure = Failure(error, secrets: call.messages.secrets)
            call.messages.warning("VAULTCTL_TRACE has no effect: \(failure.message)")
            return nil
        }
    }

    private static func file(_ name: [UInt8], _ call: Call) throws -> any File {
        let path = try call.outputFile(name)
        guard let last = path.lastComponent else { throw Errno.isADirectory }
        do throws(Errno) {
            let file = try call.surroundings.vault.fileSystem.openDirectory(path.parent)
                .openForAppending(last, mode: 0o600)
            guard try file.status().kind == .regular else { throw .notSupported }
            return file
        } catch {
            throw VaultError.io(error, "cannot write \(path.text)", path: path.text)
        }
    }

    private init(_ sink: Sink, _ call: Call) {
        self.sink = sink
        messages = call.messages
        clock = call.surroundings.vault.clock
        startNs = clock.monotonicNs
    }

    /// A verb begins.
    func began(_ verb: String) {
        write(
            "start",
            [
                "verb": .string(verb), "version": .string(Version.number),
                "pid": .integer(Int64(ProcessContext.processID)),
            ])
    }

    /// A part of a verb's work begins.
    func step(_ name: String) {
        write("step", ["step": .string(name)])
    }

    /// A request has ended.
    func request(_ request: RequestTrace) {
        write(
            "request",
            [
                "method": .string(request.method), "url": text(request.url), "status": .count(request.status),
                "failure": request.failure.map(text) ?? .null, "ms": .integer(request.milliseconds),
                "sent": .integer(request.sent), "received": .integer(request.received),
                "http": .count(request.httpVersion), "reused": .bool(request.isReused),
            ])
    }

    /// A verb has ended.
    func ended(exit: Int32) {
        write(
            "end", ["exit": .integer(Int64(exit)), "ms": .integer((clock.monotonicNs - startNs) / 1_000_000)])
    }

    private func text(_ text: String) -> JSONValue { .string(messages.secrets.redacted(TextSafety.line(text))) }

    private func write(_ event: String, _ members: KeyValuePairs<String, JSONValue>) {
        let line = [JSONMember].record(["at_ms": .integer(clock.nowMs), "event": .string(event)]) + .record(members)
        let text = JSONWriter.text(.object(line), .compact)
        switch sink {
        case .standardError: messages.plain([text])
        case .file(let file):
            let bytes = Array((text + "\n").utf8)
            // A full disk ends no command.
            order.withLock { _ in try? file.write(bytes.span) }
        }
    }
}
