internal import CSystemShim

/// Blocking work spread over threads.
package enum WorkerPool {
    /// The processors this process may run on.
    package static let defaultWorkers = Int(vs_processor_count())

    /// Runs `body` once for every index below `count`, on up to `workers` threads.
    ///
    /// Threads take the next index when they are free. With one worker, or at most one index, everything runs in
    /// order on this thread.
    ///
    /// The first error stops the handing out of indices; it is thrown once the bodies under way have ended.
    package static func forEach(
        count: Int, workers: Int = defaultWorkers, _ body: @Sendable (Int) throws -> Void
    ) throws {
        guard workers > 1, count > 1 else {
            for index in 0..<max(count, 0) { try body(index) }
            return
        }
        let state = Locked(Progress())
        WorkerThreads.run(extra: min(workers, count) - 1) {
            while let index = state.withLock({ $0.take(below: count) }) {
                do {
                    try body(index)
                } catch {
                    state.withLock { $0.fail(error) }
                }
            }
        }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// The results of `body` for every index below `count`, in the order of the indices.
    package static func map<Result: Sendable>(
        count: Int, workers: Int = defaultWorkers, _ body: @Sendable (Int) throws -> Result
    ) throws -> [Result] {
        guard workers > 1, count > 1 else { return try (0..<max(count, 0)).map(body) }
        let results = Locked([Result?](repeating: nil, count: count))
        try forEach(count: count, workers: workers) { index in
            let result = try body(index)
            results.withLock { $0[index] = result }
        }
        return results.withLock { $0.compactMap { $0 } }
    }

    /// Runs two pieces of work at the same time and gives both results.
    ///
    /// When both fail, the first one's error is thrown; neither is stopped by the other's failure, so one that waits
    /// for the other through a `Channel` must cancel it on its way out.
    package static func concurrently<First: Sendable, Second: Sendable>(
        _ first: @Sendable () throws -> First, _ second: @Sendable () throws -> Second
    ) throws -> (First, Second) {
        let firstResult = Locked<Result<First, any Error>?>(nil)
        let secondResult = Locked<Result<Second, any Error>?>(nil)
        try WorkerThreads.run {
            let result = Result { try first() }
            firstResult.withLock { $0 = result }
        } beside: {
            let result = Result { try second() }
            secondResult.withLock { $0 = result }
        }
        guard let firstDone = firstResult.withLock({ $0 }), let secondDone = secondResult.withLock({ $0 }) else {
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
