import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Clones of a few levels of history, and what `fetch` brings (spec 06 §8.2, 10 B.13).
@Suite("A clone of a short history")
struct ShallowCloneTests {
    private func shallow(_ seed: UInt64, depth: Int) async throws -> (PartialScene, Vault) {
        let scene = try await PartialScene(seed: seed)
        return (scene, try await scene.clone("b", CloneOptions(depth: depth)))
    }

    @Test(arguments: [1, 2, 3, 4, 9])
    func `has so many levels of commits, whole, and knows where it ends`(depth: Int) async throws {
        let (scene, vault) = try await shallow(31, depth: depth)
        // init and three commits
        #expect(try scene.scene.history(vault).count == min(depth, 4))
        #expect(try vault.historyEnds().isEmpty == (depth >= 4))
        #expect(try scene.files("b") == PartialScene.files && vault.status().isClean)
        #expect(try await vault.fsck().isClean)
    }

    @Test func `pulls, merges and pushes without a word of a rewind`() async throws {
        let (scene, vault) = try await shallow(32, depth: 1)
        try await scene.publish(["docs/a": "a4"])
        try scene.change("b", ["top": "mine"])
        _ = try vault.commit()
        #expect(try await vault.pull(from: scene.scene.remote()).outcome == .merged)
        _ = try await vault.push(to: scene.scene.remote())
        var expected = PartialScene.files
        (expected["docs/a"], expected["top"]) = ("a4", "mine")
        #expect(try await scene.published() == expected)
        #expect(try scene.scene.history(scene.whole).count == 7)
        #expect(try await vault.fsck().isClean)
    }

    @Test func `still refuses a remote that went back`() async throws {
        let (scene, vault) = try await shallow(33, depth: 2)
        _ = try scene.whole.reset(to: "HEAD~2", ResetOptions(hard: true))
        _ = try await scene.whole.push(to: scene.scene.remote(), PushOptions(force: true))
        let fetched = try await vault.fetch(from: scene.scene.remote())
        #expect(fetched.refs.map(\.isRewind) == [true])
        await #expect(throws: VaultError.coded(.refRewound)) { try await vault.pull(from: scene.scene.remote()) }
        _ = try await vault.pull(from: scene.scene.remote(), PullOptions(acceptRewind: true))
        #expect(try vault.status().head == scene.whole.status().head)
    }

    @Test func `does not guess where two sides parted behind its end`() async throws {
        let scene = try await PartialScene(seed: 34)
        _ = try scene.whole.switchBranch(to: "side", creating: true)
        try await scene.publish(["side": "s"])
        _ = try scene.whole.switchBranch(to: "current")
        try await scene.publish(["docs/a": "a4"])
        let vault = try await scene.clone("b", CloneOptions(depth: 1))
        let error = #expect(throws: VaultError.self) { try vault.merge("side") }
        #expect(error?.code == .partialClone && error?.hint == "vaultctl fetch --unshallow")
        _ = try await vault.fetch(from: scene.scene.remote(), FetchOptions(unshallow: true))
        #expect(try vault.historyEnds().isEmpty)
        #expect(try vault.merge("side").outcome == .merged)
        #expect(try await vault.fsck().isClean)
    }

    @Test func `gets more of its history, and all of it`() async throws {
        let (scene, vault) = try await shallow(35, depth: 1)
        let deeper = try await vault.fetch(from: scene.scene.remote(), FetchOptions(deepen: 2))
        #expect(try deeper.boundary.count == 1 && scene.scene.history(vault).count == 3)
        #expect(try vault.contents(of: VaultPath("docs/a"), revision: "HEAD~2") == Array("a1".utf8))
        let all = try await vault.fetch(from: scene.scene.remote(), FetchOptions(unshallow: true))
        #expect(try all.boundary.isEmpty && scene.scene.history(vault) == scene.scene.history(scene.whole))
        #expect(try await vault.fsck().isClean)
        let again = try await vault.fetch(from: scene.scene.remote(), FetchOptions(unshallow: true))
        #expect(again.objects == 0)
    }

    @Test func `goes with a part of the folders, and with none`() async throws {
        let scene = try await PartialScene(seed: 36)
        let options = CloneOptions(scope: try scene.paths("src"), depth: 2, noCheckout: true)
        let vault = try await scene.clone("b", options)
        #expect(try scene.files("b").isEmpty && vault.status().isClean)
        #expect(try await vault.fsck().isClean)
        _ = try await vault.changeSparse(.add(scene.paths("src")), from: scene.scene.remote())
        #expect(try scene.files("b") == ["src/c": "c2"] && vault.status().isClean)
        try scene.change("b", ["src/c": "mine"])
        _ = try vault.commit()
        _ = try await vault.push(to: scene.scene.remote())
        var expected = PartialScene.files
        expected["src/c"] = "mine"
        #expect(try await scene.published() == expected)
    }

    @Test func `fetches every branch, and forgets those that are gone`() async throws {
        let scene = try await PartialScene(seed: 37)
        let vault = try await scene.clone("b", CloneOptions())
        _ = try scene.whole.switchBranch(to: "side", creating: true)
        try await scene.publish(["side": "s"])
        let fetched = try await vault.fetch(from: scene.scene.remote(), FetchOptions(all: true, verifies: true))
        #expect(fetched.refs.map(\.branch).sorted() == ["current", "side"])
        #expect(try vault.contents(of: VaultPath("side"), revision: "origin/side") == Array("s".utf8))
        let side = try #require(try scene.whole.loadState().index.branches.first { $0.name == "side" })
        let refs = try scene.scene.fileSystem.openDirectory(
            scene.scene.remotePath.appending(relative: Array("bare/refs".utf8)))
        try refs.removeFile(Array(side.headRefID.text.utf8))
        let kept = try await vault.fetch(from: scene.scene.remote())
        #expect(kept.pruned.isEmpty)
        let pruned = try await vault.fetch(from: scene.scene.remote(), FetchOptions(prunes: true))
        #expect(pruned.pruned == ["side"])
        #expect(throws: VaultError.coded(.revisionNotFound)) {
            try vault.contents(of: VaultPath("side"), revision: "origin/side")
        }
    }

    @Test func `tells of a bad signature when asked to look`() async throws {
        let scene = try await PartialScene(seed: 38)
        let vault = try await scene.clone("b", CloneOptions())
        try scene.change("a", ["top": "unsigned"])
        _ = try scene.whole.commit(CommitOptions(sign: false))
        _ = try await scene.whole.push(to: scene.scene.remote())
        // Also when nothing comes any more: it is not merged yet.
        for _ in 0..<2 {
            await #expect(throws: VaultError.coded(.signatureBad)) {
                try await vault.fetch(from: scene.scene.remote(), FetchOptions(verifies: true))
            }
        }
    }
}
