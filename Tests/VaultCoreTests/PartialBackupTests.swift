import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Backups of clones of a part, and what such clones must not do to the whole.
@Suite("Backups of a part of a vault")
struct PartialBackupTests {
    enum Part: CaseIterable, Sendable {
        case sparse, scoped, shallow
    }

    /// A clone "b" of a part; of the sparse one a content is held that is not in its working copy.
    private func clone(_ part: Part) async throws -> (PartialScene, Vault) {
        let scene = try await PartialScene(seed: 61)
        switch part {
        case .scoped: return (scene, try await scene.clone("b", CloneOptions(scope: scene.paths("docs"))))
        case .shallow: return (scene, try await scene.clone("b", CloneOptions(depth: 1)))
        case .sparse:
            let vault = try await scene.clone("b", CloneOptions(noCheckout: true))
            _ = try await vault.changeSparse(.add(scene.paths("docs/deep")), from: scene.scene.remote())
            let path = try VaultPath("docs/a")
            let found = try await vault.completing(from: { scene.scene.remote() }) { try vault.contents(of: path) }
            #expect(found == Array("a3".utf8))
            return (scene, vault)
        }
    }

    private func restore(_ scene: PartialScene, _ zip: FilePath, to name: String, existing: Bool) throws -> Vault {
        _ = try Vault.restoreBackup(
            zip, to: scene.scene.path(name), key: nil, options: RestoreOptions(existing: existing),
            environment: scene.scene.environment, observer: SilentObserver())
        return try scene.scene.open(name)
    }

    @Test(arguments: Part.allCases)
    func `one becomes a clone of that part, with nothing to commit`(part: Part) async throws {
        let (scene, vault) = try await clone(part)
        let zip = scene.scene.path("b.zip")
        _ = try vault.backup(to: zip, BackupOptions(includesKey: true), observer: SilentObserver())
        let again = try restore(scene, zip, to: "r", existing: false)
        var expected = try scene.files("b")
        // What is held comes out.
        if part == .sparse { expected["docs/a"] = "a3" }
        #expect(try scene.files("r") == expected && again.status().isClean)
        #expect(try await again.fsck().isClean)
        guard part != .shallow else { return }
        _ = try await again.changeSparse(.whole, from: scene.scene.remote())
        #expect(try scene.files("r") == PartialScene.files && again.status().isClean)
    }

    @Test(arguments: Part.allCases)
    func `a detached folder becomes one again, with nothing to commit`(part: Part) async throws {
        let (scene, vault) = try await clone(part)
        let files = try scene.files("b")
        let backup = try #require(try vault.detach(withBackup: true).backup)
        let again = try restore(scene, FilePath(backup.path), to: "b", existing: true)
        #expect(try scene.files("b").filter { !$0.key.hasPrefix(".vault__") } == files && again.status().isClean)
        #expect(try await again.fsck().isClean)
        #expect(try again.commit().commit == nil)
    }

    @Test(arguments: Part.allCases)
    func `the whole vault is not destroyed from one`(part: Part) async throws {
        let (scene, vault) = try await clone(part)
        await #expect(throws: VaultError.coded(.partialClone)) { try await vault.destroyRemote(scene.scene.remote()) }
        #expect(try await scene.published() == PartialScene.files)
    }
}
