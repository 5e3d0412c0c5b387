internal import VaultSystem

/// A server of tests in a process of its own, which writes its port to a file and ends with this object.
package final class LoopbackServer: Sendable {
    package let port: String
    private let process: Subprocess.Sink
    private let folder: TemporaryFolder

    /// Starts it and waits until it listens.
    ///
    /// * `command`: For a shell, given the path of the file for the port; it ends when its standard input does.
    package init(_ command: (String) -> String) throws {
        folder = try TemporaryFolder("server")
        let portFile = folder.appending("port")
        process = try Subprocess.Sink(
            "exec \(command("'\(portFile.text)'")) >'\(folder.appending("output").text)' 2>&1",
            removingFromEnvironment: [])
        let clock = SystemClock()
        let deadline = clock.monotonicNs + 20_000_000_000
        var port: [UInt8]?
        while port == nil, clock.monotonicNs < deadline {
            clock.sleep(milliseconds: 20)
            port = try? LinuxFileSystem().readFile(portFile, limit: 16)
        }
        guard let port else { throw Errno.ioError }
        self.port = String(decoding: port, as: UTF8.self)
    }

    /// The stand-in for a vault server (`interop/vault_server.py`).
    package static func standIn(_ options: String = "") throws -> LoopbackServer {
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        return try LoopbackServer {
            "python3 '\(root)/interop/vault_server.py' 0 --ends-with-stdin --port-file \($0) \(options)"
        }
    }

    deinit {
        _ = try? process.finish()
    }
}
