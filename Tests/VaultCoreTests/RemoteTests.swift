import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("Remotes")
struct RemoteTests {
    private func id() throws -> VaultID { try VaultID("abcd1234") }

    @Test func `a folder conforms`() async throws {
        let folder = try TemporaryFolder("remote")
        let path = folder.appending("remote")
        let id = try id()
        try await RemoteConformance(vaultID: id) {
            FolderRemote(path: path, vaultID: id, environment: .production())
        }.runAll()
    }

    @Test func `the remote in memory conforms`() async throws {
        let remote = InMemoryRemote()
        try await RemoteConformance(vaultID: try id()) { remote }.runAll()
    }

    @Test func `a batch interrupted anywhere happened whole or not at all`() async throws {
        let id = try id()
        let key = try VaultKey(parsing: Array("passphrase:abcd1234".utf8).span)
        let authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
        let ref = SwapTarget.ref(try RefID("ref-pid-muw-000000000001"))
        let index = SwapTarget.index(try IndexID("idx-pid-muw-000000000001"))
        var survived = 0
        for point in FailPoint.allCases where point.rawValue.hasPrefix("folder.") {
            let folder = try TemporaryFolder("remote")
            let path = folder.appending("remote")
            let calm = FolderRemote(path: path, vaultID: id, environment: .production())
            let old: [WriteOperation] = [
                .swap(index, expected: .absent, new: [1]), .swap(ref, expected: .absent, new: [1]),
            ]
            #expect(try await calm.apply(WriteBatch(old), authorization: authorization) == .applied)
            let environment = VaultEnvironment(
                fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SecureRandom(),
                failPoints: FailPoints { (hit: FailPoint) throws(Errno) in if hit == point { throw .ioError } })
            let failing = FolderRemote(path: path, vaultID: id, environment: environment)
            let new: [WriteOperation] = [
                .swap(index, expected: .bytes([1]), new: [2]), .swap(ref, expected: .bytes([1]), new: [2]),
            ]
            await #expect(throws: VaultError.self) {
                try await failing.apply(WriteBatch(new), authorization: authorization)
            }
            // The next writer finishes or drops it; this batch conflicts on purpose and writes nothing itself.
            let probe = WriteOperation.swap(ref, expected: .bytes([9]), new: [9])
            _ = try await calm.apply(WriteBatch([probe]), authorization: authorization)
            let found = try await calm.readAll([index.fileID, ref.fileID])
            #expect(found[index.fileID] == found[ref.fileID])
            if found[ref.fileID] == .content([2]) { survived += 1 }
            let scratch = try LinuxFileSystem().openDirectory(path.appending(relative: Array(".vaultctl/tmp".utf8)))
            #expect(try scratch.entries().isEmpty)
        }
        #expect(survived > 0)
    }

    @Test func `a folder in memory conforms`() async throws {
        let memory = InMemoryFileSystem()
        let id = try id()
        let environment = VaultEnvironment(
            fileSystem: memory, clock: TestClock(), random: SecureRandom(), failPoints: .none,
            pool: WorkerPool(threads: 2))
        try await RemoteConformance(vaultID: id) {
            FolderRemote(path: "/remotes/one", vaultID: id, environment: environment)
        }.runAll()
    }

    @Test func `one of many first writers wins, whatever the remote`() async throws {
        let id = try id()
        for _ in 0..<10 {
            let folder = try TemporaryFolder("remote")
            let path = folder.appending("new/remote")
            try await RemoteConformance(vaultID: id) {
                FolderRemote(path: path, vaultID: id, environment: .production())
            }.oneOfManyFirstWritersWins()
        }
    }

    @Test func `a missing folder is unreachable, not empty`() async throws {
        let folder = try TemporaryFolder("remote")
        let remote = FolderRemote(
            path: folder.appending("nowhere"), vaultID: try id(), environment: .production())
        await #expect(throws: VaultError.coded(.unreachable)) { try await remote.list(.all) }
    }

    @Test func `a working clone, its store and a published folder can be read and not written`() async throws {
        let folder = try TemporaryFolder("remote")
        let clone = try folder.copy(vectors: "vault/vaults/a-default/clone", as: "clone")
        let server = try folder.copy(vectors: "vault/vaults/a-default/server", as: "published")
        try LinuxFileSystem().openDirectory(server).createFile(Array("manifest.json".utf8), mode: 0o644)
            .write(Array("{}".utf8).span)
        let expected = try Vectors.json("vault/vaults/a-default/expected.json")
        let id = try VaultID(try #require(expected["vault_id"]?.text))
        let key = try VaultKey(parsing: Array("passphrase:\(id.text)".utf8).span)
        let authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
        let ref = FileID.ref(try RefID(try #require(expected["ref_file_id"]?.text)))
        for path in [clone, clone.appending(component: ".sg_vault"), server] {
            let remote = FolderRemote(path: path, vaultID: id, environment: .production())
            let found = try await remote.readAll([ref])[ref]
            if case .content(let bytes)? = found { #expect(bytes.count == 69) } else { Issue.record("\(path.text)") }
            await #expect(throws: VaultError.coded(.readOnlyRemote)) {
                try await remote.apply(
                    WriteBatch([.swap(.index(try IndexID("idx-pid-muw-000000000001")), expected: .absent, new: [1])]),
                    authorization: authorization)
            }
        }
    }

    @Test func `a link in the folder is not followed`() async throws {
        let folder = try TemporaryFolder("remote")
        let path = folder.appending("remote")
        try Shell.run(
            "mkdir -p '\(path.text)/bare/refs' && echo secret > '\(folder.path.text)/outside' && ln -s "
                + "'\(folder.path.text)/outside' '\(path.text)/bare/refs/ref-pid-muw-000000000001' && ln -s / "
                + "'\(path.text)/bare/data'")
        let remote = FolderRemote(path: path, vaultID: try id(), environment: .production())
        let ref = FileID.ref(try RefID("ref-pid-muw-000000000001"))
        #expect(try await remote.readAll([ref])[ref] == .absent)
        #expect(try await remote.list(.objects).isEmpty)
    }

    @Test(arguments: [
        ("/a/b", "/a/b"), ("file:///a/b", "/a/b"), ("file://localhost/a", "/a"), ("file:///a%20b", "/a b"),
        ("../x", "../x"),
    ])
    func `paths and file URLs name the same folders`(text: String, path: String) throws {
        #expect(try FolderRemote.localPath(text).bytes == Array(path.utf8))
    }

    @Test(arguments: ["file://host/a", "file:a", "file:///a%2", "file:///a%00b"])
    func `a file URL of elsewhere is refused`(text: String) {
        #expect(throws: VaultError.coded(.usage)) { try FolderRemote.localPath(text) }
    }
}
