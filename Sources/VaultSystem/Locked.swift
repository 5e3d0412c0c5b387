internal import Glibc

/// A value that one thread at a time may use.
///
/// Over a POSIX mutex in its own heap memory: ThreadSanitizer understands it, as it does not
/// `Synchronization.Mutex`. The mutex checks for errors, so that a thread which asks for it twice stops at once
/// instead of waiting for itself for ever.
@safe
package final class Locked<Value: ~Copyable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    package init(_ value: consuming sending Value) {
        // Both live exactly as long as this object, at fixed addresses.
        unsafe self.mutex = .allocate(capacity: 1)
        unsafe self.value = .allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
        var attributes = pthread_mutexattr_t()
        unsafe pthread_mutexattr_init(&attributes)
        unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK))
        let result = unsafe pthread_mutex_init(mutex, &attributes)
        unsafe pthread_mutexattr_destroy(&attributes)
        precondition(result == 0, "a mutex could not be made")
    }

    deinit {
        // Nobody holds the lock: holders keep a reference.
        unsafe pthread_mutex_destroy(mutex)
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        unsafe mutex.deallocate()
    }

    /// Runs `body` with the value while no other thread has it.
    package func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        let result = unsafe pthread_mutex_lock(mutex)
        precondition(result == 0, "a lock was taken twice by one thread")
        defer { unsafe _ = pthread_mutex_unlock(mutex) }
        return unsafe try body(&value.pointee)
    }
}
