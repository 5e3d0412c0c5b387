internal import Glibc

/// A POSIX thread that runs beside its maker until its body ends.
///
/// For work that waits for disks and locks, which the language's task pool must never do.
package struct BackgroundThread: Sendable {
    private let thread: pthread_t

    /// Starts it; `Errno.wouldBlock` when the system grants no thread.
    package init(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        guard let thread = WorkerThreads.start(body) else { throw .wouldBlock }
        self.thread = thread
    }

    /// Starts one that nobody waits for; what it leaves is the system's as soon as it ends.
    ///
    /// `Errno.wouldBlock` when the system grants no thread.
    package static func detached(_ body: @escaping @Sendable () -> Void) throws(Errno) {
        let started = try BackgroundThread(body)
        pthread_detach(started.thread)
    }

    /// Makes sure that so many threads can be had at once, of which none is left.
    ///
    /// The runtime of asynchronous code waits without end, and without a look at signals, where it can have none.
    /// - Throws: `Errno.wouldBlock`.
    package static func require(_ count: Int) throws(Errno) {
        let gate = Channel<Void>(capacity: 1)
        var started: [BackgroundThread] = []
        defer {
            gate.finish()
            for thread in started { thread.join() }
        }
        for _ in 0..<count { started.append(try BackgroundThread { _ = gate.receive() }) }
    }

    /// Waits for its end; to be called exactly once, or its stack is never given back.
    package func join() {
        pthread_join(thread, nil)
    }
}
