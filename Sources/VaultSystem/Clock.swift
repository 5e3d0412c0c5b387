internal import Glibc

/// Where the time comes from; tests hand in one they can turn.
package protocol Clock: Sendable {
    /// Wall time, nanoseconds since 1970. It can jump.
    var nowNs: Int64 { get }
    /// Nanoseconds that only grow, from an arbitrary start; for durations.
    var monotonicNs: Int64 { get }
}

extension Clock {
    /// Wall time, milliseconds since 1970.
    package var nowMs: Int64 { nowNs / 1_000_000 }
}

/// The operating system's clocks.
package struct SystemClock: Clock {
    package init() {}

    package var nowNs: Int64 { read(CLOCK_REALTIME) }

    package var monotonicNs: Int64 { read(CLOCK_MONOTONIC) }

    private func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Fails only for clocks that do not exist.
        unsafe _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension Clock {
    /// Lets this thread wait.
    package func sleep(milliseconds: Int64) {
        var time = timespec(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
        // Interrupted sleeps are short sleeps; every caller looks again.
        unsafe _ = nanosleep(&time, nil)
    }
}
