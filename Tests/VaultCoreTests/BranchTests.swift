import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Named branches in one clone and between clones (spec 05 §10).
@Suite("Branches")
struct BranchTests {
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene

    init() async throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 4)
        let first = try scene.create("a")
        try scene.put("one", at: "one", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
    }

    private func working(_ name: String) throws -> [String: String] {
        try scene.workingFiles(name).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    private func commit(_ text: String, in name: String) throws {
        try scene.put(text, at: text, in: name)
        _ = try scene.open(name).commit()
    }

    @Test func `have files of their own, and work on one is not seen on another`() async throws {
        let vault = try scene.open("a")
        _ = try vault.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "a")
        #expect(try working("a") == ["one": "one", "draft": "draft"])
        _ = try vault.switchBranch(to: "current")
        #expect(try working("a") == ["one": "one"])
        #expect(try vault.status().isClean && vault.status().branch == "current")
        try commit("two", in: "a")
        #expect(try vault.switchBranch(to: "drafts").changes.added.map(\.description) == ["draft"])
        #expect(try working("a") == ["one": "one", "draft": "draft"])
        #expect(try vault.previousBranch() == "current")
        let report = try await vault.fsck()
        #expect(report.isClean)
    }

    @Test func `are told with their heads and what is not pushed`() async throws {
        let vault = try scene.open("a")
        let head = try vault.createBranch("drafts")
        #expect(try vault.branches().map(\.name) == ["current", "drafts"])
        #expect(try vault.branches().map(\.isCurrent) == [true, false])
        #expect(try vault.branches().map(\.head) == [head, head])
        #expect(try vault.branches().map(\.isPushed) == [true, false])
        _ = try vault.switchBranch(to: "drafts")
        try commit("draft", in: "a")
        _ = try await scene.open("a").push(to: scene.remote())
        #expect(try vault.branches().first?.name == "drafts")
        #expect(try vault.branches().map(\.isPushed) == [true, true])
    }

    @Test func `go to other clones by push, and come back merged`() async throws {
        try await scene.clone("b")
        let ours = try scene.open("a")
        _ = try ours.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "a")
        let counting = CountingRemote(scene.remote())
        let pushed = try await ours.push(to: counting)
        // Its objects, not those that the remote has by another branch: the commit, the root and the content.
        #expect(pushed.objects == 3)
        let theirs = try scene.open("b")
        #expect(throws: VaultError.coded(.branchNotFound)) { try theirs.switchBranch(to: "drafts") }
        _ = try await theirs.fetchBranch("drafts", from: scene.remote())
        _ = try theirs.switchBranch(to: "drafts")
        #expect(try working("b") == ["one": "one", "draft": "draft"])
        try commit("reply", in: "b")
        _ = try await theirs.push(to: scene.remote())
        #expect(try await ours.pull(from: scene.remote()).outcome == .fastForward)
        _ = try ours.switchBranch(to: "current")
        try commit("meanwhile", in: "a")
        #expect(try ours.merge("drafts").outcome == .merged)
        #expect(
            try working("a") == ["one": "one", "draft": "draft", "reply": "reply", "meanwhile": "meanwhile"])
        _ = try await ours.push(to: scene.remote())
        _ = try theirs.switchBranch(to: "current")
        #expect(try await theirs.pull(from: scene.remote()).outcome == .fastForward)
        #expect(try working("b") == working("a"))
        for name in ["a", "b"] {
            let report = try await scene.open(name).fsck()
            #expect(report.isClean)
        }
    }

    @Test func `come with a clone`() async throws {
        let ours = try scene.open("a")
        _ = try ours.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "a")
        _ = try await ours.push(to: scene.remote())
        try await scene.clone("b")
        let theirs = try scene.open("b")
        #expect(try theirs.branches().map(\.name) == ["current", "drafts"])
        _ = try theirs.switchBranch(to: "drafts")
        #expect(try working("b") == ["one": "one", "draft": "draft"])
    }

    @Test func `take uncommitted work along, and are refused where it is in the way`() throws {
        let vault = try scene.open("a")
        _ = try vault.switchBranch(to: "drafts", creating: true)
        try scene.put("changed", at: "one", in: "a")
        try commit("draft", in: "a")
        _ = try vault.switchBranch(to: "current")
        try scene.put("loose", at: "loose", in: "a")
        #expect(try vault.switchBranch(to: "drafts").keptDirty.map(\.description) == ["loose"])
        _ = try vault.switchBranch(to: "current")
        try scene.put("mine", at: "one", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.switchBranch(to: "drafts") }
        #expect(try working("a") == ["one": "mine", "loose": "loose"])
        #expect(try vault.status().branch == "current")
    }

    @Test func `that can not be switched to are not made`() throws {
        let vault = try scene.open("a")
        try scene.put("two", at: "one", in: "a")
        _ = try vault.commit()
        try scene.put("mine", at: "one", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) {
            try vault.switchBranch(to: "drafts", creating: true, from: "HEAD~1")
        }
        #expect(try vault.branches().map(\.name) == ["current"])
        #expect(throws: VaultError.coded(.revisionNotFound)) {
            try vault.switchBranch(to: "drafts", creating: true, from: "HEAD~9")
        }
        #expect(try vault.branches().map(\.name) == ["current"])
        _ = try vault.switchBranch(to: "drafts", creating: true)
        #expect(try vault.branches().map(\.name) == ["drafts", "current"])
        #expect(try working("a") == ["one": "mine"])
    }

    @Test func `take no name that is taken or is none`() throws {
        let vault = try scene.open("a")
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.createBranch("current") }
        for name in ["", "a b", "a/b", "ü", String(repeating: "x", count: 65)] {
            #expect(throws: VaultError.coded(.usage)) { try vault.createBranch(name) }
        }
        let head = try #require(try vault.status().head)
        let misleading = [
            "-d", "-", "HEAD", head.text, head.hex, String(repeating: "Ab1", count: 4),
            String(repeating: "0", count: 32), "branch-named-0123456789abcdef", "obj-x",
        ]
        for name in misleading {
            #expect(throws: VaultError.coded(.usage), "\(name)") { try vault.createBranch(name) }
            #expect(throws: VaultError.coded(.usage), "\(name)") { try vault.switchBranch(to: name, creating: true) }
        }
        // Words that happen to be digits of an id, and what stands beside a reserved name.
        for name in ["cafe", "2026", "head", "HEAD-2", "d-", "abcdef0123456"] {
            try vault.createBranch(name)
            #expect(throws: VaultError.coded(.usage)) { try vault.renameBranch(name, to: "HEAD") }
            #expect(try vault.deleteBranch(name) == BranchDeletion(end: .removed, head: head))
        }
        try vault.createBranch("drafts")
        try vault.renameBranch("drafts", to: "sketches")
        #expect(try vault.branches().map(\.name) == ["current", "sketches"])
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.renameBranch("sketches", to: "current") }
        #expect(throws: VaultError.coded(.refused)) { try vault.renameBranch("current", to: "other") }
        #expect(throws: VaultError.coded(.branchNotFound)) { try vault.switchBranch(to: "drafts") }
    }

    @Test func `are deleted here, and not while their work would be lost`() async throws {
        let vault = try scene.open("a")
        #expect(throws: VaultError.coded(.refused)) { try vault.deleteBranch("current") }
        _ = try vault.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "a")
        _ = try vault.switchBranch(to: "current")
        #expect(throws: VaultError.coded(.refused)) { try vault.deleteBranch("drafts") }
        let lost = try #require(try vault.branches().first { $0.name == "drafts" }?.head)
        #expect(try vault.deleteBranch("drafts", force: true) == BranchDeletion(end: .removed, head: lost))
        #expect(try vault.branches().map(\.name) == ["current"])
        // What it was is told, and found by that: whole, as lists print it, and shorter.
        for name in [lost.text, String(lost.hex.prefix(12)), String(lost.hex.prefix(9))] {
            var found: [ObjectID] = []
            try vault.log(LogOptions(revision: name)) { entry in
                found.append(entry.commit.id)
                return false
            }
            #expect(found == [lost])
        }
        try vault.createBranch("again", at: String(lost.hex.prefix(12)))
        #expect(try vault.branches().first { $0.name == "again" }?.head == lost)
        #expect(try vault.deleteBranch("again", force: true).head == lost)
        _ = try vault.switchBranch(to: "other", creating: true)
        _ = try await vault.push(to: scene.remote())
        _ = try vault.switchBranch(to: "current")
        #expect(try vault.deleteBranch("other").end == .hidden)
        #expect(try vault.branches().map(\.name) == ["current"])
        // A name that the vault keeps is not free.
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.createBranch("other") }
    }

    @Test func `are not told to others before their own push`() async throws {
        let vault = try scene.open("a")
        try vault.createBranch("drafts")
        try commit("two", in: "a")
        _ = try await vault.push(to: scene.remote())
        try await scene.clone("b")
        #expect(try scene.open("b").branches().map(\.name) == ["current"])
        try vault.renameBranch("drafts", to: "notes")
        _ = try await vault.pull(from: scene.remote())
        #expect(try vault.branches().map(\.name) == ["current", "notes"])
        #expect(try vault.deleteBranch("notes").end == .removed)
        _ = try await vault.pull(from: scene.remote())
        #expect(try vault.branches().map(\.name) == ["current"])
    }

    @Test func `of one name that were made on both sides are one story, and get on by another name`() async throws {
        try await scene.clone("b")
        for name in ["a", "b"] {
            _ = try scene.open(name).switchBranch(to: "drafts", creating: true)
            try commit("draft of \(name)", in: name)
        }
        _ = try await scene.open("a").push(to: scene.remote())
        let vault = try scene.open("b")
        await #expect(throws: VaultError.coded(.nameTaken)) { try await vault.pull(from: scene.remote()) }
        await #expect(throws: VaultError.coded(.nameTaken)) { try await vault.push(to: scene.remote()) }
        // Also once the other one is known here under the same name.
        _ = try vault.switchBranch(to: "current")
        _ = try await vault.pull(from: scene.remote())
        #expect(try vault.branches().map(\.name) == ["current", "drafts", "drafts"])
        try vault.renameBranch("drafts", to: "drafts-b")
        #expect(try vault.branches().filter { !$0.isPushed }.map(\.name) == ["drafts-b"])
        _ = try vault.switchBranch(to: "drafts-b")
        _ = try await vault.push(to: scene.remote())
        _ = try await vault.fetch(from: scene.remote(), FetchOptions(all: true))
        #expect(try vault.merge("drafts").outcome == .merged)
        #expect(try working("b").keys.sorted() == ["draft of a", "draft of b", "one"])
    }

    @Test func `that went back are told, and the others fetched all the same`() async throws {
        let vault = try scene.open("a")
        let first = try #require(try vault.status().head)
        for name in ["bad", "good", "worse"] {
            _ = try vault.switchBranch(to: name, creating: true, from: "current")
            try commit(name, in: "a")
            _ = try await vault.push(to: scene.remote())
        }
        try await scene.clone("b")
        let other = try scene.open("b")
        _ = try await other.fetch(from: scene.remote(), FetchOptions(all: true))
        for name in ["bad", "good", "worse"] { _ = try other.switchBranch(to: name) }
        for name in ["bad", "good", "worse"] {
            _ = try other.switchBranch(to: name)
            #expect(try await other.pull(from: scene.remote()).outcome == .upToDate)
        }
        _ = try other.switchBranch(to: "current")
        // Others step two of them back, and go on with the third.
        for name in ["bad", "worse"] {
            _ = try vault.switchBranch(to: name)
            _ = try vault.reset(to: first.text, ResetOptions(hard: true))
            _ = try await vault.push(to: scene.remote(), PushOptions(force: true))
        }
        _ = try vault.switchBranch(to: "good")
        try commit("better", in: "a")
        let better = try #require(try vault.status().head)
        _ = try await vault.push(to: scene.remote())
        let before = try other.branches().filter { $0.name != "good" }.map(\.head)
        let fetched = try await other.fetch(from: scene.remote(), FetchOptions(all: true))
        #expect(fetched.failures.map(\.branch).sorted() == ["bad", "worse"])
        #expect(fetched.failures.allSatisfy { $0.error.code == .refRewound })
        #expect(fetched.refs.map(\.branch).sorted() == ["current", "good"])
        #expect(fetched.refs.first { $0.branch == "good" }?.new == better)
        #expect(try other.branches().filter { $0.name != "good" }.map(\.head) == before)
        #expect(try other.store.holds(better))
    }

    @Test func `that were merged before their own push have their signer's key sent along`() async throws {
        try await scene.clone("b")
        let vault = try scene.open("a")
        _ = try vault.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "a")
        _ = try vault.switchBranch(to: "current")
        _ = try vault.merge("drafts", MergeOptions(fastForward: .never))
        _ = try await vault.push(to: scene.remote())
        _ = try await scene.open("b").pull(from: scene.remote())
        try await scene.clone("c")
        try await scene.clone("d", CloneOptions(depth: 2))
        try await scene.clone("e", CloneOptions(depth: 1))
        _ = try await scene.open("e").fetch(from: scene.remote(), FetchOptions(unshallow: true))
        #expect(try await scene.open("d").fsck(FsckOptions(checkSignatures: true)).signatures.noKey == 0)
        let keys = try scene.fileSystem.openDirectory(scene.remotePath.appending(relative: Array("bare/keys".utf8)))
        for entry in try keys.entries() { try keys.removeFile(entry.name) }
        _ = try await vault.repairRemote(scene.remote())
        try await scene.clone("f")
        for name in ["b", "c", "e", "f"] {
            let signatures = try await scene.open(name).fsck(FsckOptions(checkSignatures: true)).signatures
            #expect(signatures.verified == 4 && signatures.noKey == 0, "\(name): \(signatures)")
        }
    }

    @Test func `begin where they are told to`() throws {
        let vault = try scene.open("a")
        try commit("two", in: "a")
        _ = try vault.switchBranch(to: "earlier", creating: true, from: "HEAD~1")
        #expect(try working("a") == ["one": "one"])
        #expect(throws: VaultError.coded(.revisionNotFound)) { try vault.createBranch("x", at: "nothing") }
    }

    @Test func `keep their baselines apart`() async throws {
        try await scene.clone("b")
        let theirs = try scene.open("b")
        _ = try theirs.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "b")
        _ = try await theirs.push(to: scene.remote())
        // The remote forgets what was pushed to "current": seen from either branch that is a rewind.
        try commit("two", in: "a")
        _ = try await scene.open("a").push(to: scene.remote())
        _ = try theirs.switchBranch(to: "current")
        let ref = Array(theirs.ids.headRef.text.utf8)
        let folder = try memory.openDirectory("/remote/bare/refs")
        let before = try folder.openFile(ref).readToEnd(limit: 4096)
        _ = try await theirs.pull(from: scene.remote())
        try commit("three", in: "a")
        _ = try await scene.open("a").push(to: scene.remote())
        _ = try await theirs.pull(from: scene.remote())
        try folder.removeFile(ref)
        try folder.createFile(ref, mode: 0o644).write(before.span)
        await #expect(throws: VaultError.coded(.refRewound)) { try await theirs.pull(from: scene.remote()) }
        _ = try theirs.switchBranch(to: "drafts")
        #expect(try await theirs.pull(from: scene.remote()).outcome == .upToDate)
    }

    @Test func `a switch that was interrupted is finished or never began`() throws {
        let vault = try scene.open("a")
        _ = try vault.switchBranch(to: "drafts", creating: true)
        try commit("draft", in: "a")
        _ = try vault.switchBranch(to: "current")
        let head = try vault.status().head
        for point in [FailPoint.checkoutBeforeFirst, .checkoutBeforeHead] {
            let known = scene.environment
            let stopping = VaultEnvironment(
                fileSystem: known.fileSystem, clock: known.clock, random: known.random,
                failPoints: FailPoints { (found: FailPoint) throws(Errno) in if found == point { throw .ioError } },
                pool: known.pool)
            let other = VaultScene(keys: scene.keys, environment: stopping, base: scene.base)
            #expect(throws: VaultError.self) { try other.open("a").switchBranch(to: "drafts") }
            // The next command finds the working copy and the branch in agreement.
            _ = try scene.open("a").commit()
            let status = try scene.open("a").status()
            #expect(status.isClean)
            #expect(try working("a").keys.contains("draft") == (status.branch == "drafts"))
            _ = try scene.open("a").switchBranch(to: "current")
            #expect(try scene.open("a").status().head == head)
        }
    }
}
