internal import CSystemShim

/// Blocking work spread over threads, which ends early when somebody wishes so.
package struct WorkerPool: Sendable {
    /// The processors this process may run on.
    package static let defaultThreads = Int(vs_processor_count())

    /// How many pieces of work run at once.
    package let threads: Int
    private let cancellation: (any Cancellation)?

    package init(threads: Int = defaultThreads, cancellation: any Cancellation = NoCancellation()) {
        self.threads = threads
        self.cancellation = cancellation
    }

    private init(uninterrupted threads: Int) {
        self.threads = threads
        cancellation = nil
    }

    /// For work that is past the point of no return: nothing but an error stops it.
    package static func uninterrupted(threads: Int) -> WorkerPool {
        WorkerPool(uninterrupted: threads)
    }

    /// How many of `count` pieces one thread takes at once: up to `most` where they are many, one where they are few and
    /// may be large.
    package func groupSize(of count: Int, most: Int) -> Int {
        max(1, min(most, count / (threads * 8)))
    }

    /// Throws when the work should stop here: long pieces of work ask between two steps.
    ///
    /// - Throws: what the cancellation throws, or `CancellationError` in a task that was cancelled.
    package func checkCancellation() throws {
        guard let cancellation else { return }
        try cancellation.check()
        try Task.checkCancellation()
    }

    /// Runs `body` once for every index below `count`, on up to `threads` threads.
    ///
    /// Threads take the next index when they are free. With one thread, or at most one index, everything runs in
    /// order on this thread.
    ///
    /// The first error, or a wish to stop, ends the handing out of indices; it is thrown once the bodies under way
    /// have ended.
    package func forEach(count: Int, _ body: @Sendable (Int) throws -> Void) throws {
        guard threads > 1, count > 1 else {
            for index in 0..<max(count, 0) {
                try checkCancellation()
                try body(index)
            }
            return
        }
        let state = Locked(Progress())
        WorkerThreads.run(extra: min(threads, count) - 1) {
            while let index = state.withLock({ $0.take(below: count) }) {
                do {
                    // A task is known on its own thread only, which is one of those at work.
                    try checkCancellation()
                    try body(index)
                } catch {
                    state.withLock { $0.fail(error) }
                }
            }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// The results of `body` for every index below `count`, in the order of the indices.
    package func map<Result: Sendable>(
        count: Int, _ body: @Sendable (Int) throws -> Result
    ) throws -> [Result] {
        let results = Locked([Result?](repeating: nil, count: max(count, 0)))
        try forEach(count: count) { index in
            let result = try body(index)
            results.withLock { $0[index] = result }
        }
        return results.withLock { $0.compactMap { $0 } }
    }

    /// Runs two pieces of work at the same time, the second on this thread, and gives both results.
    ///
    /// When both fail, the first one's error is thrown; neither is stopped by the other's failure, so one that waits
    /// for the other through a `Channel` must cancel it on its way out.
    package static func concurrently<First: Sendable, Second>(
        _ first: @Sendable () throws -> First, beside second: () throws -> Second
    ) throws -> (First, Second) {
        let firstResult = Locked<Result<First, any Error>?>(nil)
        var secondResult: Result<Second, any Error>?
        try WorkerThreads.run {
            let result = Result { try first() }
            firstResult.withLock { $0 = result }
        } beside: {
            secondResult = Result { try second() }
        }
        guard let firstDone = firstResult.withLock({ $0 }), let secondDone = secondResult else {
            throw Errno.outOfMemory
        }
        return (try firstDone.get(), try secondDone.get())
    }

    private struct Progress {
        var next = 0
        var failure: (any Error)?

        mutating func take(below count: Int) -> Int? {
            guard failure == nil, next < count else { return nil }
            defer { next += 1 }
            return next
        }

        mutating func fail(_ error: any Error) {
            if failure == nil { failure = error }
        }
    }
}
