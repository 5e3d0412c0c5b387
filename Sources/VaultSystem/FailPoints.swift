#if VAULT_FAILPOINTS
    internal import CSystemShim
#endif

/// What happens at a fail point.
///
/// Production does nothing; tests throw, count, stop or kill.
package protocol FailPoints: Sendable {
    func hit(_ point: FailPoint) throws(Errno)
}

/// Fail points that never fail.
package struct NoFailPoints: FailPoints {
    package init() {}

    package func hit(_ point: FailPoint) throws(Errno) {}
}

/// The fail points of a process.
package enum ProcessFailPoints {
    /// Those that `VAULTCTL_FAILPOINT=name[:n]` asks for.
    ///
    /// The process kills itself at the n-th hit of that name. Only in builds with the condition `VAULT_FAILPOINTS`; the variable means nothing in others.
    package static func make() -> any FailPoints {
        #if VAULT_FAILPOINTS
            if let points = KillAtFailPoint(ProcessContext.environmentText("VAULTCTL_FAILPOINT")) { return points }
        #endif
        return NoFailPoints()
    }
}

#if VAULT_FAILPOINTS
    /// Ends the process as a power cut would, at the n-th hit of one point.
    private struct KillAtFailPoint: FailPoints {
        private let point: FailPoint
        private let remaining: Locked<Int>

        init?(_ text: String?) {
            guard let text else { return nil }
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first, let point = FailPoint(rawValue: String(name)) else { return nil }
            self.point = point
            self.remaining = Locked(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
        }

        func hit(_ point: FailPoint) throws(Errno) {
            guard point == self.point else { return }
            let left = remaining.withLock { count in
                count -= 1
                return count
            }
            if left == 0 { vs_kill_self() }
        }
    }
#endif
