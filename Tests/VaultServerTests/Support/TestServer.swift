import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// A server on a free loopback port over a folder of its own, stopped with its last reference.
final class TestServer {
    let folder: TemporaryFolder
    let server: VaultServer
    let warnings = Warnings()

    static let token = "tok-1234567890"
    static let writeKey = String(repeating: "a", count: 64)

    /// * `change`: Changes the configuration; the root and a token file with `token` are set already.
    init(_ change: (inout ServerConfiguration, TemporaryFolder) throws -> Void = { _, _ in }) throws {
        folder = try TemporaryFolder("server")
        var configuration = ServerConfiguration(environment: .production())
        configuration.root = folder.appending("root")
        configuration.port = 0
        configuration.limits.stopSeconds = 5
        let warnings = warnings
        configuration.report = { warnings.add($0) }
        try Self.writeTokens(["test": Self.token], to: folder)
        configuration.tokens = folder.appending("tokens")
        try change(&configuration, folder)
        server = try VaultServer(configuration)
    }

    deinit {
        server.stop()
    }

    var root: FilePath { folder.appending("root") }

    /// Writes the token file.
    static func writeTokens(_ tokens: [String: String], to folder: TemporaryFolder) throws {
        var text = "# names and hashes\n\n"
        for (name, token) in tokens {
            let bytes = Array(token.utf8)
            let hash = try SHA256.hash(bytes.span)
            text += "\(name) \(Hex.text(hash.span))\n"
        }
        try write(Array(text.utf8), "tokens", in: folder)
    }

    static func write(_ bytes: [UInt8], _ name: String, in folder: TemporaryFolder) throws {
        let directory = try folder.open()
        try? directory.removeFile(Array(name.utf8))
        try directory.createFile(Array(name.utf8), mode: 0o600).write(bytes.span)
    }

    func connect(patience: Int = 20) throws -> TestConnection {
        try TestConnection(port: server.port, patience: patience)
    }

    /// One request on a connection of its own.
    func request(
        _ method: String, _ target: String, headers: [(String, String)] = [], body: [UInt8]? = nil
    ) throws -> TestConnection.Answer {
        try connect().request(method, target, headers: headers, body: body)
    }

    /// The headers of somebody who may write.
    static let writer = [("x-sgraph-access-token", token), ("x-sgraph-vault-write-key", writeKey)]

    /// A batch by somebody who may write.
    func batch(_ vault: String = "vault001", _ operations: [JSONValue]) throws -> TestConnection.Answer {
        try request(
            "POST", "/api/vault/batch/\(vault)", headers: Self.writer,
            body: JSONWriter.bytes(.record(["operations": .array(operations)]), .compact))
    }

    func put(_ path: String, _ bytes: [UInt8], vault: String = "vault001") throws -> TestConnection.Answer {
        try request(
            "PUT", "/api/vault/write/\(vault)/" + path, headers: Self.writer, body: bytes)
    }

    func read(_ path: String, vault: String = "vault001") throws -> [UInt8]? {
        let answer = try request("GET", "/api/vault/read/\(vault)/" + path)
        return answer.status == 200 ? answer.body : nil
    }

    func list(_ vault: String = "vault001") throws -> [String] {
        try request("GET", "/api/vault/list/\(vault)").json?["files"]?.items?.compactMap(\.text) ?? []
    }
}

/// What the server told its operator.
final class Warnings: Sendable {
    private let held = Locked<[String]>([])

    func add(_ text: String) { held.withLock { $0.append(text) } }

    var all: [String] { held.withLock { $0 } }
}

/// Operations of a batch, as clients write them.
enum Op {
    static func read(_ path: String) -> JSONValue { .record(["op": .string("read"), "file_id": .string(path)]) }

    static func delete(_ path: String) -> JSONValue { .record(["op": .string("delete"), "file_id": .string(path)]) }

    static func write(_ path: String, _ text: String) -> JSONValue {
        .record(["op": .string("write"), "file_id": .string(path), "data": .string(base64(text))])
    }

    static func swap(_ path: String, _ text: String, match: String?) -> JSONValue {
        .record([
            "op": .string("write-if-match"), "file_id": .string(path), "data": .string(base64(text)),
            "match": .optional(match.map(base64)),
        ])
    }

    static func base64(_ text: String) -> String {
        let bytes = Array(text.utf8)
        return Base64.text(bytes.span)
    }
}
