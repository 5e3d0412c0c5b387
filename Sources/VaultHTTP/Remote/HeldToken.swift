internal import VaultSystem

/// The access token of one remote, which may come only when the server wants it.
final class HeldToken: Sendable {
    private struct State: Sendable {
        var token: HTTPSecret?
        var ask: (@Sendable () throws -> HTTPSecret?)?
        var hasWorked = false
    }

    private let state: Locked<State>

    init(_ token: HTTPSecret?, ask: (@Sendable () throws -> HTTPSecret?)?) {
        state = Locked(State(token: token, ask: ask))
    }

    /// The token, if there is one so far.
    var current: HTTPSecret? { state.withLock { $0.token } }

    /// Whether a request was taken with it that was refused without.
    var hasWorked: Bool {
        get { state.withLock { $0.hasWorked } }
        set { state.withLock { $0.hasWorked = newValue } }
    }

    /// The token after a refusal for want of one; nil when nobody gives one.
    ///
    /// Requests that are refused meanwhile wait here for the one answer.
    func wanted() throws -> HTTPSecret? {
        try state.withLock { state in
            if state.token == nil, let ask = state.ask {
                state.ask = nil
                state.token = try ask()
            }
            return state.token
        }
    }
}
