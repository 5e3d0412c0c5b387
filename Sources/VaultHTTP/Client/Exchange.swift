internal import VaultSystem

/// One request and its answer, filled on the client's thread and taken by the task that waits for it.
final class Exchange: TransferEvents {
    private struct State {
        var head = HTTPHead()
        /// Whether the last head that began has come to its end.
        var hasHead = false
        /// What of a streamed body was not taken yet.
        var chunks: [[UInt8]] = []
        /// A body that is not streamed.
        var body: [UInt8] = []
        var held = 0
        /// Bytes of an error's body that nobody will see.
        var dropped = 0
        var isPaused = false
        var sent = 0
        var end: TransferEnd?
        /// Why a callback stopped the transfer.
        var failure: HTTPFailure?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())
    private let body: HTTPRequest.Body?
    /// The most bytes of the body, or of what is held of it at once where it is streamed.
    private let limit: Int
    private let streams: Bool
    private let onlyReads: Bool

    /// An answer with another status than 200 and 206 is never streamed; its text has no use beyond this.
    private static let errorLimit = 64 << 10
    /// What is let pass beyond that, so that the connection can be kept; an endless body is ended.
    private static let dropLimit = 1 << 20
    /// The most bytes for which room is made before they are there.
    private static let reserveLimit: Int64 = 16 << 20

    init(_ request: HTTPRequest, streams: Bool) {
        body = request.body
        limit = request.answerLimit
        self.streams = streams
        onlyReads = request.onlyReads
    }

    // MARK: the client's thread

    func head(_ line: [UInt8]) -> TransferVerdict {
        state.withLock { state in
            guard state.head.take(line) else {
                state.failure = HTTPFailure(.garbled, "the head of the answer is too large")
                return .stop
            }
            let isEnd = line == [0x0D, 0x0A] || line == [0x0A]
            // A status line begins one; what follows a body has none.
            if isEnd { state.hasHead = true } else if line.starts(with: "HTTP/".utf8) { state.hasHead = false }
            if isEnd, !streams, Self.isGood(state.head.status), let length = state.head.contentLength, length > limit {
                state.failure = HTTPFailure(.tooLarge, "an answer of \(length) bytes is too large")
                return .stop
            }
            // At once what it takes, so that growing never holds it twice; not on the word of a far larger number.
            if isEnd, !streams, Self.isGood(state.head.status), let length = state.head.contentLength, length > 0 {
                state.body.reserveCapacity(Int(min(length, Self.reserveLimit)))
            }
            return .goOn
        }
    }

    func body(_ bytes: [UInt8]) -> TransferVerdict {
        let (verdict, waiter) = state.withLock { state -> (TransferVerdict, CheckedContinuation<Void, Never>?) in
            let isGood = Self.isGood(state.head.status)
            if streams, isGood {
                if state.held > 0, state.held + bytes.count > limit {
                    state.isPaused = true
                    return (.wait, nil)
                }
                state.chunks.append(bytes)
                state.held += bytes.count
                defer { state.waiter = nil }
                return (.goOn, state.waiter)
            }
            guard state.held + bytes.count <= (isGood ? limit : Self.errorLimit) else {
                if isGood {
                    state.failure = HTTPFailure(.tooLarge, "the answer is too large")
                    return (.stop, nil)
                }
                // Of an error only the status counts.
                state.dropped += bytes.count
                guard state.dropped > Self.dropLimit else { return (.goOn, nil) }
                state.failure = HTTPFailure(.garbled, "the answer is an error without an end")
                return (.stop, nil)
            }
            state.body += bytes
            state.held += bytes.count
            return (.goOn, nil)
        }
        waiter?.resume()
        return verdict
    }

    func fill(limit: Int) -> BodyPiece {
        switch body {
        case nil: return .bytes([])
        case .stream(_, let source): return source.next(limit: limit)
        case .bytes(let bytes):
            return state.withLock { state in
                let piece = bytes[state.sent..<min(bytes.count, state.sent + limit)]
                state.sent = piece.endIndex
                return .bytes(piece)
            }
        }
    }

    func rewind() -> Bool {
        switch body {
        case nil: return true
        case .stream(_, let source): return source.rewind()
        case .bytes:
            guard onlyReads else { return false }
            state.withLock { $0.sent = 0 }
            return true
        }
    }

    func ended(_ end: TransferEnd) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.end = end
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    private static func isGood(_ status: Int) -> Bool { status == 200 || status == 206 }

    // MARK: the waiting task

    /// What has arrived since the last call; waits until there is something.
    ///
    /// * `resume`: Called when the transfer waits for what is taken here.
    func next(resume: () -> Void) async -> (chunks: [[UInt8]], end: TransferEnd?) {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isReady = state.withLock { state in
                let isReady = state.end != nil || (streams && !state.chunks.isEmpty && Self.isGood(state.head.status))
                if !isReady { state.waiter = continuation }
                return isReady
            }
            if isReady { continuation.resume() }
        }
        let (taken, wasPaused) = state.withLock { state -> ((chunks: [[UInt8]], end: TransferEnd?), Bool) in
            defer { (state.chunks, state.held, state.isPaused) = ([], 0, false) }
            return ((state.chunks, state.end), state.isPaused)
        }
        if wasPaused { resume() }
        return taken
    }

    /// The body that was not streamed, once the answer has ended.
    func takeBody() -> [UInt8] {
        state.withLock { state in
            defer { state.body = [] }
            return state.body
        }
    }

    /// The head, once it has arrived.
    var head: HTTPHead { state.withLock { $0.head } }

    /// The failure behind an end that is one.
    func failure(_ end: TransferEnd) -> HTTPFailure? {
        guard let kind = end.failure else {
            // A connection that ends inside a head looks like an answer without a body.
            return state.withLock { $0.hasHead } ? nil : HTTPFailure(.lost, "the answer ended in its head")
        }
        if kind == .stopped, let failure = state.withLock({ $0.failure }) { return failure }
        return HTTPFailure(kind, end.message)
    }
}
