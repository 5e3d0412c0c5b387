internal import CSystemShim
internal import Glibc

/// A wish to stop, seen by long-running work between two steps.
package struct Interruption: Error, Equatable, Sendable {
    /// The signal's number.
    package let signal: Int32

    package init(signal: Int32) {
        self.signal = signal
    }

    /// What the process ends with after it has cleaned up: 129, 130 or 143 (10-cli B.3).
    package var exitCode: Int32 { 128 + signal }
}

/// Asked between two steps of long work.
package protocol Cancellation: Sendable {
    /// Throws when the work should stop here.
    func check() throws(Interruption)
}

/// Never stops.
package struct NoCancellation: Cancellation {
    package init() {}

    package func check() throws(Interruption) {}
}

/// SIGINT, SIGTERM and SIGHUP as flags.
package struct Signals: Cancellation {
    /// Starts noting signals, and makes writes to a closed pipe fail instead of ending the process.
    ///
    /// A second SIGINT within two seconds ends the process at once.
    package static func install() -> Signals {
        vs_signals_install()
        return Signals()
    }

    private init() {}

    /// The first signal that arrived, if any.
    package var pending: Interruption? {
        let signal = vs_signals_pending()
        return signal == 0 ? nil : Interruption(signal: signal)
    }

    package func check() throws(Interruption) {
        if let pending { throw pending }
    }

    /// From now on SIGHUP asks for a reload instead of an end.
    package func countHangups() {
        vs_signals_count_hangups()
    }

    /// How many SIGHUP arrived since `countHangups`.
    package var hangups: Int { Int(vs_signals_hangups()) }

    /// Forgets what arrived.
    package func clear() {
        vs_signals_clear()
    }

    /// Sends this process a signal, which any of its threads may handle a moment later; for tests.
    package static func raise(_ signal: Int32) {
        _ = kill(getpid(), signal)
    }
}
