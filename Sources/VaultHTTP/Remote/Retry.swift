internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Which requests are sent again, and when (spec 10 B.10).
package struct RetryPolicy: Sendable {
    /// How often a request is sent at most.
    package var attempts = 4
    /// The mean of the first delay is half of this; every further one may be twice as long.
    package var firstDelayMs: Int64 = 500
    package var longestDelayMs: Int64 = 8000
    /// The longest time that a server may ask to wait.
    package var maxWaitMs: Int64 = 30_000
    /// Send requests also before the time that a server named.
    package var ignoresBackoff = false

    package init() {}
}

/// Where the times are kept before which servers want no request.
package protocol BackoffStore: Sendable {
    /// Milliseconds since 1970; nil when the server of this origin named no time.
    func notBefore(_ origin: String) -> Int64?
    /// Keeps a time.
    func remember(_ milliseconds: Int64, for origin: String)
}

/// Sends requests until an answer counts or patience ends.
struct Retrier: Sendable {
    let client: HTTPClient
    let policy: RetryPolicy
    let backoff: (any BackoffStore)?
    let clock: any Clock
    let random: any RandomSource

    /// Answers that another attempt may change.
    static func isPassing(_ status: Int) -> Bool {
        status == 429 || status == 502 || status == 503 || status == 504
    }

    /// Sends with `send` until an answer comes whose status is final, or no attempts are left.
    ///
    /// * `givesUp`: Whether an answer of a passing status is given back at once, because the caller can do better.
    /// * `unclear`: Called for every attempt that the server may have acted on although no answer of its tells.
    /// - Returns: The last answer, of whatever status.
    /// - Throws: `deferred` when the server asks for a longer wait than allowed; `HTTPFailure` when the last attempt
    ///   ended without an answer.
    func run(
        _ origin: String, givesUp: (HTTPResponse) -> Bool = { _ in false }, unclear: () -> Void = {},
        _ send: () async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        var attempt = 1
        while true {
            try checkEligible(origin)
            var wanted: Int64 = 0
            do {
                let response = try await send()
                guard Self.isPassing(response.status) else { return response }
                // These two come from somebody on the way, who may have passed the request on.
                if response.status == 502 || response.status == 504 { unclear() }
                let floor = response.head.headers["retry-after"].flatMap { RetryAfter.delay($0, nowMs: clock.nowMs) }
                if floor == nil, givesUp(response) { return response }
                wanted = floor ?? 0
                guard wanted <= policy.maxWaitMs else { throw postponed(origin, by: wanted, response.status) }
                guard attempt < policy.attempts else { return response }
            } catch let failure as HTTPFailure {
                if failure.kind == .lost || failure.kind == .garbled { unclear() }
                guard failure.kind == .lost || failure.kind == .garbled, attempt < policy.attempts else {
                    throw failure
                }
            }
            try await pause(max(wanted, try delay(attempt)))
            attempt += 1
        }
    }

    /// Gives a file's bytes while they come; after a broken connection it begins again, and what was given already is
    /// left out.
    ///
    /// * `given`: How many bytes were given.
    /// * `send`: Sends the request once and hands pieces of the body on.
    /// - Returns: The last answer, as `run` does.
    func stream(
        _ origin: String, _ given: inout Int64, into sink: (Span<UInt8>) throws -> Void,
        _ send: (([UInt8]) throws -> Void) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        // The retries end before this call does, so the closure does not really escape.
        try await withoutActuallyEscaping(sink) { sink in
            try await run(origin) {
                var skip = given
                var seen: Int64 = 0
                let response = try await send { chunk in
                    seen += Int64(chunk.count)
                    let dropped = min(skip, Int64(chunk.count))
                    skip -= dropped
                    let fresh = Array(chunk.dropFirst(Int(dropped)))
                    guard !fresh.isEmpty else { return }
                    try sink(fresh.span)
                    given += Int64(fresh.count)
                }
                if response.status == 200, let length = response.head.contentLength, length != seen {
                    throw HTTPFailure(.garbled, "the file ended early")
                }
                return response
            }
        }
    }

    /// Waits, and ends early when the process or the task should stop.
    func pause(_ milliseconds: Int64) async throws {
        var left = milliseconds
        while left > 0 {
            try client.checkCancellation()
            let part = min(left, 100)
            try await Task.sleep(for: .milliseconds(part))
            left -= part
        }
    }

    /// A time between nothing and the attempt's longest delay, so that clients do not come back together.
    private func delay(_ attempt: Int) throws -> Int64 {
        let longest = min(policy.longestDelayMs, policy.firstDelayMs << min(attempt - 1, 16))
        let bytes = try random.bytes(4)
        let fraction = bytes.reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return longest * fraction / Int64(UInt32.max)
    }

    private func checkEligible(_ origin: String) throws {
        guard !policy.ignoresBackoff, let time = backoff?.notBefore(origin), time > clock.nowMs else { return }
        throw deferred(origin, until: time, nil)
    }

    private func postponed(_ origin: String, by wait: Int64, _ status: Int) -> VaultError {
        let time = clock.nowMs + wait
        backoff?.remember(time, for: origin)
        return deferred(origin, until: time, status)
    }

    private func deferred(_ origin: String, until time: Int64, _ status: Int?) -> VaultError {
        VaultError(
            .deferred, "\(origin) asks for no request before \(LocalTime.text(ms: time))",
            hint: "run it again then; --ignore-backoff asks at once"
        ).answered(
            VaultError.Answer(httpStatus: status, retryAfterMs: max(0, time - clock.nowMs), notBeforeMs: time))
    }
}

/// Reads the header `Retry-After`.
enum RetryAfter {
    /// More than a day is not believed to be meant.
    private static let longestMs: Int64 = 86_400_000

    /// The wait in milliseconds that a value asks for: seconds, or a date; nil when it is neither.
    static func delay(_ text: String, nowMs: Int64) -> Int64? {
        let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
        if !text.isEmpty, digits.count == text.utf8.count {
            guard let seconds = Int64(text), seconds <= longestMs / 1000 else { return longestMs }
            return seconds * 1000
        }
        guard let date = date(text) else { return nil }
        return min(longestMs, max(0, date - nowMs))
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older forms that servers may still send.
    static func date(_ text: String) -> Int64? {
        var words = text.split { $0 == " " || $0 == "," }.map(String.init)
        guard words.count >= 4 else { return nil }
        words.removeFirst()
        // Sunday, 06-Nov-94 08:49:37 GMT
        if words[0].contains("-") {
            let parts = words[0].split(separator: "-").map(String.init)
            guard parts.count == 3, words.count == 3, words[2] == "GMT", let year = Int(parts[2]) else { return nil }
            let full = year < 100 ? (year < 70 ? 2000 + year : 1900 + year) : year
            return time(day: parts[0], month: parts[1], year: String(full), clock: words[1])
        }
        // Sun Nov  6 08:49:37 1994
        if words.count == 4, words[3] != "GMT" {
            return time(day: words[1], month: words[0], year: words[3], clock: words[2])
        }
        guard words.count == 5, words[4] == "GMT" else { return nil }
        return time(day: words[0], month: words[1], year: words[2], clock: words[3])
    }

    private static func time(day: String, month: String, year: String, clock: String) -> Int64? {
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard let number = months.firstIndex(of: month) else { return nil }
        func two(_ text: String) -> String { text.utf8.count == 1 ? "0" + text : text }
        return LocalTime.parseRFC3339("\(year)-\(two(String(number + 1)))-\(two(day))T\(clock)Z")
    }
}
