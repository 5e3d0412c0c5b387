import Testing
import VaultSystem

private struct Boom: Error, Equatable {
    let number: Int
}

@Suite("A locked value is one thread's at a time")
struct LockedTests {
    @Test("no increment of 8 threads is lost")
    func increments() throws {
        let counter = Locked(0)
        try WorkerPool(threads: 8).forEach(count: 200_000) { _ in counter.withLock { $0 += 1 } }
        #expect(counter.withLock { $0 } == 200_000)
    }

    @Test("an error leaves it unlocked and typed")
    func errors() throws {
        let value = Locked(1)
        #expect(throws: Errno.ioError) {
            try value.withLock { number throws(Errno) in
                number = 2
                throw Errno.ioError
            }
        }
        #expect(value.withLock { $0 } == 2)
    }

    @Test("a value that can not be copied is held and handed out")
    func noncopyable() {
        struct Ticket: ~Copyable {
            let number: Int
        }
        let locked = Locked<Ticket>(Ticket(number: 4))
        let made: Ticket = locked.withLock { Ticket(number: $0.number + 1) }
        #expect(made.number == 5)
    }

    @Test("taking it twice in one thread stops the process instead of hanging it")
    func twice() async {
        await #expect(processExitsWith: .failure) {
            let value = Locked(1)
            value.withLock { _ in value.withLock { $0 = 2 } }
        }
    }
}

@Suite("A worker pool spreads blocking work over threads")
struct WorkerPoolTests {
    @Test("every index is done once", arguments: [0, 1, 2, 7, 5000], [1, 2, 8])
    func everyIndex(count: Int, workers: Int) throws {
        let done = Locked([Int](repeating: 0, count: count))
        try WorkerPool(threads: workers).forEach(count: count) { index in done.withLock { $0[index] += 1 } }
        #expect(done.withLock { $0.allSatisfy { $0 == 1 } })
    }

    @Test("results come in the order of the indices", arguments: [1, 3])
    func mapping(workers: Int) throws {
        #expect(try WorkerPool(threads: workers).map(count: 1000) { $0 * $0 } == (0..<1000).map { $0 * $0 })
    }

    @Test("the first error is thrown and stops the rest", arguments: [1, 4])
    func failure(workers: Int) {
        let done = Locked(0)
        #expect(throws: Boom(number: 10)) {
            try WorkerPool(threads: workers).forEach(count: 100_000) { index in
                if index == 10 { throw Boom(number: 10) }
                done.withLock { $0 += 1 }
            }
        }
        #expect(done.withLock { $0 } < 100_000)
    }

    @Test("one worker runs in order on the calling thread")
    func inline() throws {
        let order = Locked<[Int]>([])
        try WorkerPool(threads: 1).forEach(count: 50) { index in order.withLock { $0.append(index) } }
        #expect(order.withLock { $0 } == Array(0..<50))
    }

    @Test("two pieces of work run at the same time")
    func concurrently() throws {
        let there = Channel<Int>(capacity: 1)
        let back = Channel<Int>(capacity: 1)
        let (first, second) = try WorkerPool.concurrently {
            _ = there.send(1)
            return back.receive()
        } beside: {
            let got = there.receive()
            _ = back.send(2)
            return got
        }
        #expect(first == 2)
        #expect(second == 1)
    }

    @Test("the first one's error wins when both fail")
    func concurrentFailure() {
        #expect(throws: Boom(number: 1)) {
            _ = try WorkerPool.concurrently({ throw Boom(number: 1) }, beside: { throw Boom(number: 2) })
        }
    }

    @Test("there is at least one worker")
    func defaultWorkers() {
        #expect(WorkerPool.defaultThreads >= 1)
    }
}

@Suite("A channel is a bounded queue")
struct ChannelTests {
    @Test("everything sent is received once, in order", arguments: [1, 3, 64])
    func order(capacity: Int) throws {
        let channel = Channel<Int>(capacity: capacity)
        let (_, received) = try WorkerPool.concurrently {
            for number in 0..<10_000 { #expect(channel.send(number)) }
            channel.finish()
        } beside: { () -> [Int] in
            var received: [Int] = []
            while let number = channel.receive() { received.append(number) }
            return received
        }
        #expect(received == Array(0..<10_000))
    }

    @Test("a producer waits while it is full")
    func bounded() throws {
        let channel = Channel<Int>(capacity: 2)
        let sent = Locked(0)
        _ = try WorkerPool.concurrently {
            for number in 0..<100 {
                _ = channel.send(number)
                sent.withLock { $0 += 1 }
            }
            channel.finish()
        } beside: {
            var received = 0
            while channel.receive() != nil {
                received += 1
                // At most what is queued, plus the one just taken and the one about to be counted.
                #expect(sent.withLock { $0 } <= received + 3)
            }
        }
    }

    @Test("cancelling frees a waiting sender and a waiting receiver")
    func cancelling() throws {
        let full = Channel<Int>(capacity: 1)
        #expect(full.send(1))
        let empty = Channel<Int>(capacity: 1)
        let (answers, _) = try WorkerPool.concurrently {
            (full.send(2), empty.receive())
        } beside: {
            full.cancel()
            empty.cancel()
        }
        #expect(answers.0 == false)
        #expect(answers.1 == nil)
        #expect(full.receive() == nil)
        #expect(!full.send(3))
    }

    @Test("nothing is taken after the end, and what was sent is still received")
    func finishing() {
        let channel = Channel<Int>(capacity: 4)
        #expect(channel.send(1))
        channel.finish()
        #expect(!channel.send(2))
        #expect(channel.receive() == 1)
        #expect(channel.receive() == nil)
    }
}

@Suite("A thread beside its maker")
struct BackgroundThreadTests {
    /// Bytes of address space that this process has.
    private func addressSpace() throws -> Int {
        let text = try LinuxFileSystem().readFile(FilePath("/proc/self/statm"), limit: 4096)
        return try #require(Int(String(decoding: text.prefix { $0 != 0x20 }, as: UTF8.self))) << 12
    }

    @Test("whose end nobody waits for leaves no stack behind")
    func detached() throws {
        let before = try addressSpace()
        // A stack is 8 MiB, and the C library keeps but a few for the next threads.
        for _ in 0..<500 {
            let ended = Channel<Bool>(capacity: 1)
            try BackgroundThread.detached { _ = ended.send(true) }
            #expect(ended.receive() == true)
        }
        #expect(try addressSpace() - before < 500 << 22)
    }
}
