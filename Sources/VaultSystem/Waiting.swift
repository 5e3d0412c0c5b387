internal import CSystemShim
internal import Glibc

/// Waits that a noted signal ends.
///
/// A signal may arrive in another thread and not interrupt this one, so it is looked for between short waits.
enum Waiting {
    /// Milliseconds between two looks.
    private static let stepMs: Int32 = 50

    /// Waits until a read would not block.
    /// - Throws: `Errno.interrupted` after a signal.
    static func forData(on descriptor: Int32) throws(Errno) {
        try wait(for: POLLIN, on: descriptor)
    }

    /// Waits until a write would not block.
    /// - Throws: `Errno.interrupted` after a signal.
    static func forRoom(on descriptor: Int32) throws(Errno) {
        try wait(for: POLLOUT, on: descriptor)
    }

    /// Lets a few milliseconds pass.
    /// - Throws: `Errno.interrupted` after a signal.
    static func pause(milliseconds: Int32) throws(Errno) {
        _ = poll(nil, 0, milliseconds)
        try check()
    }

    private static func wait(for event: Int32, on descriptor: Int32) throws(Errno) {
        while true {
            var wanted = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            let ready = unsafe poll(&wanted, 1, stepMs)
            let code = errno
            try check()
            // An end or an error of the other side counts as ready: the call that follows tells it.
            if ready > 0 { return }
            if ready < 0, code != EINTR { throw Errno(rawValue: code) }
        }
    }

    private static func check() throws(Errno) {
        if vs_signals_pending() != 0 { throw .interrupted }
    }
}
