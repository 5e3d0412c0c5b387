import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Files of the working copy that another program removes between the scan and the reading.
@Suite("Files that vanish while they are committed")
struct VanishingFileTests {
    private let scene: VaultScene
    private let vault: Vault

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: 61)
        vault = try scene.create("a")
        for path in ["kept", "old", "folder/old"] { try scene.put("one", at: path, in: "a") }
        _ = try vault.commit()
        for path in ["first", "kept", "old", "folder/old", "new", "other/new"] {
            try scene.put("edited \(path)", at: path, in: "a")
        }
    }

    /// Removes things as soon as the first file was read.
    private final class Remover: Observer {
        private let names: Locked<[[UInt8]]>
        private let folder: any Directory

        init(_ names: [String], in folder: any Directory) {
            self.names = Locked(names.map { Array($0.utf8) })
            self.folder = folder
        }

        func progress(_ progress: Progress) {
            guard progress.phase == .encrypt, progress.done == 1 else { return }
            for name in names.withLock({ $0 }) { try? folder.removeTree(name) }
        }

        func warning(_ text: String) {}
    }

    @Test func `count as deleted, and the rest is committed`() throws {
        let root = try scene.fileSystem.openDirectory(scene.path("a"))
        let remover = Remover(["old", "folder", "new", "other"], in: root)
        let result = try vault.commit(observer: remover)
        #expect(
            result.changes
                == Changes(
                    added: [try VaultPath("first")], modified: [try VaultPath("kept")],
                    deleted: [try VaultPath("folder/old"), try VaultPath("old")]))
        #expect(try vault.list(recursive: true).map(\.path.description) == ["first", "kept"])
        #expect(try vault.status().isClean)
    }

    @Test func `are no reason to take a file for gone that is there`() throws {
        let error = VaultError.io(.noSuchFile, "cannot read kept", path: "kept")
        #expect(!vault.isGone(try VaultPath("kept"), after: error))
        let gone = VaultError.io(.noSuchFile, "cannot read gone", path: "gone")
        #expect(vault.isGone(try VaultPath("gone"), after: gone))
        // What the store lacks, or the scratch folder, is nothing of the working copy.
        #expect(!vault.isGone(try VaultPath("gone"), after: .io(.noSuchFile, "cannot write an object")))
    }

    @Test func `are nothing, or deletions, to a stash as well`() throws {
        let fault = FaultFileSystem(scene.fileSystem)
        let other = VaultScene(keys: scene.keys, on: fault, base: scene.base, seed: 62)
        let root = try scene.fileSystem.openDirectory(scene.path("a"))
        fault.beforeOpening(Array("first".utf8)) {
            for name in ["new", "old"] { try? root.removeTree(Array(name.utf8)) }
        }
        let stash = try #require(try other.open("a").stash())
        #expect(stash.changes.added == [try VaultPath("first"), try VaultPath("other/new")])
        #expect(stash.changes.modified == [try VaultPath("folder/old"), try VaultPath("kept")])
        #expect(stash.changes.deleted == [try VaultPath("old")])
        #expect(try vault.status().isClean)
    }
}
