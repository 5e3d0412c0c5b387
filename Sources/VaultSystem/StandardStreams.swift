internal import Glibc

/// The process's standard streams, without buffers.
package enum StandardStreams {
    /// Where output goes.
    package enum Output: Int32, Sendable {
        case output = 1
        case error = 2
    }

    /// Writes all bytes; `Errno.brokenPipe` when nobody reads any more.
    package static func write(_ bytes: Span<UInt8>, to stream: Output) throws(Errno) {
        try LinuxFile.writeAll(bytes, to: stream.rawValue)
    }

    package static func write(_ text: String, to stream: Output) throws(Errno) {
        var text = text
        text.makeContiguousUTF8()
        try write(text.utf8.span, to: stream)
    }

    /// Reads an inherited descriptor (0 for standard input) to its end; `Errno.fileTooLarge` beyond `limit` bytes.
    package static func read(descriptor: Int32, limit: Int) throws(Errno) -> [UInt8] {
        try LinuxFile(duplicating: descriptor).readToEnd(limit: limit)
    }
}
