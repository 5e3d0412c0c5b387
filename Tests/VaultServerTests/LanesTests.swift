import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// Work that waits for others of its vault, also when the server stops.
@Suite("Lines of work", .timeLimit(.minutes(1)))
struct LanesTests {
    @Test("are done to their end, in order, when the threads are told to end meanwhile")
    func endOfLine() throws {
        let lanes = try Lanes(threads: 1, capacity: 100_000)
        let lane = try VaultID("vault001")
        let isOpen = Locked(false)
        let done = Locked<[Int]>([])
        for number in 0..<40 {
            let isTaken = lanes.submit(lane: lane) {
                while !isOpen.withLock({ $0 }) { SystemClock().sleep(milliseconds: 1) }
                done.withLock { $0.append(number) }
            }
            #expect(isTaken)
        }
        let stop = try BackgroundThread { lanes.finish() }
        while lanes.submit(lane: nil, {}) { SystemClock().sleep(milliseconds: 1) }
        isOpen.withLock { $0 = true }
        stop.join()
        #expect(done.withLock { $0 } == Array(0..<40))
        // A request that comes too late is either done or told so; none is forgotten.
        for number in 40..<43 { #expect(lanes.submit(lane: lane) { done.withLock { $0.append(number) } }) }
        #expect(done.withLock { $0 } == Array(0..<43))
        #expect(!lanes.submit(lane: nil) {})
    }

    @Test("of a vault that another program has locked do not hold up a stop, and are told to come again")
    func lockedAtStop() throws {
        var server: TestServer? = try TestServer { configuration, _ in configuration.limits.stopSeconds = 1 }
        #expect(try server?.put("bare/x", [1]).status == 200)
        let folder = try #require(server?.folder)
        let own = try #require(
            try folder.open().openDirectory(path: ["root", "vault001", ".vaultctl"].map { Array($0.utf8) }))
        let lock = try own.openForAppending(Array("lock".utf8), mode: 0o600)
        #expect(try lock.lock(wait: false))
        let lines = TestServer.writer.map { "\($0.0): \($0.1)\r\n" }.joined()
        let waiting = try (0..<20).map { _ in
            let connection = try #require(try server?.connect())
            try connection.send(
                "PUT /api/vault/write/vault001/bare/x HTTP/1.1\r\nHost: x\r\n\(lines)Content-Length: 1\r\n\r\n2")
            return connection
        }
        while (server?.server.load.requests ?? 0) < waiting.count { SystemClock().sleep(milliseconds: 5) }
        let start = SystemClock().monotonicNs
        server = nil
        #expect(SystemClock().monotonicNs - start < 20_000_000_000)
        for connection in waiting { #expect(try connection.answer().status == 503) }
        try lock.unlock()
    }
}
