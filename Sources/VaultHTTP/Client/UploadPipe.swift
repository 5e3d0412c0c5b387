internal import VaultSystem

/// Hands bytes that are pushed on one thread to a transfer that pulls them on another, a bounded amount at a time.
final class UploadPipe: BodySource {
    fileprivate struct State {
        var chunks: [[UInt8]] = []
        /// How much of the first chunk is gone.
        var offset = 0
        var held = 0
        var isFinished = false
        var isBroken = false
        var transferWaits = false
        var producerWaits = false
        var resume: (@Sendable () -> Void)?
    }

    private let state = Locked(State())
    /// Wakes a producer that found the pipe full.
    private let room = Channel<Void>(capacity: 1)
    private static let capacity = 1 << 20

    func attach(resume: @escaping @Sendable () -> Void) {
        let isWaiting = state.withLock { state in
            state.resume = resume
            defer { if state.held > 0 || state.isFinished || state.isBroken { state.transferWaits = false } }
            return state.transferWaits && (state.held > 0 || state.isFinished || state.isBroken)
        }
        if isWaiting { resume() }
    }

    /// Adds bytes; waits while the pipe is full.
    ///
    /// False when nobody takes them any more.
    func push(_ bytes: [UInt8]) -> Bool {
        while true {
            let (isTaken, isBroken, resume) = state.withLock { state -> (Bool, Bool, (@Sendable () -> Void)?) in
                guard !state.isBroken else { return (false, true, nil) }
                guard state.held == 0 || state.held + bytes.count <= Self.capacity else {
                    state.producerWaits = true
                    return (false, false, nil)
                }
                state.chunks.append(bytes)
                state.held += bytes.count
                return (true, false, state.wakeTransfer())
            }
            resume?()
            if isTaken { return true }
            if isBroken || room.receive() == nil { return false }
        }
    }

    /// No more bytes follow.
    func finish() {
        state.withLock { state -> (@Sendable () -> Void)? in
            state.isFinished = true
            return state.wakeTransfer()
        }?()
    }

    /// Ends both sides: the transfer stops, and the producer is told with its next push.
    func abandon() {
        let resume = state.withLock { state -> (@Sendable () -> Void)? in
            state.isBroken = true
            return state.wakeTransfer()
        }
        room.cancel()
        resume?()
    }

    func next(limit: Int) -> BodyPiece {
        let (piece, wakes) = state.withLock { state -> (BodyPiece, Bool) in
            if state.isBroken { return (.stop, false) }
            guard let first = state.chunks.first else {
                if state.isFinished { return (.bytes([]), false) }
                state.transferWaits = true
                return (.wait, false)
            }
            let end = min(first.count, state.offset + limit)
            let piece = first[state.offset..<end]
            state.held -= piece.count
            state.offset = end
            if end == first.count {
                state.chunks.removeFirst()
                state.offset = 0
            }
            defer { state.producerWaits = false }
            return (.bytes(piece), state.producerWaits)
        }
        // The channel holds one, and at most one is on its way: this never waits.
        if wakes { _ = room.send(()) }
        return piece
    }

    /// What was pushed is gone: the caller begins anew, with another pipe.
    func rewind() -> Bool { false }
}

extension UploadPipe.State {
    /// What makes the transfer go on, when it waits.
    fileprivate mutating func wakeTransfer() -> (@Sendable () -> Void)? {
        guard transferWaits, let resume else { return nil }
        transferWaits = false
        return resume
    }
}
