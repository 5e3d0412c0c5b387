internal import Glibc

/// The process's standard streams, without buffers.
package enum StandardStreams {
    /// Where output goes.
    package enum Output: Int32, Sendable {
        case output = 1
        case error = 2
    }

    /// Occupies each of the descriptors 0 to 2 that the process was started without.
    ///
    /// Otherwise the first files that are opened would get these numbers, and what is meant for a standard stream would
    /// be written into them. To be called before any file is opened.
    package static func reserve() throws(Errno) {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) == -1 {
            // Opened the wrong way round, so that using the stream still fails as it does on a closed descriptor.
            let opened = unsafe open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
            guard opened == descriptor else { throw opened < 0 ? Errno(rawValue: errno) : .badDescriptor }
        }
    }

    /// Makes sure that so many files can be opened at once, of which none is.
    ///
    /// The runtime of asynchronous code ends the process where it can not have the two or three that it needs.
    package static func requireDescriptors(_ count: Int) throws(Errno) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = fcntl(0, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { throw Errno(rawValue: errno) }
            opened.append(descriptor)
        }
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
