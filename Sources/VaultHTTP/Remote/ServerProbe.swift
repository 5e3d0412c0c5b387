package import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// One thing that was looked at, and what was found.
package struct ServerCheck: Sendable, Equatable {
    /// How it came out.
    package enum Status: String, Sendable {
        case pass, warn, fail, skip
    }

    package let name: String
    package let status: Status
    package let message: String
    package let hint: String?

    package init(_ name: String, _ status: Status, _ message: String, hint: String? = nil) {
        self.name = name
        self.status = status
        self.message = message
        self.hint = hint
    }
}

/// Looks at each step on the way to a server, so that a person sees at which one it fails.
package struct ServerProbe: Sendable {
    private let endpoint: Endpoint
    private let hasToken: Bool
    private let knowledge: ServerKnowledge

    /// The checks behind the address, in the order in which they depend on each other.
    private static let names = ["dns_resolve", "tcp_reachable", "tls_handshake", "api_info"]
    /// A clock further off than this is told.
    private static let clockToleranceMs: Int64 = 120_000

    package init(_ remote: HTTPRemote) {
        endpoint = remote.endpoint
        hasToken = remote.endpoint.token.current != nil
        knowledge = remote.knowledge
    }

    /// Runs every check.
    ///
    /// * `authorization`: Proves that this client may write, where a write is to be tried; it changes nothing.
    package func run(writingWith authorization: WriteAuthorization?) async throws -> [ServerCheck] {
        var checks = [ServerCheck("parse_url", .pass, endpoint.base.origin)]
        checks.append(loopback())
        var response: HTTPResponse?
        do {
            response = try await get(endpoint.base.appending("/info/health"))
            checks += reached(upTo: nil, "")
        } catch let failure as HTTPFailure {
            checks += reached(upTo: failure.kind, failure.message)
        }
        guard let response else { return checks + skipped(["clock", "vault_known", "token_verify", "write_probe"]) }
        checks.append(info(response))
        checks.append(clock(response))
        let known = try await known()
        return checks + [known] + (try await writing(authorization, isKnown: known.status == .pass))
    }

    private func get(_ url: WebURL) async throws -> HTTPResponse {
        try await endpoint.client.send(endpoint.request(.get, url))
    }

    private func skipped(_ names: [String]) -> [ServerCheck] {
        names.map { ServerCheck($0, .skip, "not tried") }
    }

    /// The steps before an answer, up to the one that failed.
    private func reached(upTo failure: HTTPFailure.Kind?, _ message: String) -> [ServerCheck] {
        let failing: String? =
            switch failure {
            case nil: nil
            case .unresolved?: "dns_resolve"
            case .unconnected?, .proxy?, .noLibrary?: "tcp_reachable"
            case .tls?: "tls_handshake"
            default: "api_info"
            }
        let last = failing.flatMap { Self.names.firstIndex(of: $0) } ?? Self.names.count
        return Self.names.enumerated().compactMap { index, name in
            if index > last { return ServerCheck(name, .skip, "not tried") }
            if index == last { return ServerCheck(name, .fail, message) }
            // Answered below, by what the answer says.
            if name == "api_info" { return nil }
            if name == "tls_handshake", !endpoint.base.isSecure { return ServerCheck(name, .skip, "no encryption") }
            return ServerCheck(name, .pass, "done")
        }
    }

    private func loopback() -> ServerCheck {
        let name = "loopback_container_warn"
        let isInside = ["/.dockerenv", "/run/.containerenv"].contains {
            (try? LinuxFileSystem().status(of: FilePath($0), followLinks: false)) != nil
        }
        guard endpoint.base.isLoopback, isInside else { return ServerCheck(name, .pass, "does not apply") }
        return ServerCheck(
            name, .warn, "inside a container this address is the container itself",
            hint: "use the address that the host has for containers")
    }

    private func info(_ response: HTTPResponse) -> ServerCheck {
        switch response.status {
        case 200: ServerCheck("api_info", .pass, "answers over HTTP/\(response.httpVersion / 10)")
        // A host of files, or a server behind a path, has no such route.
        case 404, 405, 501: ServerCheck("api_info", .warn, "answers, but not as a vault server does")
        default: ServerCheck("api_info", .fail, endpoint.errors.error(response, writes: false).message)
        }
    }

    private func clock(_ response: HTTPResponse) -> ServerCheck {
        guard let text = response.head.headers["date"], let time = RetryAfter.date(text) else {
            return ServerCheck("clock", .skip, "the server tells no time")
        }
        let difference = endpoint.retrier.clock.nowMs - time
        guard abs(difference) > Self.clockToleranceMs else { return ServerCheck("clock", .pass, "agrees") }
        return ServerCheck(
            "clock", .warn,
            "this machine's clock is \(abs(difference) / 1000) s \(difference > 0 ? "ahead of" : "behind") the server's"
        )
    }

    private func known() async throws -> ServerCheck {
        let name = "vault_known"
        do {
            let response = try await get(endpoint.url("health"))
            switch response.status {
            case 200:
                let bounds = JSONReader.Bounds(depth: 8, values: 64)
                let document = try? JSONReader.parse(response.body.span, bounds: bounds)
                guard document?["vault_id"]?.text == endpoint.vaultID.text else {
                    return ServerCheck(name, .fail, endpoint.errors.garbage("it names no vault").message)
                }
                return ServerCheck(name, .pass, "the server has vault \(endpoint.vaultID)")
            case 404:
                return ServerCheck(
                    name, .warn, "the server has no vault \(endpoint.vaultID), or it was destroyed",
                    hint: "vaultctl push")
            default: return ServerCheck(name, .fail, endpoint.errors.error(response, writes: false).message)
            }
        } catch let failure as HTTPFailure {
            return ServerCheck(name, .fail, failure.message)
        }
    }

    /// Removes a cache object that nobody has: it needs everything that a write needs, and changes nothing.
    private func writing(_ authorization: WriteAuthorization?, isKnown: Bool) async throws -> [ServerCheck] {
        let names = ["token_verify", "write_probe"]
        guard let authorization else { return names.map { ServerCheck($0, .skip, "--write-probe tries it") } }
        // A server binds an id to the write key of the first batch that it takes.
        guard isKnown else {
            return names.map {
                ServerCheck($0, .skip, "not tried: on a server that does not have the vault it would claim the id")
            }
        }
        let bytes = try endpoint.retrier.random.bytes(6)
        let file = FileID.cacheValue(try CacheID("cch-pid-snw-" + Hex.text(bytes.span)))
        let body = BatchCodec.writing([BatchCodec.Step(kind: .delete, file: file)])
        let request = endpoint.request(
            .post, endpoint.url("batch"), body: .bytes(body), type: "application/json",
            writeKey: try Endpoint.secret(authorization.writeKey))
        do {
            let response = try await endpoint.client.send(request)
            let message = endpoint.errors.error(response, writes: true).message
            switch response.status {
            case 200:
                guard Self.tells(response, of: file) else {
                    let message = endpoint.errors.garbage("it does not say what became of the write").message
                    return [ServerCheck(names[0], .skip, "not told"), ServerCheck(names[1], .fail, message)]
                }
                knowledge.hasWritten = true
                let token = hasToken ? "the server takes it" : "the server wants none"
                return [ServerCheck(names[0], .pass, token), ServerCheck(names[1], .pass, "the server takes writes")]
            case 401: return [ServerCheck(names[0], .fail, message), ServerCheck(names[1], .skip, "not tried")]
            // The token is looked at before the write key.
            case 403: return [ServerCheck(names[0], .pass, "not the reason"), ServerCheck(names[1], .fail, message)]
            default: return [ServerCheck(names[0], .skip, "not told"), ServerCheck(names[1], .fail, message)]
            }
        } catch let failure as HTTPFailure {
            return [ServerCheck(names[0], .skip, "not tried"), ServerCheck(names[1], .fail, failure.message)]
        }
    }

    /// Whether an answer is the one to the removal of a file, and to nothing else.
    private static func tells(_ response: HTTPResponse, of file: FileID) -> Bool {
        guard let answer = try? BatchCodec.answer(response.body), answer.results.count == 1,
            let told = answer.results.first, told.file == file.path, !answer.conflictsSomewhere
        else { return false }
        switch told.result {
        case .done, .absent: return true
        default: return false
        }
    }
}
