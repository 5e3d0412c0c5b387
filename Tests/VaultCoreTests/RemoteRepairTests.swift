import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Objects that a remote lost are put back, and a vault is removed for ever.
@Suite("Remote repair and destruction")
struct RemoteRepairTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        (setting, first) = try await TwoClones.published()
    }

    private func data(_ area: String = "data") throws -> any Directory {
        try setting.environment.fileSystem.openDirectory(
            setting.remotePath.appending(relative: Array("bare/\(area)".utf8)))
    }

    @Test func `what a remote lost is put back, a push alone does not do that`() async throws {
        let folder = try data()
        let names = try folder.entries().map(\.name)
        for name in names { try folder.removeFile(name) }
        let keys = try data("keys")
        let lostKeys = try keys.entries().map(\.name)
        for name in lostKeys { try keys.removeFile(name) }
        #expect(try await first.push(to: try setting.remote()).outcome == .upToDate)
        #expect(try folder.entries().isEmpty)
        let repair = try await first.repairRemote(try setting.remote())
        #expect(repair.restored == (names + lostKeys).map { String(decoding: $0, as: UTF8.self) }.sorted())
        #expect(repair.missing.isEmpty && repair.checked == repair.restored.count)
        #expect(try await setting.clone("b").fsck().isClean)
        #expect(setting.read("f", in: "b") == "one")
        #expect(try await first.repairRemote(try setting.remote()).restored.isEmpty)
    }

    @Test(arguments: 0..<3) func `what this clone lacks or has damaged is not sent`(_ index: Int) async throws {
        // Each of them may be the commit that the branch names.
        let name = try data().entries().map(\.name).sorted { $0.lexicographicallyPrecedes($1) }[index]
        try data().removeFile(name)
        try first.layout.data.removeFile(name)
        await #expect(throws: VaultError(.objectMissing, "")) {
            try await first.repairRemote(try setting.remote())
        }
        try first.layout.data.createFile(name, mode: 0o644).write([1, 2, 3].span)
        await #expect(throws: VaultError.self) { try await first.repairRemote(try setting.remote()) }
        #expect(try data().statusIfPresent(of: name) == nil)
    }

    @Test func `a remote that went on is not judged by what is known here`() async throws {
        let second = try await setting.clone("b")
        try setting.write("two", to: "f", in: "b")
        _ = try second.commit()
        _ = try await second.push(to: try setting.remote())
        await #expect(throws: VaultError(.remoteMoved, "")) {
            try await first.repairRemote(try setting.remote())
        }
        let nowhere = InMemoryRemote()
        await #expect(throws: VaultError(.remoteNotFound, "")) { try await first.repairRemote(nowhere) }
    }

    @Test func `a destroyed vault is gone, refuses every writer, and the clone lives on`() async throws {
        let remote = try setting.remote()
        let result = try await first.destroyRemote(remote)
        #expect(result.files.map { $0 > 5 } == true)
        #expect(try await remote.list(.all).isEmpty)
        await #expect(throws: VaultError.self) { try await first.push(to: remote, PushOptions(force: true)) }
        await #expect(throws: VaultError(.remoteNotFound, "")) { try await first.destroyRemote(remote) }
        // Nothing of what was accepted there speaks against a new place.
        #expect(try first.loadState().config.remoteHeadsFile == false)
        #expect(try await first.fsck().isClean)
        let elsewhere = FolderRemote(
            path: setting.folder.appending("elsewhere"), vaultID: first.vaultID, environment: setting.environment)
        #expect(try await first.push(to: elsewhere).outcome == .created)
    }

    @Test func `a vault that only says it is gone counts as there`() async throws {
        let remote = Stubborn(inner: try setting.remote())
        await #expect(throws: VaultError(.serverError, "")) { try await first.destroyRemote(remote) }
        #expect(try await first.push(to: try setting.remote()).outcome == .upToDate)
    }

    /// Says that it removed everything and keeps it.
    private struct Stubborn: Remote {
        let inner: FolderRemote
        var location: String { inner.location }
        var limits: RemoteLimits { inner.limits }
        func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
            try await inner.read(ids, deliver: deliver)
        }
        func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
            try await inner.stream(id, into: sink)
        }
        func list(_ area: RemoteArea) async throws -> [FileID] { try await inner.list(area) }
        func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
            try await inner.apply(batch, authorization: authorization)
        }
        func destroy(authorization: WriteAuthorization) async throws -> Int? { 7 }
    }
}
