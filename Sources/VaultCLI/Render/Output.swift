internal import VaultCore
package import VaultSystem

/// Where a stream of results or messages goes.
package protocol OutputSink: Sendable {
    /// Writes all bytes. `Errno.brokenPipe` when the reader is gone.
    func write(_ bytes: [UInt8]) throws(Errno)
    /// A person watches.
    var isTerminal: Bool { get }
    /// Columns of the terminal, if it is one that tells.
    var columns: Int? { get }
    /// A regular file that its group or others can read.
    var isExposedFile: Bool { get }
}

/// The reader of standard output went away, or the disk behind it is full.
struct OutputFailure: Error {
    let errno: Errno

    /// What is told of it: work that is done is not to be done again for the sake of its report.
    func failure(workIsDone: Bool) -> VaultError {
        let known = VaultError.io(errno, "cannot write to standard output")
        let message =
            workIsDone ? "the work was done, but its report could not be written: \(errno)" : known.message
        return VaultError(known.code, message, cause: errno)
    }
}

/// Standard output with a buffer, for results only: nothing else is ever written here (spec 10 B.1).
final class Output: Sendable {
    private let sink: any OutputSink
    private let buffer = Locked<[UInt8]>([])
    private static let flushSize = 64 << 10

    init(sink: any OutputSink) {
        self.sink = sink
    }

    var isTerminal: Bool { sink.isTerminal }
    var isExposedFile: Bool { sink.isExposedFile }

    /// Adds bytes; they are written when enough have come together.
    func write(_ bytes: [UInt8]) throws {
        let full = buffer.withLock { buffer -> [UInt8] in
            buffer += bytes
            guard buffer.count >= Self.flushSize else { return [] }
            let full = buffer
            buffer = []
            return full
        }
        try send(full)
    }

    /// Adds a line.
    func line(_ text: String) throws {
        try write(Array(text.utf8) + [UInt8(ascii: "\n")])
    }

    /// Writes what has come together.
    func flush() throws {
        let rest = buffer.withLock { buffer -> [UInt8] in
            let rest = buffer
            buffer = []
            return rest
        }
        try send(rest)
    }

    /// Forgets what has not been written yet.
    func discard() {
        buffer.withLock { $0 = [] }
    }

    private func send(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        do throws(Errno) {
            try sink.write(bytes)
        } catch {
            throw OutputFailure(errno: error)
        }
    }
}
