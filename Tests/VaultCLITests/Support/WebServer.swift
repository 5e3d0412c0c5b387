import VaultTestSupport

/// A stand-in server on loopback, in a process of its own that ends with this object.
final class WebServer: Sendable {
    let url: String
    private let server: LoopbackServer

    init(_ options: String = "") throws {
        server = try .standIn(options)
        url = "http://127.0.0.1:" + server.port
    }
}
