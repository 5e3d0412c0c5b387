internal import CSystemShim
internal import Glibc

/// The terminal of the user, if there is one.
package enum Terminal {
    /// Whether a descriptor (0, 1, 2) is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }

    /// Columns to write on: `COLUMNS` when it is a positive number, else what the terminal says, else 80.
    package static func width(of descriptor: Int32 = 2) -> Int {
        if let text = ProcessContext.environmentText("COLUMNS"), let columns = Int(text), columns > 0 {
            return min(columns, 10_000)
        }
        let columns = Int(vs_terminal_columns(descriptor))
        return columns > 0 ? columns : 80
    }

    /// Whether a prompt could be shown and answered.
    package static var isAvailable: Bool {
        guard let descriptor = try? openTerminal() else { return false }
        Syscalls.close(descriptor)
        return true
    }

    /// Shows a question on the controlling terminal and reads one line, without its end.
    ///
    /// With `hidden` the answer is not echoed; the terminal's mode is put back on every way out, signals included.
    /// - Throws: `Errno.noSuchDevice` or what opening gave when there is no terminal, `.interrupted` after a signal,
    ///   `.fileTooLarge` beyond `limit` bytes.
    package static func ask(_ question: String, hidden: Bool, limit: Int = 4096) throws(Errno) -> [UInt8] {
        let descriptor = try openTerminal()
        defer { Syscalls.close(descriptor) }
        if hidden { _ = try Syscalls.call { vs_echo_off(descriptor) } }
        defer { if hidden { vs_echo_restore() } }
        try LinuxFile.writeAll(Array(question.utf8).span, to: descriptor)
        return try readLine(from: descriptor, limit: limit)
    }

    /// Shows text on the controlling terminal, whatever standard output is.
    package static func show(_ text: String) throws(Errno) {
        let descriptor = try openTerminal()
        defer { Syscalls.close(descriptor) }
        try LinuxFile.writeAll(Array(text.utf8).span, to: descriptor)
    }

    private static func openTerminal() throws(Errno) -> Int32 {
        try Syscalls.call { unsafe vs_open_at(AT_FDCWD, "/dev/tty", O_RDWR, 0) }
    }

    /// One line; a noted signal ends the wait, unlike that of every other read here.
    private static func readLine(from descriptor: Int32, limit: Int) throws(Errno) -> [UInt8] {
        var line: [UInt8] = []
        // An array that grows leaves copies behind, of a passphrase perhaps.
        line.reserveCapacity(limit)
        while true {
            // The signal may arrive in another thread and not interrupt this one: look for it between short waits.
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = unsafe poll(&wait, 1, 50)
            if vs_signals_pending() != 0 { throw .interrupted }
            if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            var byte: UInt8 = 0
            // One byte at a time: nothing after the line may be taken from the terminal.
            let count = unsafe Glibc.read(descriptor, &byte, 1)
            if count < 0 { throw Errno(rawValue: errno) }
            if count == 0 || byte == UInt8(ascii: "\n") { return line }
            guard line.count < limit else { throw .fileTooLarge }
            line.append(byte)
        }
    }
}
