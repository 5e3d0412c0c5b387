internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// One JSON line per request, without queries, tokens, keys or bodies.
final class AccessLog: Sendable {
    /// What is told of a request.
    struct Record: Sendable {
        let client: String
        let method: String
        /// Decoded and without the query, which holds the signatures.
        let path: String
        let status: Int
        let received: Int64
        let sent: Int64
        let durationNs: Int64
        /// The name of the token, never the token.
        let token: String?
        /// The whole answer went out.
        let isComplete: Bool
    }

    private struct State {
        var file: any File
        var hasFailed = false
    }

    private let path: FilePath
    private let environment: VaultEnvironment
    private let report: @Sendable (String) -> Void
    private let state: Locked<State>

    init(
        _ path: FilePath, environment: VaultEnvironment, report: @escaping @Sendable (String) -> Void
    ) throws(VaultError) {
        self.path = path
        self.environment = environment
        self.report = report
        do throws(Errno) {
            state = Locked(State(file: try Self.open(path, environment)))
        } catch {
            throw .io(error, "cannot open the access log \(path)")
        }
    }

    private static func open(_ path: FilePath, _ environment: VaultEnvironment) throws(Errno) -> any File {
        guard let name = path.lastComponent else { throw .isADirectory }
        return try environment.fileSystem.openDirectory(path.parent).openForAppending(name, mode: 0o640)
    }

    /// Opens the file again, which log rotation may have moved away.
    func reopen() {
        do throws(Errno) {
            let file = try Self.open(path, environment)
            state.withLock { $0 = State(file: file) }
        } catch {
            report("the access log \(path) can not be opened again: \(error)")
        }
    }

    /// Writes a line; a log that can not be written stops no request and is reported once.
    func add(_ record: Record) {
        let value = JSONValue.record([
            "at": .string(LocalTime.utc(ms: environment.clock.nowMs, milliseconds: true)),
            "client": .string(record.client), "method": .string(record.method), "path": .string(record.path),
            "status": .integer(Int64(record.status)), "received": .integer(record.received),
            "sent": .integer(record.sent), "us": .integer(record.durationNs / 1000),
            "token": .optional(record.token), "complete": .bool(record.isComplete),
        ])
        var line = JSONWriter.bytes(value, .compact)
        line.append(UInt8(ascii: "\n"))
        let bytes = line
        let failure = state.withLock { state -> Errno? in
            do throws(Errno) {
                try state.file.write(bytes.span)
                state.hasFailed = false
                return nil
            } catch {
                defer { state.hasFailed = true }
                return state.hasFailed ? nil : error
            }
        }
        if let failure { report("the access log \(path) can not be written: \(failure)") }
    }
}
