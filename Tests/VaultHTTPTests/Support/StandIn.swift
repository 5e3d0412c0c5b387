import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

/// A stand-in server in a process of its own, on loopback, with a queue of faults.
final class StandIn: Sendable {
    let url: String
    private let server: LoopbackServer
    private let control: HTTPClient

    /// Starts it and waits until it answers.
    init(_ options: String...) throws {
        server = try .standIn(options.joined(separator: " "))
        let scheme = options.contains { $0.hasPrefix("--tls-cert") } ? "https" : "http"
        url = "\(scheme)://127.0.0.1:" + server.port
        var options = HTTPClient.Options()
        options.verifiesTLS = false
        control = HTTPClient(options)
    }

    /// Queues a fault.
    func fault(_ rule: KeyValuePairs<String, JSONValue>) async throws {
        try await post("fault", JSONWriter.bytes(.record(rule), .compact))
    }

    /// Puts bytes in place, or with nil takes them away, without asking anybody.
    func plant(_ vault: VaultID, _ file: FileID, _ bytes: [UInt8]?) async throws {
        let data = bytes.map { JSONValue.string(Base64.text($0.span)) } ?? .null
        try await post(
            "plant",
            JSONWriter.bytes(
                .record(["vault": .string(vault.text), "file": .string(file.path), "data": data]), .compact))
    }

    /// Forgets faults and the log, not the files.
    func reset() async throws { try await post("reset", []) }

    private func post(_ what: String, _ body: [UInt8]) async throws {
        guard let address = WebURL(url) else { throw Errno.ioError }
        let response = try await control.send(
            HTTPRequest(method: .post, url: address.appending("/_test/\(what)"), body: .bytes(body)))
        guard response.status == 200 else { throw Errno.ioError }
    }

    /// A request as the server saw it.
    struct Seen {
        let line: String
        let headers: [String: String]
        let body: [UInt8]
        let status: Int64
    }

    /// The requests since the last reset.
    func log() async throws -> [Seen] {
        guard let address = WebURL(url) else { throw Errno.ioError }
        var request = HTTPRequest(method: .get, url: address.appending("/_test/log"))
        request.answerLimit = 256 << 20
        let response = try await control.send(request)
        let document = try JSONReader.parse(response.body.span)
        return (document.items ?? []).map { item in
            let headers = (item["headers"]?.members ?? []).map { ($0.name.lowercased(), $0.value.text ?? "") }
            let body = Array((item["body_b64"]?.text ?? "").utf8)
            return Seen(
                line: (item["method"]?.text ?? "") + " " + (item["path"]?.text ?? ""),
                headers: Dictionary(headers) { first, _ in first }, body: Base64.decode(body.span) ?? [],
                status: item["status"]?.int ?? 0)
        }
    }
}

extension HTTPRemote {
    /// A remote for tests: what waits in production waits for milliseconds.
    static func test(
        _ url: String, _ vaultID: VaultID, environment: VaultEnvironment = .production(),
        _ change: (inout Options) throws -> Void = { _ in }
    ) throws -> HTTPRemote {
        var options = Options()
        options.retry.firstDelayMs = 2
        options.client.stallMs = 20_000
        try change(&options)
        return try HTTPRemote(url, vaultID: vaultID, options: options, environment: environment)
    }
}

extension HTTPSecret {
    /// A secret of a text.
    static func of(_ text: String) throws -> HTTPSecret? {
        let bytes = Array(text.utf8)
        return HTTPSecret(try SecretBytes(copying: bytes.span))
    }
}
