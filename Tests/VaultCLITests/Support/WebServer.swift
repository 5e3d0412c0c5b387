import VaultSystem
import VaultTestSupport

/// A stand-in server on loopback, in a process of its own that ends with this object.
final class WebServer: Sendable {
    let url: String
    private let process: Subprocess.Sink
    private let folder: TemporaryFolder

    init(_ options: String = "") throws {
        folder = try TemporaryFolder("web")
        let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
        let portFile = folder.appending("port")
        process = try Subprocess.Sink(
            "exec python3 '\(root)/interop/vault_server.py' 0 --ends-with-stdin --port-file '\(portFile.text)' \(options)"
                + " >'\(folder.appending("output").text)' 2>&1", removingFromEnvironment: [])
        let clock = SystemClock()
        let deadline = clock.monotonicNs + 20_000_000_000
        var port: [UInt8]?
        while port == nil, clock.monotonicNs < deadline {
            clock.sleep(milliseconds: 20)
            port = try? LinuxFileSystem().readFile(portFile, limit: 16)
        }
        guard let port else { throw Errno.ioError }
        url = "http://127.0.0.1:" + String(decoding: port, as: UTF8.self)
    }

    deinit {
        _ = try? process.finish()
    }
}
