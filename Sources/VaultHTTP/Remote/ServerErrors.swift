internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Turns what a server or the network did into the errors that callers know (spec 04 §8.1).
struct ServerErrors: Sendable {
    let location: String
    let token: HeldToken
    let clock: any Clock

    /// The error of a request without a whole answer.
    func error(_ failure: HTTPFailure) -> VaultError {
        switch failure.kind {
        case .noLibrary:
            VaultError(
                .notSupported, "libcurl can not be opened: \(failure.message)", hint: "install the package libcurl4")
        case .unresolved, .unconnected, .proxy, .lost, .broken, .stopped, .cancelled, .interrupted:
            VaultError(
                .unreachable, "\(location) can not be reached: \(failure.message)",
                hint: "check the network and the address", cause: failure)
        case .tls:
            VaultError(
                .tlsFailed, "the connection to \(location) is not secure: \(failure.message)",
                hint: "SSL_CERT_FILE names further certificates to trust", cause: failure)
        case .garbled, .tooLarge:
            VaultError(.serverError, "the answer of \(location) does not read: \(failure.message)", cause: failure)
        case .stalled:
            VaultError(
                .timeout, "nothing came from \(location) for too long", hint: "--timeout waits longer", cause: failure)
        }
    }

    /// The error of an answer whose status is no success.
    func error(_ response: HTTPResponse, writes: Bool) -> VaultError {
        refusal(response, writes: writes).answered(answer(response))
    }

    /// The same of an object store that the server named.
    func storeError(_ response: HTTPResponse) -> VaultError {
        VaultError(.serverError, "the object store of \(location) answered \(response.status)")
            .answered(answer(response))
    }

    private func answer(_ response: HTTPResponse) -> VaultError.Answer {
        VaultError.Answer(
            httpStatus: response.status,
            retryAfterMs: response.head.headers["retry-after"].flatMap { RetryAfter.delay($0, nowMs: clock.nowMs) })
    }

    private func refusal(_ response: HTTPResponse, writes: Bool) -> VaultError {
        let said = Self.detail(response).map { ": \($0)" } ?? ""
        switch response.status {
        case 300..<400:
            return VaultError(
                .redirectRefused, "\(location) points to \(target(response)), which is not followed",
                hint: "use the address it points to, if you trust it")
        case 401:
            if token.current != nil {
                return VaultError(
                    .tokenRefused, "\(location) refuses the access token\(said)", hint: "use another token")
            }
            return VaultError(
                .tokenMissing, "\(location) wants an access token", hint: "--token-file F gives one; --save keeps it")
        case 403 where writes && Self.detail(response)?.lowercased().contains("read-only") == true:
            return VaultError(
                .readOnlyRemote, "\(location) takes no writes\(said)", hint: "publish elsewhere, or ask its keeper")
        case 403 where writes:
            return VaultError(
                .keyWrong,
                "\(location) refuses the write: another write key owns this vault there, or it was destroyed and its "
                    + "id can never be used again",
                hint: "clone anew with the right key, or publish elsewhere: vaultctl push --server URL")
        case 403:
            return VaultError(.tokenRefused, "\(location) refuses to be read\(said)", hint: "use another token")
        case 410:
            return VaultError(
                .refused, "the vault at \(location) was destroyed; its id can never be used again there",
                hint: "vaultctl push --server with another server, or vaultctl detach --backup")
        case 407:
            return VaultError(.unreachable, "the proxy before \(location) wants a password")
        case 429:
            return VaultError(.serverBusy, "\(location) has too many requests", hint: "run it again later")
        case 503:
            return VaultError(.serverBusy, "\(location) is not available now\(said)", hint: "run it again later")
        default:
            return VaultError(.serverError, "\(location) answered \(response.status)\(said)")
        }
    }

    /// The error of a success that says something else than was asked.
    func garbage(_ what: String) -> VaultError {
        VaultError(.serverError, "\(location) answered what is no answer: \(what)")
    }

    /// The server's own sentence, when it is one: never a trace, never long.
    static func detail(_ response: HTTPResponse) -> String? {
        let bounds = JSONReader.Bounds(depth: 8, values: 256)
        guard let document = try? JSONReader.parse(response.body.span, bounds: bounds),
            let text = document["detail"]?.text, !text.isEmpty
        else { return nil }
        return String(text.prefix(200))
    }

    private func target(_ response: HTTPResponse) -> String {
        guard let text = response.head.headers["location"] else { return "another address" }
        if let url = WebURL(text) { return url.origin }
        return text.hasPrefix("/") ? "another path" : "another address"
    }
}
