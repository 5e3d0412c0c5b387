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

    /// Waits for its end; to be called once.
    package func join() {
        pthread_join(thread, nil)
    }
}
