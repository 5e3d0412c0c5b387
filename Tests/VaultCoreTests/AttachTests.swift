import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Keys and a working copy for a bare store, and a plain folder of a clone (spec 03 §4, 05 §14).
@Suite("Attach and detach")
struct AttachTests {
    private let scene: VaultScene
    private let vault: Vault

    init() async throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: 51)
        vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        try scene.put("two", at: "d/g", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
    }

    private enum Given: String {
        case own = "campaign passphrase:campaign1"
        case other = "some other passphrase:campaign1"
        case reader
    }

    private func attach(_ name: String, _ given: Given) throws -> AttachResult {
        if given == .reader {
            let key = AccessKey.read(scene.keys.read, scene.keys.vaultID)
            return try Vault.attach(
                root: scene.path(name), key: key, options: OpenOptions(), environment: scene.environment,
                observer: SilentObserver())
        }
        let text = Array(given.rawValue.utf8)
        let key = try VaultKey(parsing: text.span)
        return try Vault.attach(
            root: scene.path(name), key: .vault(key), options: OpenOptions(), environment: scene.environment,
            observer: SilentObserver())
    }

    private func bare(_ name: String) async throws {
        let options = CloneOptions(bare: true)
        let text = Array(Given.own.rawValue.utf8)
        let key = try VaultKey(parsing: text.span)
        let cloneKey = try CloneKey(.vault(key), options: options)
        _ = try await Vault.clone(
            from: scene.remote(), key: cloneKey, to: scene.path(name), options: options,
            environment: scene.environment, observer: SilentObserver())
    }

    @Test func `a bare clone gets its key and its files, and keeps those that are there`() async throws {
        try await bare("b")
        try scene.put("mine", at: "f", in: "b")
        #expect(throws: VaultError(.keyWrong, "")) { try attach("b", .other) }
        let result = try attach("b", .own)
        #expect(try result.written == [VaultPath("d/g")])
        #expect(try result.kept == [VaultPath("f")])
        let clone = try scene.open("b")
        #expect(clone.mode == .full)
        #expect(try clone.layout.local.status(of: Array("vault_key".utf8)).mode & 0o777 == 0o600)
        #expect(try clone.status().changes == Changes(modified: [try VaultPath("f")]))
        _ = try clone.commit()
        #expect(try await clone.push(to: scene.remote()).outcome == .pushed)
        #expect(try await clone.fsck().signatures.verified == 3)
        #expect(throws: VaultError(.refused, "")) { try attach("b", .own) }
    }

    @Test func `a store alone becomes a clone with a branch of its own, or one that reads`() async throws {
        for (name, reads) in [("reader", true), ("full", false)] {
            try await bare(name)
            let store = try scene.fileSystem.openDirectory(scene.path(name).appending(component: ".sg_vault"))
            try store.removeTree(Array("local".utf8))
            if reads {
                #expect(try attach(name, .reader).mode == .readOnly)
            } else {
                #expect(try attach(name, .own).mode == .full)
            }
            #expect(try scene.workingFiles(name) == scene.workingFiles("a"))
            let clone = try scene.open(name)
            #expect(try await clone.fsck().isClean)
            #expect(try clone.loadState().cloneBranch == nil || !reads)
            if !reads {
                try scene.put("more", at: "more", in: name)
                _ = try clone.commit()
                #expect(try await clone.push(to: scene.remote()).outcome == .pushed)
            }
        }
    }

    @Test func `detaching keeps the files and needs everything published, or a backup`() async throws {
        try scene.put("later", at: "f", in: "a")
        _ = try vault.commit()
        #expect(throws: VaultError(.refused, "")) { try vault.detach(withBackup: false) }
        try scene.put("work", at: "new", in: "a")
        _ = try vault.stash()
        #expect(throws: VaultError(.refused, "")) { try vault.detach(withBackup: true) }
        try vault.dropStash()
        let files = try scene.workingFiles("a")
        let head = try vault.status().head
        let result = try vault.detach(withBackup: true)
        let backup = try #require(result.backup)
        #expect(backup.includesKey)
        let name = try #require(FilePath(backup.path).lastComponent)
        #expect(String(decoding: name, as: UTF8.self).hasPrefix(".vault__campaign1__"))
        #expect(String(decoding: name, as: UTF8.self).hasSuffix("__uninit.zip"))
        let left = try scene.fileSystem.openDirectory(scene.path("a")).entries().map(\.name)
        #expect(!left.contains(CloneLayout.vaultName) && left.count == files.count + 3)
        #expect(throws: VaultError(.notAVault, "")) { try scene.open("a") }
        _ = try Vault.restoreBackup(
            FilePath(backup.path), to: scene.path("a"), key: nil, options: RestoreOptions(existing: true),
            environment: scene.environment, observer: SilentObserver())
        let again = try scene.open("a")
        // The backup lies in the working copy and is never committed.
        #expect(try again.status().isClean && again.status().head == head)
        _ = try await again.push(to: scene.remote())
        let second = try again.detach(withBackup: false)
        #expect(second.backup == nil)
        #expect(throws: VaultError(.notAVault, "")) { try scene.open("a") }
    }

    @Test func `what a detach left that was killed is told by the next command`() async throws {
        _ = try await vault.push(to: scene.remote())
        let root = try scene.fileSystem.openDirectory(scene.path("a"))
        let aside = Array(".sg_vault_old_1767225600000".utf8)
        try root.rename(CloneLayout.vaultName, to: root, as: aside, replacing: false)
        _ = try root.openDirectory(Array("folder".utf8), creatingWith: 0o755)
        for place in ["a", "a/folder"] {
            let error = try #require(throws: VaultError.self) {
                try Vault.locate(from: scene.path(place), environment: scene.environment)
            }
            #expect(error.code == .notAVault)
            #expect(error.path == scene.path("a").appending(component: aside).text)
        }
    }
}
