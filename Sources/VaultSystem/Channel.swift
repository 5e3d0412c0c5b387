internal import Glibc

/// A bounded queue between threads: `send` waits while it is full, `receive` while it is empty.
///
/// The producer ends with `finish()`; whoever fails calls `cancel()`, which frees everybody who waits.
@safe
package final class Channel<Element: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Woken whenever the queue changes.
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private let capacity: Int
    // Everything below is touched under the mutex only.
    private var queue: [Element] = []
    private var head = 0
    private var isFinished = false
    private var isCancelled = false

    package init(capacity: Int) {
        self.capacity = max(capacity, 1)
        // Both live exactly as long as this object, at fixed addresses.
        unsafe mutex = .allocate(capacity: 1)
        unsafe changed = .allocate(capacity: 1)
        let results = unsafe (pthread_mutex_init(mutex, nil), pthread_cond_init(changed, nil))
        precondition(results == (0, 0), "a mutex could not be made")
    }

    deinit {
        // Nobody waits: those who wait keep a reference.
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(mutex)
        unsafe changed.deallocate()
        unsafe mutex.deallocate()
    }

    /// Hands an element over; false when the channel was cancelled or finished, and the element was not taken.
    package func send(_ element: Element) -> Bool {
        locked {
            while queue.count - head >= capacity, !isCancelled, !isFinished { wait() }
            guard !isCancelled, !isFinished else { return false }
            queue.append(element)
            wake()
            return true
        }
    }

    /// The next element; nil when the channel is finished and empty, or was cancelled.
    package func receive() -> Element? {
        locked {
            while head == queue.count, !isFinished, !isCancelled { wait() }
            guard !isCancelled, head < queue.count else { return nil }
            let element = queue[head]
            head += 1
            // The queue is short: moving it when it has run empty or over is cheap.
            if head == queue.count || head >= capacity {
                queue.removeFirst(head)
                head = 0
            }
            wake()
            return element
        }
    }

    /// No more elements follow; those sent are still received.
    package func finish() {
        locked {
            isFinished = true
            wake()
        }
    }

    /// Ends everything: what is queued is dropped, every call returns at once.
    package func cancel() {
        locked {
            isCancelled = true
            queue = []
            head = 0
            wake()
        }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe _ = pthread_mutex_unlock(mutex) }
        return body()
    }

    private func wait() {
        // Called with the mutex held, which pthread_cond_wait gives back while it sleeps.
        unsafe pthread_cond_wait(changed, mutex)
    }

    private func wake() {
        unsafe pthread_cond_broadcast(changed)
    }
}
