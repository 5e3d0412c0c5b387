package import VaultSystem

/// Sends requests over libcurl, away from the caller's executor: whoever waits holds no thread.
///
/// Connections are kept and shared; over TLS HTTP/2 is used where the server offers it. Redirects are not followed,
/// nothing of the process's environment is looked at, and every size that comes from the other side is bounded.
package final class HTTPClient: Sendable {
    /// How a client behaves.
    package struct Options: Sendable {
        /// Requests under way at once; further ones wait.
        package var parallel = 8
        /// A transfer in which no byte moves for so long ends.
        package var stallMs: Int64 = 60_000
        /// Whether servers must prove who they are.
        package var verifiesTLS = true
        /// A file of further certificates to trust.
        package var certificateFile: String?
        /// A folder of further certificates to trust.
        package var certificateFolder: String?
        /// Which requests go through which proxy.
        package var proxies = ProxyRules()
        /// How this program names itself.
        package var userAgent = "vaultctl"
        /// Called about each request that has ended.
        package var trace: (@Sendable (RequestTrace) -> Void)?

        package init() {}
    }

    package let options: Options
    /// Asked between steps whether to go on.
    private let check: @Sendable () throws -> Void
    private let curl = Locked<CurlClient?>(nil)
    private let interruption = Locked<(any Error)?>(nil)
    private let counter = Locked(0)
    private let clock: any Clock

    /// Makes a client; libcurl is opened by the first request.
    ///
    /// * `check`: Asked several times a second while requests are under way; what it throws ends them and is thrown.
    package init(
        _ options: Options = Options(), clock: any Clock = SystemClock(),
        check: @escaping @Sendable () throws -> Void = {}
    ) {
        self.options = options
        self.clock = clock
        self.check = check
    }

    /// How many requests were sent so far, each attempt counted.
    package var requests: Int { counter.withLock { $0 } }

    /// Throws when the process or the task should stop.
    func checkCancellation() throws {
        try check()
        try Task.checkCancellation()
    }

    /// Sends a request and waits for the whole answer.
    ///
    /// - Throws: `HTTPFailure` without a whole answer, `CancellationError`, or what the check threw.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await run(request, streams: false) { _ in }
    }

    /// Sends a request and gives the answer's body piece by piece when its status is 200 or 206.
    ///
    /// Of another status the body is in the response. What `sink` throws ends the transfer and is thrown.
    func stream(_ request: HTTPRequest, into sink: ([UInt8]) throws -> Void) async throws -> HTTPResponse {
        try await run(request, streams: true, sink)
    }

    private func run(
        _ request: HTTPRequest, streams: Bool, _ sink: ([UInt8]) throws -> Void
    ) async throws -> HTTPResponse {
        try checkCancellation()
        let transfer = try transfer(request)
        let client = try open()
        let exchange = Exchange(request, streams: streams)
        let started = clock.monotonicNs
        let number = try client.start(transfer, exchange)
        counter.withLock { $0 += 1 }
        if case .stream(_, let source) = request.body { source.attach { client.resume(number) } }
        return try await withTaskCancellationHandler {
            var received: Int64 = 0
            while true {
                let (chunks, end) = await exchange.next { client.resume(number) }
                for chunk in chunks {
                    received += Int64(chunk.count)
                    do { try sink(chunk) } catch {
                        client.cancel(number)
                        throw error
                    }
                }
                guard let end else { continue }
                let body = exchange.takeBody()
                received += Int64(body.count)
                let failure = exchange.failure(end).map { failure in
                    HTTPFailure(failure.kind, transfer.proxy?.hidden(in: failure.message) ?? failure.message)
                }
                options.trace?(
                    RequestTrace(
                        method: request.method.rawValue, url: request.url.withoutQuery, status: exchange.head.status,
                        failure: failure?.message, milliseconds: (clock.monotonicNs - started) / 1_000_000,
                        sent: transfer.bodySize ?? 0, received: received, httpVersion: end.httpVersion,
                        isReused: end.isReused))
                if let failure { throw self.error(failure) }
                return HTTPResponse(
                    head: exchange.head, body: body, httpVersion: end.httpVersion, isReused: end.isReused)
            }
        } onCancel: {
            client.cancel(number)
        }
    }

    private func transfer(_ request: HTTPRequest) throws(HTTPFailure) -> Transfer {
        var headers = [HTTPHeader("User-Agent", options.userAgent), HTTPHeader("Accept-Encoding", "identity")]
        headers += request.headers
        let size: Int64? =
            switch request.body {
            case nil: nil
            case .bytes(let bytes): Int64(bytes.count)
            case .stream(let size, _): size
            }
        return Transfer(
            method: request.method.rawValue, url: request.url.text, headers: headers, bodySize: size,
            proxy: try options.proxies.proxy(for: request.url))
    }

    private func open() throws -> CurlClient {
        try curl.withLock { held throws -> CurlClient in
            if let held { return held }
            let check = check
            let interruption = interruption
            let made = try CurlClient(options) {
                do {
                    try check()
                    return false
                } catch {
                    interruption.withLock { $0 = error }
                    return true
                }
            }
            held = made
            return made
        }
    }

    /// What is thrown for a failure: a wish to stop is passed on as it came.
    private func error(_ failure: HTTPFailure) -> any Error {
        switch failure.kind {
        case .cancelled: return CancellationError()
        case .interrupted: return interruption.withLock { $0 } ?? CancellationError()
        default: return failure
        }
    }
}
