internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Threads that may wait for disks and locks, so that those of the HTTP library never do.
///
/// Work for one vault that needs its lock stands in one line, whatever its length: it takes one thread, and the other
/// vaults and all readers keep theirs.
final class Lanes: Sendable {
    typealias Job = @Sendable () -> Void

    private let queue: Channel<Job>
    /// What waits for the work that is being done, by vault; absent where none is.
    private let waiting = Locked<[VaultID: [Job]]>([:])
    private let threads: Locked<[BackgroundThread]>

    /// Starts the threads.
    init(threads count: Int, capacity: Int) throws(VaultError) {
        let queue = Channel<Job>(capacity: capacity)
        self.queue = queue
        var started: [BackgroundThread] = []
        do throws(Errno) {
            for _ in 0..<max(count, 1) {
                started.append(try BackgroundThread { while let job = queue.receive() { job() } })
            }
        } catch {
            queue.finish()
            for thread in started { thread.join() }
            throw .io(error, "cannot start a thread")
        }
        threads = Locked(started)
    }

    /// Hands work over; false once the threads were told to end and it was not done.
    ///
    /// Work that stands in a line is done in any case: where no thread takes it any more, by the caller.
    func submit(lane: VaultID?, _ job: @escaping Job) -> Bool {
        guard let lane else { return queue.send(job) }
        let isFirst = waiting.withLock { waiting in
            guard waiting[lane] != nil else {
                waiting[lane] = []
                return true
            }
            waiting[lane]?.append(job)
            return false
        }
        if isFirst { run(job, lane) }
        return true
    }

    /// Has the first work of a line done, and what waits behind it.
    private func run(_ job: @escaping Job, _ lane: VaultID) {
        let isTaken = queue.send {
            job()
            // What waited meanwhile goes on here, a few at a time: then others have their turn.
            for _ in 0..<8 {
                guard let next = self.next(lane) else { return }
                next()
            }
            if let next = self.next(lane) { self.run(next, lane) }
        }
        guard !isTaken else { return }
        // The threads end. Others count on this line as long as it stands, so it is done to its end.
        job()
        while let next = next(lane) { next() }
    }

    /// The next work of a line; closes the line when there is none.
    private func next(_ lane: VaultID) -> Job? {
        waiting.withLock { waiting in
            guard let first = waiting[lane]?.first else {
                waiting[lane] = nil
                return nil
            }
            waiting[lane]?.removeFirst()
            return first
        }
    }

    /// Ends the threads after everything handed over is done.
    func finish() {
        queue.finish()
        let ending = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in ending { thread.join() }
    }
}
