internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

extension HTTPRemote {
    /// Finds out whether the server takes the token, or needs none, without writing anything.
    ///
    /// A write without a write key: the token is looked at first, and without a key nothing is taken (spec 04 §2).
    ///
    /// - Throws: `tokenRefused`, and what a server that can not be asked throws.
    package func checkToken() async throws {
        try await mapped {
            let bytes = try endpoint.retrier.random.bytes(6)
            let file = FileID.cacheValue(try CacheID("cch-pid-snw-" + Hex.text(bytes.span)))
            let body = BatchCodec.writing([BatchCodec.Step(kind: .delete, file: file)])
            let response = try await endpoint.send(
                endpoint.request(.post, endpoint.url("batch"), body: .bytes(body), type: "application/json"))
            // Somebody on the way may say 400 to anything; a vault server says what is missing.
            guard response.status == 400, ServerErrors.detail(response) != nil else {
                guard response.status != 200 else { throw endpoint.errors.garbage("a write without a write key") }
                throw endpoint.errors.error(response, writes: false)
            }
            endpoint.token.hasWorked = true
        }
    }
}
