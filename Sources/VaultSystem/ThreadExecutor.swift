/// Runs asynchronous code on the thread that asks for it, so that as many pieces run at once as there are threads.
///
/// The language's own pool has as many threads as processors, and what waits for a lock there keeps others waiting.
package final class ThreadExecutor: TaskExecutor {
    private let jobs = Channel<UnownedJob>(capacity: 1024)

    private init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        _ = jobs.send(UnownedJob(job))
    }

    private func runUntilFinished() {
        while let job = jobs.receive() { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Runs `body` to its end on this thread.
    package static func run(_ body: @escaping @Sendable () async -> Void) {
        let executor = ThreadExecutor()
        Task(executorPreference: executor) {
            await body()
            executor.jobs.finish()
        }
        executor.runUntilFinished()
    }

    /// Runs `body` for every index below `count`, each on a thread of its own, all at once.
    package static func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) async -> Void) throws {
        try WorkerPool(threads: count).forEach(count: count) { index in run { await body(index) } }
    }
}
