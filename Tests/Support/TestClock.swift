internal import VaultSystem

/// A clock that a test turns.
///
/// Wall time and monotonic time move together unless the test sets the former.
package final class TestClock: Clock {
    private let state: Locked<(wall: Int64, monotonic: Int64)>
    private let stepNs: Int64

    /// Starts at a fixed moment (2026-01-02 03:04:05 UTC by default) and moves by `stepNs` at every look.
    package init(nowMs: Int64 = 1_767_323_045_000, stepNs: Int64 = 0) {
        state = Locked((wall: nowMs * 1_000_000, monotonic: 0))
        self.stepNs = stepNs
    }

    package var nowNs: Int64 {
        state.withLock { time in
            defer { time = (time.wall + stepNs, time.monotonic + stepNs) }
            return time.wall
        }
    }

    package var monotonicNs: Int64 {
        state.withLock { time in
            defer { time = (time.wall + stepNs, time.monotonic + stepNs) }
            return time.monotonic
        }
    }

    package func advance(ms: Int64) {
        state.withLock { $0 = ($0.wall + ms * 1_000_000, $0.monotonic + ms * 1_000_000) }
    }

    /// Sets the wall time alone, as a user or a time server does.
    package func setWall(ms: Int64) {
        state.withLock { $0.wall = ms * 1_000_000 }
    }
}
