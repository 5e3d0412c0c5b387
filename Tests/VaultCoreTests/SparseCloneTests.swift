import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Clones without a working copy, and what comes into them (spec 03 §2.5, 06 §8.4).
@Suite("A clone without files")
struct SparseCloneTests {
    private func sparse(_ seed: UInt64) async throws -> (PartialScene, Vault) {
        let scene = try await PartialScene(seed: seed)
        return (scene, try await scene.clone("b", CloneOptions(noCheckout: true)))
    }

    @Test func `has all history and folders, no content, and nothing to commit`() async throws {
        let (scene, vault) = try await sparse(1)
        #expect(try scene.files("b").isEmpty && vault.status().isClean)
        #expect(try vault.list(recursive: true).allSatisfy { !$0.isLocal })
        #expect(try scene.scene.history(vault) == scene.scene.history(scene.whole))
        let report = try await vault.fsck()
        // a1, a2, a3, b1, c1, c2, d1, t1
        #expect(report.isClean && report.absent == 8)
        #expect(try vault.commit().commit == nil)
    }

    @Test func `gets what is read in one request, checked, and once`() async throws {
        let (scene, vault) = try await sparse(2)
        let remote = CountingRemote(scene.scene.remote())
        let wanted = try scene.paths("docs/a", "src/c", "top")
        for _ in 0..<2 {
            try await vault.completing(from: { remote }) { try vault.require(wanted, revision: nil) }
        }
        #expect(remote.counted.reads == 1 && remote.counted.filesRead == 3)
        #expect(try vault.contents(of: VaultPath("docs/a")) == Array("a3".utf8))
        #expect(try vault.status().isClean && scene.files("b").isEmpty)
        #expect(try await vault.fsck().absent == 5)
    }

    @Test func `keeps nothing that is not what was asked for`() async throws {
        let (scene, vault) = try await sparse(3)
        let entry = try #require(try vault.list(VaultPath("docs/a")).first)
        let other = try #require(try vault.list(VaultPath("src/c")).first)
        for lie in [LyingRemote.Lie.flipBit, .truncate, .swapWith(.object(other.objectID))] {
            let remote = LyingRemote(scene.scene.remote(), lies: [.object(entry.objectID): lie])
            await #expect(throws: VaultError.coded(.objectCorrupt)) {
                try await vault.completing(from: { remote }) { try vault.contents(of: VaultPath("docs/a")) }
            }
            #expect(try !vault.store.holds(entry.objectID))
        }
        let lacking = LyingRemote(scene.scene.remote(), lies: [.object(entry.objectID): .absent])
        await #expect(throws: VaultError.coded(.objectMissing)) {
            try await vault.completing(from: { lacking }) { try vault.contents(of: VaultPath("docs/a")) }
        }
    }

    @Test func `tells what is lacking and why it can not be had`() async throws {
        let (_, vault) = try await sparse(4)
        let error = await #expect(throws: VaultError.self) {
            try await vault.completing(from: { throw VaultError(.unreachable, "the server is down") }) {
                try vault.contents(of: VaultPath("docs/a"))
            }
        }
        #expect(error?.code == .unreachable && error?.hint != nil)
        #expect(error?.message.contains("is not in this clone, but the server is down") == true)
    }

    @Test func `writes folders, and follows what others do in them alone`() async throws {
        let (scene, vault) = try await sparse(5)
        let result = try await vault.changeSparse(.add(scene.paths("docs")), from: scene.scene.remote())
        #expect(result.written == (try scene.paths("docs/a", "docs/deep/b")) && result.objects == 2)
        #expect(try vault.sparse() == SparseState(paths: scene.paths("docs"), isWhole: false))
        #expect(try scene.files("b") == ["docs/a": "a3", "docs/deep/b": "b1"])
        try await scene.publish(["docs/new": "n", "docs/deep/b": nil, "src/c": "c3", "src/e": "e", "docs/a": "a4"])
        let pulled = try await vault.pull(from: scene.scene.remote())
        #expect(pulled.outcome == .fastForward)
        #expect(try scene.files("b") == ["docs/a": "a4", "docs/new": "n"] && vault.status().isClean)
        #expect(try await vault.fsck().isClean)
        await #expect(throws: VaultError.coded(.pathNotFound)) {
            try await vault.changeSparse(.add(scene.paths("none")), from: scene.scene.remote())
        }
    }

    @Test func `commits edits, new files and deletions, and carries everything else on`() async throws {
        let (scene, vault) = try await sparse(6)
        _ = try await vault.changeSparse(.add(scene.paths("docs")), from: scene.scene.remote())
        try scene.change("b", ["docs/a": "edited", "docs/deep/b": nil, "extra/new": "x"])
        #expect(
            try vault.commit().changes
                == Changes(
                    added: scene.paths("extra/new"), modified: scene.paths("docs/a"),
                    deleted: scene.paths("docs/deep/b")))
        #expect(try vault.status().isClean)
        let pushed = try await vault.push(to: scene.scene.remote())
        // The commit, the trees of root, docs and extra, two contents.
        #expect(pushed.objects == 6)
        var expected = PartialScene.files
        (expected["docs/a"], expected["extra/new"], expected["docs/deep/b"]) = ("edited", "x", nil)
        #expect(try await scene.published() == expected)
        try scene.scene.remove("extra/new", in: "b")
        #expect(try vault.status().changes == Changes(deleted: scene.paths("extra/new")))
    }

    @Test func `removes and writes files that it does not have on disk`() async throws {
        let (scene, vault) = try await sparse(7)
        _ = try vault.removeFiles(scene.paths("src/c"))
        #expect(try vault.commit().changes == Changes(deleted: scene.paths("src/c")))
        _ = try vault.write(WriteRequest(files: [(VaultPath("other/d"), .bytes([0x64]))]))
        #expect(try vault.status().isClean && scene.files("b").isEmpty)
        _ = try await vault.push(to: scene.scene.remote())
        var expected = PartialScene.files
        (expected["src/c"], expected["other/d"]) = (nil, "d")
        #expect(try await scene.published() == expected)
    }

    @Test func `brings single files with restore`() async throws {
        let (scene, vault) = try await sparse(8)
        _ = try await vault.completing(from: { scene.scene.remote() }) { try vault.restore(scene.paths("src/c")) }
        #expect(try scene.files("b") == ["src/c": "c2"])
        #expect(try vault.sparse().paths == scene.paths("src/c"))
        try scene.scene.remove("src/c", in: "b")
        #expect(try vault.status().changes == Changes(deleted: scene.paths("src/c")))
        #expect(try vault.restore([]).written == scene.paths("src/c"))
    }

    @Test func `merges, with the conflicting files laid into it wherever they are`() async throws {
        let (scene, vault) = try await sparse(9)
        _ = try vault.write(WriteRequest(files: [(VaultPath("src/c"), .bytes([0x6D]))]))
        try await scene.publish(["src/c": "theirs", "top": "t2"])
        let pulled = try await vault.pull(from: scene.scene.remote())
        #expect(pulled.outcome == .conflicts)
        #expect(try pulled.conflicts == scene.paths("src/c"))
        #expect(try scene.files("b") == ["src/c.conflict": "theirs"])
        try vault.abortMerge()
        #expect(try scene.files("b").isEmpty && vault.status().isClean)
        _ = try await vault.pull(from: scene.scene.remote())
        _ = try vault.resolve(.theirs)
        _ = try vault.commit()
        #expect(try scene.files("b") == ["src/c": "theirs"] && vault.status().isClean)
        _ = try await vault.push(to: scene.scene.remote())
        var expected = PartialScene.files
        (expected["src/c"], expected["top"]) = ("theirs", "t2")
        #expect(try await scene.published() == expected)
    }

    @Test func `becomes a whole clone, and a whole clone becomes one`() async throws {
        let (scene, vault) = try await sparse(10)
        _ = try await vault.changeSparse(.add(scene.paths("top")), from: scene.scene.remote())
        _ = try await vault.changeSparse(.whole, from: scene.scene.remote())
        #expect(try scene.files("b") == PartialScene.files && vault.sparse().isWhole && vault.status().isClean)
        let report = try await vault.fsck()
        #expect(report.isClean && report.absent == 0)
        await #expect(throws: VaultError.coded(.refused)) {
            try await vault.changeSparse(.add(scene.paths("src")), from: scene.scene.remote())
        }
        try scene.change("b", ["other/d": "edited"])
        await #expect(throws: VaultError.coded(.dirtyTree)) {
            try await vault.changeSparse(.set(scene.paths("src")), from: scene.scene.remote())
        }
        #expect(try vault.sparse().isWhole && vault.status().changes == Changes(modified: scene.paths("other/d")))
        try scene.change("b", ["other/d": "d1"])
        let set = try await vault.changeSparse(.set(scene.paths("src")), from: scene.scene.remote())
        #expect(set.removed == (try scene.paths("docs/a", "docs/deep/b", "other/d", "top")) && set.objects == 0)
        #expect(try scene.files("b") == ["src/c": "c2"] && vault.status().isClean)
        #expect(try vault.commit().commit == nil)
    }

    @Test func `misses nothing on a branch that was never pushed, or beside a remote that went on`() async throws {
        let (scene, vault) = try await sparse(14)
        _ = try await vault.changeSparse(.add(scene.paths("docs")), from: scene.scene.remote())
        _ = try vault.switchBranch(to: "side", creating: true)
        #expect(try await vault.fsck().isClean)
        try scene.change("b", ["docs/a": "mine"])
        _ = try vault.commit()
        try await scene.publish(["src/c": "c4"])
        _ = try await vault.fetch(from: scene.scene.remote(), FetchOptions(all: true))
        #expect(try await vault.fsck().isClean)
        let tree = try CommitGraph(store: vault.store, cipher: vault.cipher).tree(of: try #require(vault.status().head))
        let entry = try #require(try vault.treeReader().entry(VaultPath("docs/a"), in: tree)?.file)
        try vault.layout.data.removeFile(Array(entry.blobID.text.utf8))
        #expect(try await !vault.fsck().isClean)
    }

    @Test func `misses what it has not published`() async throws {
        let (scene, vault) = try await sparse(11)
        try scene.change("b", ["new": "n"])
        _ = try vault.commit()
        let entry = try #require(try vault.list(VaultPath("new")).first)
        try vault.layout.data.removeFile(entry.objectID.utf8)
        #expect(try await vault.fsck().missing.map(\.id) == [entry.objectID.text])
        await #expect(throws: VaultError.coded(.objectMissing)) { try await vault.push(to: scene.scene.remote()) }
    }

    /// Wherever a change of the part is stopped, no file that is left out is taken for deleted.
    @Test(arguments: [FailPoint.checkoutBeforeFirst, .checkoutBeforeFile])
    func `loses nothing when a change of its part is interrupted`(place: FailPoint) async throws {
        for number in 1...4 {
            let hits = Locked(0)
            let armed = Locked(false)
            let points = FailPoints { (point: FailPoint) throws(Errno) in
                guard point == place, armed.withLock({ $0 }) else { return }
                let hit = hits.withLock { count in
                    count += 1
                    return count
                }
                if hit == number { throw .ioError }
            }
            let scene = try await PartialScene(seed: 12, failPoints: points)
            let vault = try await scene.clone("b", CloneOptions(noCheckout: true))
            for change in [SparseChange.add(try scene.paths("docs")), .set(try scene.paths("src")), .whole] {
                armed.withLock { $0 = true }
                _ = try? await vault.changeSparse(change, from: scene.scene.remote())
                armed.withLock { $0 = false }
                #expect(try scene.scene.open("b").status().changes.deleted == [], "\(place) \(number) \(change)")
                let again = try scene.scene.open("b")
                _ = try await again.changeSparse(change, from: scene.scene.remote())
                #expect(try again.status().isClean)
            }
            #expect(try scene.files("b") == PartialScene.files)
        }
    }
}
