internal import Glibc

/// POSIX threads that live for the length of one call.
///
/// Not the language's task pool: its few threads must never wait for a disk.
enum WorkerThreads {
    /// Runs `body` on up to `extra` further threads and on this one, and returns when all have ended.
    ///
    /// Where the system grants fewer threads, fewer run; this one always does.
    static func run(extra: Int, _ body: @Sendable () -> Void) {
        withoutActuallyEscaping(body) { body in
            let work = Work(body)
            var threads: [pthread_t] = []
            for _ in 0..<max(extra, 0) {
                guard let thread = start(work) else { break }
                threads.append(thread)
            }
            body()
            // No thread outlives this call, so the closure does not really escape.
            for thread in threads { pthread_join(thread, nil) }
        }
    }

    /// Runs `first` on a further thread and `second` on this one, and returns when both have ended.
    ///
    /// Throws, having run nothing, when the system grants no thread: two that wait for each other could not take turns.
    static func run(_ first: @Sendable () -> Void, beside second: () -> Void) throws(Errno) {
        let started = withoutActuallyEscaping(first) { first in
            guard let thread = start(Work(first)) else { return false }
            second()
            // The thread does not outlive this call, so the closure does not really escape.
            pthread_join(thread, nil)
            return true
        }
        if !started { throw .wouldBlock }
    }

    /// Starts a thread that may outlive the caller; nil when the system grants none.
    static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t? {
        start(Work(body))
    }

    private static func start(_ work: Work) -> pthread_t? {
        var thread = pthread_t()
        // The reference is taken back exactly once: by the thread, or below when there is none.
        let reference = unsafe Unmanaged.passRetained(work)
        let result = unsafe pthread_create(
            &thread, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, reference.toOpaque())
        guard result == 0 else {
            unsafe reference.release()
            return nil
        }
        return thread
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
