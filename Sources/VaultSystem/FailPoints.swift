#if VAULT_FAILPOINTS
    internal import CSystemShim
#endif

/// What happens at fail points: in production nothing, in tests what they hand in.
package struct FailPoints: Sendable {
    private let action: (@Sendable (FailPoint) throws(Errno) -> Void)?

    /// Fail points that do nothing.
    package static let none = FailPoints(action: nil)

    /// Those of the process: nothing, but in builds with the condition `VAULT_FAILPOINTS` what
    /// `VAULTCTL_FAILPOINT=name[:n]` asks for.
    ///
    /// The process then kills itself at the n-th hit of that name.
    package init() {
        #if VAULT_FAILPOINTS
            self.init(action: Self.killing(ProcessContext.environmentText("VAULTCTL_FAILPOINT")))
        #else
            self.init(action: nil)
        #endif
    }

    /// Fail points that run `action`; what it throws is thrown where the point stands.
    package init(_ action: @escaping @Sendable (FailPoint) throws(Errno) -> Void) {
        self.init(action: action)
    }

    private init(action: (@Sendable (FailPoint) throws(Errno) -> Void)?) {
        self.action = action
    }

    package func hit(_ point: FailPoint) throws(Errno) {
        if let action { try action(point) }
    }

    #if VAULT_FAILPOINTS
        private static func killing(_ text: String?) -> (@Sendable (FailPoint) throws(Errno) -> Void)? {
            guard let parts = text?.split(separator: ":", maxSplits: 1), let name = parts.first else { return nil }
            guard let wanted = FailPoint(rawValue: String(name)) else { return nil }
            let remaining = Locked(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
            return { point throws(Errno) in
                guard point == wanted else { return }
                let left = remaining.withLock { count in
                    count -= 1
                    return count
                }
                if left == 0 { vs_kill_self() }
            }
        }
    #endif
}
