import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What a rekey must not lose: work that goes on beside it, here or at the server (spec 05 §13).
@Suite("Work beside a rekey")
struct RekeyLossTests {
    private let scene: VaultScene
    private let vault: Vault

    init() async throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: 43)
        vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
    }

    private func begin() throws {
        let text = Array("a newer passphrase:campaign2".utf8)
        let key = try VaultKey(parsing: text.span)
        try vault.beginRekey(to: key, server: nil)
    }

    private func rekey() async throws -> RekeyResult {
        try begin()
        return try await vault.finishRekey(publishingTo: { _ in nil })
    }

    @Test func `a command that was opened before does nothing in the vault that was replaced`() async throws {
        let waiting = try scene.open("a")
        let result = try await rekey()
        try scene.put("two", at: "f", in: "a")
        let place = try RekeyPlace(vault, result.oldFolder)
        let head = try place.vault(lockTimeout: 0).loadState().head
        #expect(throws: VaultError.coded(.refused)) { try waiting.commit() }
        #expect(throws: VaultError.coded(.refused)) { try waiting.createTag("v1") }
        #expect(throws: VaultError.coded(.refused)) { try waiting.stash() }
        #expect(try place.vault(lockTimeout: 0).loadState().head == head)
        #expect(try scene.workingFiles("a")["f"] == Array("two".utf8))
        #expect(try scene.open("a").commit().commit != nil)
    }

    @Test func `a command that was opened before a folder was detached does nothing`() throws {
        let waiting = try scene.open("a")
        _ = try vault.detach(withBackup: false)
        try scene.put("two", at: "f", in: "a")
        #expect(throws: VaultError.self) { try waiting.commit() }
        #expect(throws: VaultError.coded(.notAVault)) { try scene.open("a") }
    }

    @Test func `the old vault is not destroyed while it has commits that the new one lacks`() async throws {
        try await scene.clone("b")
        let result = try await rekey()
        try scene.put("later", at: "g", in: "b")
        let other = try scene.open("b")
        _ = try other.commit()
        _ = try await other.push(to: scene.remote())
        let new = try scene.open("a")
        await #expect(throws: VaultError.coded(.remoteMoved)) { try await new.destroyReplaced { _ in scene.remote() } }
        let here = try scene.fileSystem.openDirectory(scene.path("a"))
        #expect(try here.statusIfPresent(of: Array(result.oldFolder.utf8)) != nil)
        #expect(try await other.push(to: scene.remote()).outcome == .upToDate)
        // Nor called destroyed when the key for that is gone.
        try here.removeTree(Array(result.oldFolder.utf8))
        await #expect(throws: VaultError.coded(.keyMissing)) { try await new.destroyReplaced { _ in scene.remote() } }
        #expect(try await new.destroyReplaced { _ in nil } == nil)
        #expect(try new.pendingRekey() == nil)
    }

    @Test func `a deleted tag whose object is gone does not stop it, and is no tag of the new vault`() async throws {
        let tag = try vault.createTag("v1")
        _ = try vault.createTag("v2")
        _ = try await vault.push(to: scene.remote())
        _ = try vault.deleteTag("v1")
        _ = try await vault.push(to: scene.remote())
        let id = try #require(tag.tag.id)
        try vault.layout.data.removeFile(Array(id.text.utf8))
        _ = try await rekey()
        let new = try scene.open("a")
        #expect(try new.tags().map(\.name) == ["v2"])
        #expect(try new.tags().map(\.signature) == [.verified])
        #expect(try await new.fsck().isClean)
    }

    @Test func `what is only begun never takes the place of a vault that was moved away`() throws {
        try begin()
        let here = try scene.fileSystem.openDirectory(scene.path("a"))
        try here.rename(CloneLayout.vaultName, to: here, as: Array("aside".utf8), replacing: false)
        #expect(throws: VaultError.coded(.notAVault)) { try scene.open("a") }
        try here.rename(Array("aside".utf8), to: here, as: CloneLayout.vaultName, replacing: false)
        let again = try scene.open("a")
        #expect(try again.vaultID == scene.keys.vaultID && again.pendingRekey()?.phase == .building)
    }

    @Test func `a clone is not detached while something would be lost with its folder`() async throws {
        for withBackup in [true, false] {
            _ = try vault.createTag("v1")
            #expect(throws: VaultError.coded(.refused)) { try vault.detach(withBackup: withBackup) }
            _ = try vault.deleteTag("v1")
            _ = try vault.backup()
            #expect(throws: VaultError.coded(.refused)) { try vault.detach(withBackup: withBackup) }
            try vault.layout.vault.removeTree(Array("backups".utf8))
        }
        let result = try await rekey()
        let new = try scene.open("a")
        #expect(throws: VaultError.coded(.refused)) { try new.detach(withBackup: true) }
        try scene.fileSystem.openDirectory(scene.path("a")).removeTree(Array(result.oldFolder.utf8))
        _ = try new.detach(withBackup: true)
    }

    @Test func `neither it nor a detach takes stashes that can not be listed for none`() throws {
        try scene.put("edited", at: "f", in: "a")
        _ = try #require(try vault.stash())
        let faults = FaultFileSystem(scene.fileSystem)
        let disturbed = try VaultScene(keys: scene.keys, on: faults, base: scene.base, seed: 44).open("a")
        faults.close([Array("stash".utf8)])
        let text = Array("a newer passphrase:campaign2".utf8)
        let key = try VaultKey(parsing: text.span)
        #expect(throws: VaultError.coded(.permissionDenied)) { try disturbed.beginRekey(to: key, server: nil) }
        #expect(throws: VaultError.coded(.permissionDenied)) { try disturbed.detach(withBackup: true) }
        // Which only tells of them.
        #expect(try disturbed.status().stashCount == 0)
        faults.close([])
        var call = 1
        repeat {
            faults.set(.init(atCall: call))
            #expect(throws: VaultError.self, "call \(call)") { try disturbed.detach(withBackup: true) }
            call += 1
        } while faults.hasFired
        #expect(call > 10)
        #expect(try scene.open("a").stashes().count == 1)
    }
}
