internal import VaultSystem

/// The wait for a lock that another process holds: it has a limit, a wish to stop ends it, and after a minute it says
/// what it waits for (spec 10 B.9, B.11).
struct LockWait {
    private let environment: VaultEnvironment
    /// What is waited for, as in "still waiting for the lock of the clone".
    private let what: () -> String
    private let deadline: Int64
    private var nextNotice: Int64

    private static let noticeNs: Int64 = 60_000_000_000

    /// * `seconds`: The limit; 0 means not at all.
    init(_ environment: VaultEnvironment, seconds: Double, for what: @escaping @autoclosure () -> String) {
        self.environment = environment
        self.what = what
        let now = environment.clock.monotonicNs
        deadline = now &+ Int64(max(0, min(seconds, 1e6)) * 1e9)
        nextNotice = now &+ Self.noticeNs
    }

    /// Lets a few milliseconds pass; false when the limit is reached.
    ///
    /// - Throws: `cancelled` when somebody wishes to stop.
    mutating func pause(milliseconds: Int64) throws(VaultError) -> Bool {
        let now = environment.clock.monotonicNs
        guard now < deadline else { return false }
        do {
            try environment.pool.checkCancellation()
        } catch {
            throw VaultError(.cancelled, "stopped while waiting for \(what())", cause: Errno.interrupted)
        }
        if now >= nextNotice {
            nextNotice = now &+ Self.noticeNs
            environment.notice("still waiting for \(what())")
        }
        environment.clock.sleep(milliseconds: milliseconds)
        return true
    }
}
