import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Clones of some folders (spec 06 §8.1).
@Suite("A clone of some folders")
struct ScopedCloneTests {
    private func scoped(_ seed: UInt64, _ folders: String...) async throws -> (PartialScene, Vault) {
        let scene = try await PartialScene(seed: seed)
        let paths = try folders.map { try VaultPath($0) }
        return (scene, try await scene.clone("b", CloneOptions(scope: paths)))
    }

    @Test func `holds these, with their history, and nothing else`() async throws {
        let (scene, vault) = try await scoped(21, "docs", "docs/deep", "src")
        #expect(try vault.sparse().paths == scene.paths("docs", "src"))
        #expect(try scene.files("b") == ["docs/a": "a3", "docs/deep/b": "b1", "src/c": "c2"])
        #expect(try vault.status().isClean)
        let held = Set(try vault.list().filter(\.isLocal).map(\.path.description))
        #expect(held == ["docs", "src"])
        let report = try await vault.fsck()
        #expect(report.isClean && report.absent == 0)
        #expect(try vault.contents(of: VaultPath("docs/a"), revision: "HEAD~2") == Array("a1".utf8))
    }

    @Test func `commits the very trees that a whole clone would`() async throws {
        let (scene, vault) = try await scoped(22, "docs")
        let edits: [String: String?] = ["docs/a": "edited", "docs/deep/b": nil, "docs/x/y": "new"]
        try scene.change("b", edits)
        let head = try #require(try vault.commit().commit)
        let pushed = try await vault.push(to: scene.scene.remote())
        // The commit, the trees of root, docs and x, two contents.
        #expect(pushed.objects == 6)
        let published = try await scene.published()
        var expected = PartialScene.files
        (expected["docs/a"], expected["docs/deep/b"], expected["docs/x/y"]) = ("edited", nil, "new")
        #expect(published == expected)
        var told: ObjectID?
        try scene.whole.log(LogOptions(limit: 1)) { entry in
            told = entry.commit.tree
            return true
        }
        #expect(told == head.tree)
    }

    @Test func `refuses what lies outside`() async throws {
        let (scene, vault) = try await scoped(23, "docs")
        try scene.change("b", ["top": "mine"])
        #expect(throws: VaultError.coded(.partialClone)) { try vault.commit() }
        #expect(throws: VaultError.coded(.partialClone)) {
            try vault.write(WriteRequest(files: [(VaultPath("src/c"), .bytes([1]))]))
        }
        #expect(throws: VaultError.coded(.partialClone)) { try vault.restore(scene.paths("src/c")) }
        try scene.change("b", ["docs/a": "edited"])
        let commit = try vault.commit(CommitOptions(paths: scene.paths("docs")))
        #expect(commit.changes == Changes(modified: try scene.paths("docs/a")))
    }

    @Test func `reads what lies outside from the remote`() async throws {
        let (scene, vault) = try await scoped(24, "docs")
        let remote = CountingRemote(scene.scene.remote())
        let bytes = try await vault.completing(from: { remote }) { try vault.contents(of: VaultPath("src/c")) }
        #expect(bytes == Array("c2".utf8))
        // The folder, then the content.
        #expect(remote.counted.reads == 2)
        #expect(try scene.files("b").count == 2 && vault.status().isClean)
    }

    @Test func `merges what others did outside by its id`() async throws {
        let (scene, vault) = try await scoped(25, "docs/deep")
        try await scene.publish(["src/c": "c3", "other/d": nil, "top": "t2", "fresh/f": "f", "docs/a": "a4"])
        try scene.change("b", ["docs/deep/b": "mine"])
        _ = try vault.commit()
        #expect(try await vault.pull(from: scene.scene.remote()).outcome == .merged)
        #expect(try scene.files("b") == ["docs/deep/b": "mine"] && vault.status().isClean)
        #expect(try await vault.fsck().isClean)
        _ = try await vault.push(to: scene.scene.remote())
        #expect(
            try await scene.published()
                == ["src/c": "c3", "top": "t2", "fresh/f": "f", "docs/a": "a4", "docs/deep/b": "mine"])
    }

    @Test func `asks for more of the vault where both sides changed the same outside`() async throws {
        let (scene, vault) = try await scoped(26, "docs")
        _ = try scene.whole.switchBranch(to: "side", creating: true)
        try await scene.publish(["src/c": "of the branch"])
        _ = try scene.whole.switchBranch(to: "current")
        try await scene.publish(["src/c": "of current"])
        _ = try await vault.pull(from: scene.scene.remote())
        _ = try await vault.fetch(from: scene.scene.remote(), FetchOptions(all: true))
        let error = #expect(throws: VaultError.self) { try vault.merge("origin/side") }
        #expect(error?.code == .partialClone && error?.hint == "vaultctl sparse add src")
        #expect(try vault.status().isClean)
        _ = try await vault.changeSparse(.add(scene.paths("src")), from: scene.scene.remote())
        #expect(try vault.merge("origin/side").conflicts == scene.paths("src/c"))
    }

    @Test func `holds more, less and all when told`() async throws {
        let (scene, vault) = try await scoped(27, "docs/deep")
        let remote = scene.scene.remote()
        _ = try await vault.changeSparse(.add(scene.paths("src")), from: remote)
        #expect(try scene.files("b") == ["docs/deep/b": "b1", "src/c": "c2"])
        try scene.change("b", ["docs/a": "not the vault's"])
        await #expect(throws: VaultError.coded(.dirtyTree)) {
            try await vault.changeSparse(.add(scene.paths("docs")), from: remote)
        }
        #expect(try vault.sparse().paths == scene.paths("docs/deep", "src"))
        try scene.scene.remove("docs/a", in: "b")
        let set = try await vault.changeSparse(.set(scene.paths("docs")), from: remote)
        #expect(set.removed == (try scene.paths("src/c")))
        #expect(try scene.files("b") == ["docs/a": "a3", "docs/deep/b": "b1"] && vault.status().isClean)
        _ = try await vault.changeSparse(.whole, from: remote)
        #expect(try scene.files("b") == PartialScene.files && vault.status().isClean)
        #expect(try await vault.fsck().isClean)
        #expect(try vault.sparse().isWhole)
        #expect(try vault.contents(of: VaultPath("src/c"), revision: "HEAD~2") == Array("c1".utf8))
    }

    @Test func `puts edits of its part aside and brings them back, and nothing else`() async throws {
        let (scene, vault) = try await scoped(28, "docs")
        try await scene.publish(["docs/deep/b": "b2", "src/c": "c3"])
        try scene.change("b", ["docs/a": "edited"])
        // What is tracked is read anew.
        try vault.layout.ownFolder(create: false)?.removeFile(Array("stat-cache".utf8))
        let pulled = try await vault.pull(from: scene.scene.remote(), PullOptions(stashesEdits: true))
        #expect(pulled.outcome == .fastForward && pulled.stash == nil)
        #expect(try scene.files("b") == ["docs/a": "edited", "docs/deep/b": "b2"] && vault.stashes().isEmpty)
        let moved = try vault.switchBranch(to: "side", creating: true, discards: true)
        #expect(try moved.stash?.changes == Changes(modified: scene.paths("docs/a")))
        #expect(try scene.files("b") == ["docs/a": "a3", "docs/deep/b": "b2"])
        #expect(try vault.applyStash(drop: true).isDropped)
        #expect(try scene.files("b") == ["docs/a": "edited", "docs/deep/b": "b2"])
    }

    @Test func `becomes whole with what was fetched and not merged yet`() async throws {
        let (scene, vault) = try await scoped(29, "docs")
        try await scene.publish(["src/c": "c9", "new/x": "x"])
        _ = try await vault.fetch(from: scene.scene.remote())
        _ = try await vault.changeSparse(.whole, from: scene.scene.remote())
        #expect(try scene.files("b") == PartialScene.files)
        _ = try vault.merge("origin/current")
        var expected = PartialScene.files
        (expected["src/c"], expected["new/x"]) = ("c9", "x")
        #expect(try scene.files("b") == expected)
    }

    /// Random edits in a part and in a whole clone, synced in turns, against a plain map of files.
    @Test(arguments: 0..<12)
    func `ends with the files of a model, whatever both do`(seed: UInt64) async throws {
        let (scene, vault) = try await scoped(100 + seed, "docs", "src")
        let random = SeededRandom(seed: seed)
        var model = PartialScene.files
        let remote = scene.scene.remote()
        for round in 0..<6 {
            // Each side keeps to names of its own, so that no merge conflicts.
            for (name, folders) in [("a", ["other", "docs", "top-level"]), ("b", ["docs", "src/x"])] {
                for _ in 0..<random.below(4) {
                    let folder = folders[random.below(folders.count)]
                    let path = "\(folder)/\(name)\(random.below(4))"
                    if model[path] != nil, random.below(2) == 0 {
                        try? scene.scene.remove(path, in: name)
                        model[path] = nil
                    } else {
                        let text = "\(round) \(random.below(10_000))"
                        try scene.scene.put(text, at: path, in: name)
                        model[path] = text
                    }
                }
                let clone = name == "a" ? scene.whole : vault
                _ = try clone.commit()
                _ = try await clone.pull(from: remote)
                _ = try await clone.push(to: remote)
            }
            #expect(try await scene.published() == model, "seed \(seed), round \(round)")
            #expect(
                try scene.files("b") == model.filter { $0.key.hasPrefix("docs/") || $0.key.hasPrefix("src/") },
                "seed \(seed), round \(round)")
            #expect(try vault.status().isClean)
            #expect(try await vault.fsck().isClean)
        }
    }
}
