internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// One vault at one server: its addresses, its headers, and how requests to it are sent and repeated.
struct Endpoint: Sendable {
    let base: WebURL
    let vaultID: VaultID
    let token: HeldToken
    let client: HTTPClient
    let retrier: Retrier
    let errors: ServerErrors

    /// The most bytes of an answer to a batch.
    ///
    /// One content of 4 MiB fits in base64; what is larger, or many at once, is asked for in smaller portions.
    static let batchAnswer = 8 << 20

    /// The address of a route.
    func url(_ route: String, _ file: FileID? = nil, query: String = "") -> WebURL {
        let suffix = file.map { "/" + WebURL.segment($0.path) } ?? ""
        return base.appending("/api/vault/\(route)/\(vaultID.text)\(suffix)", query: query)
    }

    /// A request with everything that the server may see.
    ///
    /// * `writeKey`: Sent where a route needs it.
    func request(
        _ method: HTTPRequest.Method, _ url: WebURL, body: HTTPRequest.Body? = nil, type: String? = nil,
        writeKey: HTTPSecret? = nil
    ) -> HTTPRequest {
        var request = HTTPRequest(method: method, url: url, body: body)
        if let type { request.headers.append(HTTPHeader("Content-Type", type)) }
        if let writeKey { request.headers.append(HTTPHeader("x-sgraph-vault-write-key", writeKey)) }
        return carryingToken(request)
    }

    private static let tokenHeader = "x-sgraph-access-token"

    /// The request with the token that is held, if it has none yet.
    private func carryingToken(_ request: HTTPRequest) -> HTTPRequest {
        guard let held = token.current, !request.headers.contains(where: { $0.name == Self.tokenHeader }) else {
            return request
        }
        var request = request
        request.headers.append(HTTPHeader(Self.tokenHeader, held))
        // Some deployments check this name in a gateway before the service.
        request.headers.append(HTTPHeader("X-API-Key", held))
        return request
    }

    /// Sends a request, again where that can help.
    func send(
        _ request: HTTPRequest, givesUp: (HTTPResponse) -> Bool = { _ in false }, unclear: () -> Void = {}
    ) async throws -> HTTPResponse {
        try await authorized {
            try await retrier.run(request.url.origin, givesUp: givesUp, unclear: unclear) {
                try await client.send(carryingToken(request))
            }
        }
    }

    /// Runs `send`, and once more when the server wants a token, none was sent, and somebody gives one.
    func authorized(_ send: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        let hadToken = token.current != nil
        let response = try await send()
        guard response.status == 401, !hadToken, try token.wanted() != nil else { return response }
        let again = try await send()
        // Refused without it and taken with it: it works.
        if again.status == 200 { token.hasWorked = true }
        return again
    }

    /// The header that proves to the server that this client may write.
    static func secret(_ key: WriteKey) throws -> HTTPSecret {
        do throws(FormatError) {
            if let secret = HTTPSecret(try key.hex()) { return secret }
        } catch {
            throw VaultError.format(error, "the write key")
        }
        throw VaultError(.internalError, "a write key that is no text")
    }
}
