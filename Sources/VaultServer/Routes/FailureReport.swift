internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Tells an operator why requests were answered with 500, once for each vault and cause.
final class FailureReport: Sendable {
    private let report: @Sendable (String) -> Void
    private let told = Locked<Set<String>>([])

    /// Causes that are remembered; beyond, they are told again.
    private static let remembered = 1000

    init(_ report: @escaping @Sendable (String) -> Void) {
        self.report = report
    }

    func add(_ error: any Error, _ vault: VaultID?) {
        // A refusal answers the client's own mistake, also where the real server calls it a failure.
        if error is Refusal { return }
        let cause = (error as? VaultError)?.message ?? "\(error)"
        let text = (vault.map { "\($0): " } ?? "") + "a request failed: \(cause)"
        let isNew = told.withLock { told in
            if told.count >= Self.remembered { told = [] }
            return told.insert(text).inserted
        }
        if isNew { report(text) }
    }
}
