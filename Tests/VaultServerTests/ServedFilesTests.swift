import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultServer

/// The files of a served vault: those of a folder remote, durable, and safe to copy (spec 05 §17, issue C).
@Suite("A served vault's files", .timeLimit(.minutes(1)))
struct ServedFilesTests {
    private let server: TestServer
    private let authorization: WriteAuthorization
    /// The headers of the vault's owner.
    private let headers: [(String, String)]
    private let ref = "bare/refs/ref-pid-muw-000000000001"

    init() throws {
        server = try TestServer()
        let text = Array("passphrase:vault001".utf8)
        let key = try VaultKey(parsing: text.span)
        let writeKey = try key.deriveWriteKey()
        authorization = WriteAuthorization(vaultID: key.vaultID, writeKey: writeKey)
        let hex = try writeKey.hex().withBytes { bytes in bytes.indices.map { bytes[$0] } }
        headers = [TestServer.writer[0], ("x-sgraph-vault-write-key", String(decoding: hex, as: UTF8.self))]
    }

    private var folder: FolderRemote {
        get throws {
            FolderRemote(path: server.root.appending(component: "vault001").text, vaultID: try VaultID("vault001"))
        }
    }

    private func swap(_ new: String, match: String?) throws -> String? {
        let body = JSONWriter.bytes(.record(["operations": .array([Op.swap(ref, new, match: match)])]), .compact)
        let answer = try server.request("POST", "/api/vault/batch/vault001", headers: headers, body: body)
        return answer.json?["results"]?.items?.last?["status"]?.text
    }

    private func swapInFolder(_ new: String, match: String?) async throws -> BatchOutcome {
        let expected: Expected = match.map { .bytes(Array($0.utf8)) } ?? .absent
        return try await folder.apply(
            try WriteBatch([
                .swap(.ref(try RefID("ref-pid-muw-000000000001")), expected: expected, new: Array(new.utf8))
            ]),
            authorization: authorization)
    }

    @Test("are those of a folder remote: both write them in turn under one owner")
    func bothWays() async throws {
        #expect(try swap("A", match: nil) == "ok")
        #expect(try await swapInFolder("B", match: "A") == .applied)
        #expect(try server.read(ref) == Array("B".utf8))
        #expect(try swap("C", match: "A") == "conflict")
        #expect(try swap("C", match: "B") == "ok")
        #expect(try await swapInFolder("D", match: "B") == .conflict(position: 0, current: Array("C".utf8)))
        #expect(try await folder.list(.all).map(\.path) == [ref])
        // Another write key is refused on both ways.
        #expect(try server.put("bare/x", [1]).status == 403)
    }

    @Test("are finished by the server when another writer was interrupted after its journal")
    func interrupted() async throws {
        let points = FailPoints { point throws(Errno) in
            if point == .folderJournalWritten { throw .ioError }
        }
        let real = VaultEnvironment.production()
        let id = try VaultID("vault001")
        let broken = FolderRemote(
            path: server.root.appending(component: "vault001"), vaultID: id,
            environment: VaultEnvironment(
                fileSystem: real.fileSystem, clock: real.clock, random: real.random, failPoints: points))
        await #expect(throws: (any Error).self) {
            _ = try await broken.apply(
                try WriteBatch([
                    .swap(.ref(try RefID("ref-pid-snw-000000000001")), expected: .absent, new: [1]),
                    .swap(.ref(try RefID("ref-pid-muw-000000000001")), expected: .absent, new: [65]),
                ]), authorization: authorization)
        }
        #expect(try server.read(ref) == nil)
        // The batch counts since its journal stands: a swap that expects nothing finds its result.
        #expect(try swap("B", match: nil) == "conflict")
        #expect(try server.read(ref) == [65])
    }

    @Test("are finished also when a single write was interrupted between its place and the disk")
    func interruptedSingle() throws {
        let failing = Locked(false)
        let server = try TestServer { configuration, _ in
            let real = configuration.environment
            configuration.environment = VaultEnvironment(
                fileSystem: real.fileSystem, clock: real.clock, random: real.random,
                failPoints: FailPoints { point throws(Errno) in
                    if point == .folderRefsRenamed, failing.withLock({ $0 }) { throw .ioError }
                })
        }
        #expect(try server.put("bare/x", [1]).status == 200)
        let own = try #require(
            try server.folder.open().openDirectory(path: ["root", "vault001", ".vaultctl"].map { Array($0.utf8) }))
        let journal = Array("journal".utf8)
        failing.withLock { $0 = true }
        #expect(try server.put("bare/x", [2]).status == 500)
        // It may not be durable yet; the next writer sees by the journal that it has to see to that.
        #expect(try own.statusIfPresent(of: journal) != nil)
        failing.withLock { $0 = false }
        #expect(try server.put("bare/x", [2]).status == 200)
        #expect(try own.statusIfPresent(of: journal) == nil)
        #expect(try server.read("bare/x") == [2])
    }

    @Test("are in folders of the root itself: a link there is followed by nobody")
    func linkedVault() throws {
        try Shell.run(
            "mkdir -p '\(server.folder.path.text)/elsewhere' && ln -s ../elsewhere '\(server.root.text)/vault001'")
        #expect(try server.put("bare/x", [1]).status == 500)
        #expect(try server.batch("vault001", [Op.write("bare/x", "1")]).status == 500)
        let body = JSONWriter.bytes(
            .record(["file_id": .string("bare/x"), "file_size_bytes": .integer(5), "num_parts": .integer(1)]), .compact)
        let initiate = try server.request(
            "POST", "/api/vault/presigned/initiate/vault001", headers: headers, body: body)
        #expect(initiate.status == 500)
        let destroy = Array(#"{"vault_id":"vault001"}"#.utf8)
        #expect(
            try server.request("DELETE", "/api/vault/destroy/vault001", headers: headers, body: destroy).status == 500)
        #expect(try server.list() == [])
        #expect(try server.request("GET", "/api/vault/health/vault001").status == 404)
        let elsewhere = try server.folder.open().openDirectory(Array("elsewhere".utf8))
        #expect(try elsewhere.entries().isEmpty)
        #expect(!server.warnings.all.isEmpty)
    }

    @Test("take room only while they are needed: nothing stays in the scratch folders")
    func scratch() throws {
        let large = [UInt8](repeating: 7, count: 3 << 20)
        let target = "/api/vault/write/vault001/bare/data/large"
        #expect(try server.request("PUT", target, headers: headers, body: large).status == 200)
        #expect(try swap("B", match: "A") == "conflict")
        // A client that goes away in the middle.
        let lines = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
        let gone = Locked<TestConnection?>(try server.connect())
        try gone.withLock { connection in
            try connection?.send("PUT \(target) HTTP/1.1\r\nHost: x\r\n\(lines)Content-Length: 4000000\r\n\r\n")
            try connection?.send([UInt8](repeating: 7, count: 2 << 20))
            connection = nil
        }
        let own = try #require(
            try server.folder.open().openDirectory(path: ["root", "vault001", ".vaultctl"].map { Array($0.utf8) }))
        for _ in 0..<200 where server.server.load.requests > 0 {
            server.server.tick()
            SystemClock().sleep(milliseconds: 20)
        }
        #expect(try own.openDirectory(Array("uploads".utf8)).entries().isEmpty)
        #expect(try own.openDirectory(Array("tmp".utf8)).entries().isEmpty)
        #expect(try server.read("bare/data/large") == large)
    }

    @Test("are gone after a destroy, for ever and also for a folder remote")
    func destroy() async throws {
        #expect(try swap("A", match: nil) == "ok")
        let body = Array(#"{"vault_id":"vault001"}"#.utf8)
        let answer = try server.request("DELETE", "/api/vault/destroy/vault001", headers: headers, body: body)
        #expect(answer.json?["files_deleted"]?.int == 2)
        #expect(try server.read(ref) == nil)
        #expect(try swap("A", match: nil) == nil)
        let error = await #expect(throws: VaultError.self) { try await swapInFolder("B", match: nil) }
        #expect(error?.code == .refused)
        #expect(try await folder.list(.all).isEmpty)
    }

    @Test("are copied as they are at one moment, into a folder that can be served")
    func backup() async throws {
        #expect(try swap("A", match: nil) == "ok")
        let data = "/api/vault/write/vault001/bare/data/x"
        #expect(try server.request("PUT", data, headers: headers, body: [1, 2, 3]).status == 200)
        let vault = ServedVault(
            path: server.root.appending(component: "vault001"), vaultID: try VaultID("vault001"),
            environment: .production())
        let snapshot = try vault.snapshot()
        #expect(try swap("B", match: "A") == "ok")
        #expect(try server.request("PUT", data, headers: headers, body: [4]).status == 200)
        #expect(snapshot.paths == ["bare/data/x", ref])
        #expect(try snapshot.open("bare/data/x").readToEnd(limit: 10) == [1, 2, 3])
        #expect(try snapshot.open(ref).readToEnd(limit: 10) == Array("A".utf8))
        snapshot.remove()
        let copies = server.folder.appending("copies")
        _ = try vault.backup(to: copies.appending(component: "vault001"))
        let again = #expect(throws: VaultError.self) { try vault.backup(to: copies.appending(component: "vault001")) }
        #expect(again?.code == .directoryNotEmpty)
        let copy = try TestServer { configuration, _ in configuration.root = copies }
        #expect(try copy.read(ref) == Array("B".utf8))
        #expect(try copy.put("bare/x", [1]).status == 403)
        #expect(try copy.request("PUT", data, headers: headers, body: [9]).status == 200)
        #expect(try server.read("bare/data/x") == [4])
    }

    @Test("come as a zip to whoever may write them")
    func zip() throws {
        #expect(try swap("A", match: nil) == "ok")
        #expect(
            try server.request("PUT", "/api/vault/write/vault001/bare/data/x", headers: headers, body: [1, 2, 3])
                .status == 200)
        let answer = try server.request("GET", "/api/vault/zip/vault001", headers: headers)
        #expect(answer.status == 200)
        try TestServer.write(answer.body, "zip", in: server.folder)
        let out = try Shell.run(
            "python3 -c 'import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); print(z.testzip(), sorted((i.filename, z.read(i)) for i in z.infolist()))' '\(server.folder.appending("zip").text)'"
        )
        #expect(
            String(decoding: out, as: UTF8.self) == "None [('bare/data/x', b'\\x01\\x02\\x03'), ('\(ref)', b'A')]\n")
    }
}
