import VaultTestSupport

/// A stand-in server on loopback, in a process of its own that ends with this object.
final class WebServer: Sendable {
    let url: String
    private let server: LoopbackServer

    init(_ options: String = "") throws {
        server = try .standIn(options)
        url = "http://127.0.0.1:" + server.port
    }

    /// Has the next request that matches refused, with a sentence of the server's.
    func fault(_ match: String, status: Int, detail: String, headers: String = "{}", count: Int = 1) throws {
        let body = "{\\\"detail\\\":\\\"\(detail)\\\"}"
        let rule =
            "{\"match\":\"\(match)\",\"status\":\(status),\"count\":\(count),\"headers\":\(headers),"
            + "\"body\":\"\(body)\"}"
        let program = "import sys, urllib.request as u; u.urlopen(sys.argv[1], sys.argv[2].encode()).read()"
        try Shell.run("python3 -c '\(program)' '\(url)/_test/fault' '\(rule)'")
    }
}
