internal import CSystemShim
internal import Glibc

/// An open file of the operating system; the descriptor is closed with the last reference.
package final class LinuxFile: File {
    let descriptor: Int32
    /// Whether reading and writing can take as long as somebody else likes; then a noted signal ends the wait.
    private let waits: Bool

    /// Takes over an open descriptor.
    init(owning descriptor: Int32, waits: Bool = false) {
        self.descriptor = descriptor
        self.waits = waits
    }

    /// A second handle on a descriptor that stays the caller's, for example standard input.
    ///
    /// What it is connected to is not known, so a noted signal ends reading and writing with `Errno.interrupted`.
    package init(duplicating descriptor: Int32) throws(Errno) {
        self.descriptor = try Syscalls.call { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
        waits = true
    }

    deinit {
        Syscalls.close(descriptor)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(Errno) -> Int {
        // The buffer is the caller's and as long as it says.
        guard waits else {
            return try Syscalls.count { unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
        }
        while true {
            try Waiting.forData(on: descriptor)
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            let code = errno
            // Another reader may have been faster.
            if code != EINTR, code != EAGAIN { throw Errno(rawValue: code) }
        }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno) -> Int {
        // The buffer is the caller's and as long as it says.
        try Syscalls.count { unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    package func write(_ bytes: Span<UInt8>) throws(Errno) {
        try Self.writeAll(bytes, to: descriptor, waits: waits)
    }

    package func write(_ bytes: Span<UInt8>, at offset: Int64) throws(Errno) {
        var done = 0
        while done < bytes.count {
            let rest = bytes.extracting(done...)
            let place = off_t(offset) + off_t(done)
            var failure: Errno?
            // The span's memory is lent for one call; withUnsafeBytes passes no typed error on.
            done += unsafe rest.withUnsafeBytes { buffer in
                do throws(Errno) {
                    return try Syscalls.count { unsafe pwrite(descriptor, buffer.baseAddress, buffer.count, place) }
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
        }
    }

    /// A second descriptor for the same open file, which the caller has to close.
    package func duplicateDescriptor() throws(Errno) -> Int32 {
        try Syscalls.call { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    }

    /// Writes all bytes to a descriptor, continuing after short writes.
    ///
    /// * `waits`: A noted signal ends the wait for a slow reader.
    static func writeAll(_ bytes: Span<UInt8>, to descriptor: Int32, waits: Bool = false) throws(Errno) {
        var done = 0
        while done < bytes.count {
            if waits { try Waiting.forRoom(on: descriptor) }
            let rest = bytes.extracting(done...)
            var failure: Errno?
            // The span's memory is lent for one call; withUnsafeBytes passes no typed error on.
            done += unsafe rest.withUnsafeBytes { buffer in
                do throws(Errno) {
                    return try Syscalls.count { unsafe Glibc.write(descriptor, buffer.baseAddress, buffer.count) }
                } catch {
                    failure = error
                    return 0
                }
            }
            // Somebody made the descriptor non-blocking, or there was less room than the wait told of.
            if failure == .wouldBlock {
                try Waiting.forRoom(on: descriptor)
            } else if let failure {
                throw failure
            }
        }
    }

    package func sync() throws(Errno) {
        _ = try Syscalls.call { fsync(descriptor) }
    }

    package func status() throws(Errno) -> FileStatus {
        var found = vs_status()
        _ = try Syscalls.call { unsafe vs_status_of_descriptor(descriptor, &found) }
        return FileStatus(found)
    }

    package func setMode(_ mode: UInt32) throws(Errno) {
        _ = try Syscalls.call { fchmod(descriptor, mode_t(mode)) }
    }

    package func truncate(to size: Int64) throws(Errno) {
        _ = try Syscalls.call { ftruncate(descriptor, off_t(size)) }
    }

    package func seek(to offset: Int64) throws(Errno) {
        guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw Errno(rawValue: errno) }
    }

    package func lock(wait: Bool) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try Syscalls.call { flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB) }
            return true
        } catch {
            if error == .wouldBlock, !wait { return false }
            throw error
        }
    }

    package func unlock() throws(Errno) {
        _ = try Syscalls.call { flock(descriptor, LOCK_UN) }
    }
}
