internal import VaultCore

/// Requests to addresses that a server gave: an object store's, signed and without any secret of ours (spec 04 §7.3).
struct ExternalRequest: Sendable {
    let endpoint: Endpoint

    /// How often such an address may point to another one.
    private static let hops = 3

    /// An address that may be followed.
    ///
    /// - Throws: `redirectRefused` for any other.
    func checked(_ text: String) throws -> WebURL {
        guard let url = WebURL(text) else {
            throw VaultError(.redirectRefused, "\(endpoint.errors.location) gave an address that is not http or https")
        }
        let base = endpoint.base
        guard url.isSecure || url.isLoopback || (!base.isSecure && url.host == base.host) else {
            throw VaultError(
                .redirectRefused, "\(endpoint.errors.location) points to \(url.origin), which is not encrypted")
        }
        return url
    }

    /// Sends a request, following what it points to as far as that is allowed.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await follow(request) { try await endpoint.client.send($0) }
    }

    /// The same with the answer's body given piece by piece.
    func stream(_ request: HTTPRequest, into sink: ([UInt8]) throws -> Void) async throws -> HTTPResponse {
        try await follow(request) { try await endpoint.client.stream($0, into: sink) }
    }

    private func follow(
        _ request: HTTPRequest, _ send: (HTTPRequest) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        var request = request
        for _ in 0..<Self.hops {
            let response = try await send(request)
            guard [301, 302, 307, 308].contains(response.status), let target = response.head.headers["location"] else {
                return response
            }
            request.url = try checked(target)
            // The first address took the body, and the next one wants it from its beginning.
            guard case .stream(_, let source)? = request.body, !source.rewind() else { continue }
            throw VaultError(
                .redirectRefused, "\(endpoint.errors.location) points elsewhere after a body that can not be repeated")
        }
        throw VaultError(.redirectRefused, "\(endpoint.errors.location) points from one address to the next")
    }
}
