import Testing
import VaultSystem

@testable import VaultServer

/// The socket on which clients arrive, while the server stops.
@Suite("The listening socket", .timeLimit(.minutes(1)), .serialized)
struct ListeningSocketTests {
    /// A service that nobody asks.
    private final class Silence: RequestHandler {
        func begin(_ exchange: Exchange) {}
        func receive(_ bytes: [UInt8], _ exchange: Exchange) {}
        func end(_ exchange: Exchange) {}
        func finished(_ exchange: Exchange, completed: Bool, sent: Int64) {}
    }

    /// The inode of the socket that listens on a port of 127.0.0.1, as the kernel lists it.
    private func socket(_ port: UInt16) throws -> String? {
        let text = String(
            decoding: try LinuxFileSystem().readFile(FilePath("/proc/self/net/tcp"), limit: 1 << 24), as: UTF8.self)
        let hex = String(port, radix: 16, uppercase: true)
        let address = "0100007F:" + String(repeating: "0", count: 4 - hex.utf8.count) + hex
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 9, words[1] == address, words[3] == "0A" { return String(words[9]) }
        }
        return nil
    }

    /// Whether this process still has the socket open.
    private func isOpen(_ inode: String) throws -> Bool {
        let folder = FilePath("/proc/self/fd")
        return try LinuxFileSystem().openDirectory(folder).entries().contains { entry in
            (try? LinuxFileSystem().linkTarget(of: folder.appending(component: entry.name)))?.text
                == "socket:[\(inode)]"
        }
    }

    @Test("refuses clients at once and is closed only when no thread can use its number any more")
    func drain() throws {
        let limits = ServerLimits()
        let http = try HTTPServer(
            HTTPOptions(
                address: "127.0.0.1", port: 0, threads: 2, connections: 64, connectionsPerClient: 64,
                idleSeconds: limits.idleSeconds, slowestRate: limits.slowestRate, tls: nil), handler: Silence())
        let inode = try #require(try socket(http.port))
        #expect(try isOpen(inode))
        http.drain()
        #expect(throws: TestConnection.Broken.self) { try TestConnection(port: http.port) }
        #expect(try isOpen(inode))
        http.stop()
        #expect(try !isOpen(inode))
    }
}
