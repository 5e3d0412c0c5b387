import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Pulls that stop half way, by whatever cause.
@Suite("An interrupted move of the working copy")
final class InterruptedMoveTests {
    private let setting: TwoClones
    private let first: Vault
    private let names = (0..<40).map { "f\($0)" }

    init() async throws {
        setting = try TwoClones()
        first = try setting.create("a")
        for name in names { try setting.write("old \(name)", to: name, in: "a") }
        try setting.write("going", to: "gone", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        _ = try await setting.clone("b")
        for name in names { try setting.write("new \(name)", to: name, in: "a") }
        try setting.remove("gone", in: "a")
        try setting.write("added", to: "z-added", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
    }

    private func hasJournal() throws -> Bool {
        let own = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/local/vaultctl".utf8)))
        return try own.statusIfPresent(of: Array("journal".utf8)) != nil
    }

    @Test func `an edit made while a pull writes is kept, and the pull is undone`() async throws {
        let setting = setting
        let vault = try setting.open("b", at: .checkoutBeforeFile) { number in
            if number == 20 { try setting.write("my edit", to: "f9", in: "b") }
        }
        let before = try vault.status().head
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await vault.pull(from: try setting.remote()) }
        #expect(setting.read("f9", in: "b") == "my edit")
        #expect(try vault.status().head == before)
        #expect(try vault.status().changes == Changes(modified: [try VaultPath("f9")]))
        #expect(setting.read("gone", in: "b") == "going")
        #expect(try !hasJournal())
    }

    @Test func `a file deleted while a pull writes is not brought back`() async throws {
        let setting = setting
        let vault = try setting.open("b", at: .checkoutBeforeFile) { number in
            if number == 3 { try setting.remove("f9", in: "b") }
        }
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await vault.pull(from: try setting.remote()) }
        #expect(setting.read("f9", in: "b") == nil)
        #expect(try vault.status().changes == Changes(deleted: [try VaultPath("f9")]))
    }

    @Test func `after a stop the next commit finishes the pull and records own work only`() async throws {
        let vault = try setting.open("b", at: .checkoutBeforeFile) { number in if number == 20 { throw Errno.ioError } }
        await #expect(throws: VaultError.coded(.ioError)) { try await vault.pull(from: try setting.remote()) }
        #expect(try hasJournal())
        let again = try setting.open("b")
        try setting.write("mine", to: "mine", in: "b")
        let committed = try again.commit()
        #expect(committed.changes == Changes(added: [try VaultPath("mine")]))
        #expect(setting.read("f9", in: "b") == "new f9")
        #expect(try again.status().isClean)
        #expect(try await again.push(to: try setting.remote()).outcome == .pushed)
    }

    @Test func `after a stop and an edit of a touched file the pull is undone, and only the edit is recorded`()
        async throws
    {
        let vault = try setting.open("b", at: .checkoutBeforeFile) { number in if number == 20 { throw Errno.ioError } }
        await #expect(throws: VaultError.coded(.ioError)) { try await vault.pull(from: try setting.remote()) }
        let edited = names.first { setting.read($0, in: "b")?.hasPrefix("new") == true } ?? "f0"
        try setting.write("my edit", to: edited, in: "b")
        let again = try setting.open("b")
        let committed = try again.commit()
        #expect(committed.changes == Changes(modified: [try VaultPath(edited)]))
        #expect(setting.read(edited, in: "b") == "my edit")
        #expect(setting.read("gone", in: "b") == "going")
        #expect(setting.read("z-added", in: "b") == nil)
        #expect(try again.status().isClean)
        #expect(try !hasJournal())
    }

    @Test func `a damaged incoming object stops a pull, blocks no other verb, and the next pull fetches it again`()
        async throws
    {
        let second = try setting.open("b")
        _ = try await second.fetch(from: try setting.remote())
        let blob = try #require(try first.list().first { $0.path.description == "f30" }).objectID
        let data = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/bare/data".utf8)))
        try data.removeFile(Array(blob.text.utf8))
        try data.createFile(Array(blob.text.utf8), mode: 0o644).write([1, 2, 3].span)
        await #expect(throws: VaultError.self) { try await second.pull(from: try setting.remote()) }
        #expect(try second.status().changes == Changes())
        try setting.write("mine", to: "mine", in: "b")
        #expect(try second.commit().changes == Changes(added: [try VaultPath("mine")]))
        #expect(try await second.pull(from: try setting.remote()).outcome == .merged)
        #expect(setting.read("f30", in: "b") == "new f30")
        #expect(setting.read("mine", in: "b") == "mine")
        #expect(try await second.fsck().isClean)
    }

    @Test func `a journal that nobody can settle refuses commits by name and leaves the other verbs alone`()
        async throws
    {
        let second = try setting.open("b")
        _ = try second.status()
        let own = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/local/vaultctl".utf8)))
        try own.createFile(Array("journal".utf8), mode: 0o600).write(Array("not json".utf8).span)
        try setting.write("mine", to: "mine", in: "b")
        #expect(throws: VaultError.coded(.refused)) { try second.commit() }
        try second.setSetting("commit.sign", to: .bool(true))
        _ = try await second.fetch(from: try setting.remote())
        _ = try await second.fsck(FsckOptions(repair: true), repairFrom: try setting.remote())
    }

    @Test func `a mount inside the clone is written too`() async throws {
        guard ProcessContext.effectiveUserID == 0 else { return }
        try setting.write("deep", to: "sub/deep", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let mount = setting.folder.appending("b").appending(component: "sub").text
        guard (try? Shell.run("mkdir '\(mount)' && mount -t tmpfs -o size=1m none '\(mount)' 2>&1")) != nil else {
            return
        }
        defer { _ = try? Shell.run("umount -l '\(mount)'") }
        let second = try setting.open("b")
        #expect(try await second.pull(from: try setting.remote()).outcome == .fastForward)
        #expect(setting.read("sub/deep", in: "b") == "deep")
        #expect(try second.status().isClean)
    }
}
