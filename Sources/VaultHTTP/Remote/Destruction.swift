internal import VaultCore
internal import VaultFormat

/// The route that removes a vault for ever (R6, spec 04 §6).
struct Destruction: Sendable {
    let endpoint: Endpoint
    let writeKey: HTTPSecret

    /// Asks for it, and where an answer was lost finds out by a listing whether it happened.
    ///
    /// A server answers a second request as it answers a wrong key, so only a lost answer makes one believed.
    /// - Returns: How many files there were; nil when the server's own answer was lost.
    func run() async throws -> Int? {
        let document = JSONValue.record(["vault_id": .string(endpoint.vaultID.text)])
        let body = JSONWriter.bytes(document, .compact)
        var request = endpoint.request(
            .delete, endpoint.url("destroy"), body: .bytes(body), type: "application/json", writeKey: writeKey)
        request.answerLimit = Self.answerLimit
        var mayHaveWorked = false
        let failure: VaultError
        do {
            let response = try await endpoint.send(request, unclear: { mayHaveWorked = true })
            if response.status == 200 {
                let answer = try? JSONReader.parse(response.body.span)
                guard answer?["status"]?.text == "deleted" else {
                    throw endpoint.errors.garbage("it does not say that the vault is gone")
                }
                return answer?["files_deleted"]?.int.map { Int(clamping: $0) }
            }
            failure = endpoint.errors.error(response, writes: true)
            if response.status >= 500 { mayHaveWorked = true }
        } catch let ended as HTTPFailure {
            failure = endpoint.errors.error(ended)
            if [.lost, .garbled, .stalled, .tooLarge].contains(ended.kind) { mayHaveWorked = true }
        }
        guard mayHaveWorked, try await Listing(endpoint: endpoint).run(.all).isEmpty else { throw failure }
        return nil
    }

    private static let answerLimit = 64 << 10
}
