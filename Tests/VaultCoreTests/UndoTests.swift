import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Files given back, heads moved, commits taken back (spec 05 §10, 10 B.13).
@Suite("Undo")
struct UndoTests {
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene
    private let vault: Vault
    /// The heads after "one", "two" and "three".
    private let heads: [ObjectID]

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 11)
        vault = try scene.create("a")
        var heads: [ObjectID] = []
        for (path, content) in [("f", "one\n"), ("f", "two\n"), ("d/g", "three\n")] {
            try scene.put(content, at: path, in: "a")
            heads.append(try #require(try vault.commit(CommitOptions(message: content)).commit).id)
        }
        self.heads = heads
    }

    private func working() throws -> [String: String] {
        try scene.workingFiles("a").mapValues { String(decoding: $0, as: UTF8.self) }
    }

    private func paths(_ names: String...) throws -> [VaultPath] { try names.map { try VaultPath($0) } }

    // MARK: restore

    @Test func `restore brings deleted files back and keeps edited ones`() throws {
        try scene.remove("f", in: "a")
        try scene.put("mine", at: "d/g", in: "a")
        let result = try vault.restore(paths("f", "d", "none"))
        #expect(result.written == (try paths("f")))
        #expect(result.kept == (try paths("d/g")))
        #expect(result.missing == (try paths("none")))
        #expect(try working() == ["f": "two\n", "d/g": "mine"])
        #expect(try vault.restore(paths("d"), discards: true).written == (try paths("d/g")))
        #expect(try working() == ["f": "two\n", "d/g": "three\n"] && vault.status().isClean)
    }

    @Test func `restore takes files from a revision and leaves the head`() throws {
        #expect(try vault.restore(paths("f"), from: .revision("HEAD~2")).written == (try paths("f")))
        #expect(try working() == ["f": "one\n", "d/g": "three\n"])
        #expect(try vault.status().head == heads[2])
        #expect(try vault.status().changes == Changes(modified: paths("f")))
        // What the head has not got is nobody's to overwrite.
        try vault.reset(to: "HEAD~1", ResetOptions(hard: true, stashesEdits: true)).stash.map { _ in }
        try scene.put("untracked", at: "d/g", in: "a")
        #expect(try vault.restore(paths("d/g"), from: .revision(heads[2].text)).kept == (try paths("d/g")))
    }

    @Test func `restore never replaces a folder, and sides need a merge`() throws {
        try scene.remove("f", in: "a")
        try scene.put("x", at: "f/inside", in: "a")
        #expect(try vault.restore(paths("f"), discards: true).kept == (try paths("f")))
        #expect(throws: VaultError.coded(.refused)) { try vault.restore(paths("f"), from: .ours) }
        #expect(throws: VaultError.coded(.revisionNotFound)) { try vault.restore(paths("f"), from: .revision("nope")) }
    }

    @Test func `restore takes either side of a merge, and everything else waits for its end`() throws {
        _ = try vault.switchBranch(to: "side", creating: true)
        try scene.put("theirs", at: "f", in: "a")
        _ = try vault.commit()
        _ = try vault.switchBranch(to: "current")
        try scene.put("ours", at: "f", in: "a")
        _ = try vault.commit()
        #expect(try vault.merge("side").outcome == .conflicts)
        #expect(try vault.restore(paths("f"), from: .theirs).written == (try paths("f")))
        #expect(try working() == ["f": "theirs", "f.conflict": "theirs", "d/g": "three\n"])
        #expect(try vault.restore(paths("f"), from: .ours).kept == (try paths("f")))
        #expect(try vault.restore(paths("f"), from: .ours, discards: true).written == (try paths("f")))
        #expect(try vault.conflicts().map(\.isResolved) == [false])
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.reset() }
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.undo() }
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.revert("HEAD") }
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.stash() }
        try vault.abortMerge()
        #expect(try working() == ["f": "ours", "d/g": "three\n"])
    }

    // MARK: reset

    @Test func `a soft reset keeps every file`() throws {
        let move = try vault.reset(to: "HEAD~2")
        #expect(move.old == heads[2] && move.new == heads[0])
        #expect(try working() == ["f": "two\n", "d/g": "three\n"])
        #expect(try vault.status().changes == Changes(added: paths("d/g"), modified: paths("f")))
        #expect(try vault.status().overwrittenHead == nil)
    }

    @Test func `a hard reset takes tracked files along and never untracked ones`() throws {
        try scene.put("mine", at: "loose", in: "a")
        let move = try vault.reset(to: "HEAD~2", ResetOptions(hard: true))
        #expect(move.new == heads[0] && move.stash == nil)
        #expect(move.changes == Changes(modified: try paths("f"), deleted: try paths("d/g")))
        #expect(try working() == ["f": "one\n", "loose": "mine"])
        #expect(try vault.status().changes == Changes(added: paths("loose")))
        // Back again by id, over an untracked file where a tracked one is to be.
        try scene.put("other", at: "d/g", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) {
            try vault.reset(to: heads[2].text, ResetOptions(hard: true, stashesEdits: true))
        }
        #expect(try working() == ["f": "one\n", "loose": "mine", "d/g": "other"])
    }

    @Test func `a hard reset without the contents of its commit leaves the edits where they are`() throws {
        let graph = CommitGraph(store: vault.store, cipher: vault.cipher, boundaries: [])
        let trees = TreeReader(store: vault.store, cipher: vault.cipher)
        let old = try #require(try trees.entry(VaultPath("f"), in: graph.tree(of: heads[0]))?.file)
        try memory.openDirectory("/a/.sg_vault/bare/data").removeFile(Array(old.blobID.text.utf8))
        try scene.put("edited", at: "d/g", in: "a")
        #expect(throws: VaultError.coded(.objectMissing)) {
            try vault.reset(to: heads[0].text, ResetOptions(hard: true, stashesEdits: true))
        }
        #expect(try working() == ["f": "two\n", "d/g": "edited"])
        #expect(try vault.stashes().isEmpty && vault.status().head == heads[2])
    }

    @Test func `a hard reset that fails after the edits were stashed says where they are`() throws {
        try scene.put("edited", at: "d/g", in: "a")
        // A disk that fails when the files have the content of the commit and the head is to follow.
        let stopping = VaultScene(
            keys: try SceneKeys.shared(), on: memory, seed: 16,
            failPoints: FailPoints { (point: FailPoint) throws(Errno) in
                if point == .checkoutBeforeHead { throw .ioError }
            })
        let error = #expect(throws: VaultError.self) {
            try stopping.open("a").reset(to: heads[0].text, ResetOptions(hard: true, stashesEdits: true))
        }
        #expect(error?.message.hasPrefix("the edits were stashed, but ") == true)
        #expect(error?.hint == "vaultctl stash pop")
        #expect(try scene.open("a").stashes().map(\.changes.modified) == [paths("d/g")])
    }

    @Test func `a hard reset minds no untracked file that can not be read`() throws {
        let files = FaultFileSystem(memory)
        let other = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 17)
        let locked = Array("locked".utf8)
        try memory.openDirectory("/a").createFile(Array("loose".utf8), mode: 0o600).write(locked.span)
        files.close([Array("loose".utf8)])
        #expect(try other.open("a").reset(to: "HEAD~2", ResetOptions(hard: true)).new == heads[0])
        #expect(try working() == ["f": "one\n", "loose": "locked"])
    }

    @Test func `a hard reset forgets what a commit was to drop`() throws {
        _ = try vault.removeFiles(paths("f"), cached: true)
        #expect(try vault.status().changes == Changes(deleted: paths("f")))
        _ = try vault.reset(to: "HEAD", ResetOptions(hard: true))
        #expect(try vault.status().isClean)
        try scene.put("more", at: "x", in: "a")
        #expect(try vault.commit().changes == Changes(added: paths("x")))
    }

    @Test func `restore finds every file of a large folder`() throws {
        for number in 0..<100 { try scene.put("\(number)", at: "many/f\(number)", in: "a") }
        _ = try vault.commit()
        for number in 0..<100 { try scene.remove("many/f\(number)", in: "a") }
        let wanted = try (0..<100).map { try VaultPath("many/f\($0)") }
        #expect(try vault.restore(wanted + paths("many/none")).written == wanted.sorted())
        let found = try working()
        for number in 0..<100 { #expect(found["many/f\(number)"] == "\(number)") }
        for number in 0..<100 { try scene.put("edit \(number)", at: "many/f\(number)", in: "a") }
        #expect(try vault.restore(wanted).kept == wanted.sorted())
    }

    @Test func `a hard reset stashes the edits that it would lose, or refuses`() throws {
        try scene.put("edited", at: "f", in: "a")
        try scene.remove("d/g", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.reset(to: "HEAD", ResetOptions(hard: true)) }
        #expect(try working() == ["f": "edited"])
        let stash = try #require(try vault.reset(to: "HEAD~1", ResetOptions(hard: true, stashesEdits: true)).stash)
        #expect(stash.changes == Changes(modified: try paths("f"), deleted: try paths("d/g")))
        #expect(try working() == ["f": "two\n"])
        _ = try vault.undo()
        #expect(try vault.applyStash(0, drop: true).isDropped)
        #expect(try working() == ["f": "edited"])
        #expect(try vault.stashes().isEmpty)
    }

    @Test(arguments: [FailPoint.checkoutBeforeFirst, .checkoutBeforeFile, .checkoutBeforeHead])
    func `a hard reset that dies is finished or undone by the next command`(_ point: FailPoint) throws {
        let points = FailPoints { (hit: FailPoint) throws(Errno) in if hit == point { throw .ioError } }
        let other = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 12, failPoints: points)
        #expect(throws: VaultError.coded(.ioError)) {
            try other.open("a").reset(to: "HEAD~2", ResetOptions(hard: true))
        }
        _ = try scene.open("a").stashes()
        let again = try scene.open("a")
        _ = try again.reset(to: "HEAD")
        let head = try #require(try again.status().head)
        #expect(head == heads[0] || head == heads[2])
        #expect(try again.status().isClean)
        #expect(try working() == (head == heads[0] ? ["f": "one\n"] : ["f": "two\n", "d/g": "three\n"]))
    }

    @Test func `a hard reset loses nothing when the machine goes down`() throws {
        try scene.put("edited", at: "f", in: "a")
        try scene.remove("d/g", in: "a")
        try scene.put("mine", at: "loose", in: "a")
        try CrashLook(memory).run {
            _ = try $0.reset(to: "HEAD~2", ResetOptions(hard: true, stashesEdits: true))
        } afterwards: { vault, scene, what in
            // Any writing command settles what was interrupted.
            let settled = try vault.reset().new
            #expect(settled == heads[0] || settled == heads[2], "\(what)")
            if settled == heads[0] {
                #expect(try vault.status().changes == Changes(added: paths("loose")), "\(what)")
                _ = try vault.reset(to: heads[2].text, ResetOptions(hard: true))
            }
            if try !vault.stashes().isEmpty { _ = try vault.applyStash(0, drop: true) }
            let found = try scene.workingFiles("a").mapValues { String(decoding: $0, as: UTF8.self) }
            #expect(found == ["f": "edited", "loose": "mine"], "\(what)")
        }
    }

    @Test func `an undo and a revert are done or not done when the machine goes down`() throws {
        try scene.put("mine", at: "loose", in: "a")
        let old = ["f": "two\n", "d/g": "three\n", "loose": "mine"]
        let undone = ["f": "two\n", "loose": "mine"]
        let operations: [(Vault) throws -> Void] = [{ _ = try $0.undo() }, { _ = try $0.revert("HEAD") }]
        for operation in operations {
            try CrashLook(memory).run(operation) { vault, scene, what in
                let head = try vault.reset().new
                let found = try scene.workingFiles("a").mapValues { String(decoding: $0, as: UTF8.self) }
                #expect(found == (head == heads[2] ? old : undone), "\(what)")
                #expect(try vault.status().changes == Changes(added: paths("loose")), "\(what)")
            }
        }
    }

    // MARK: undo and reflog

    @Test func `undo steps back and forth`() throws {
        try scene.put("kept", at: "loose", in: "a")
        #expect(try vault.undo().new == heads[1])
        #expect(try working() == ["f": "two\n", "loose": "kept"])
        #expect(try vault.undo().new == heads[2])
        #expect(try working() == ["f": "two\n", "d/g": "three\n", "loose": "kept"])
        let moves = try vault.reflog()
        #expect(moves.prefix(3).map(\.new) == [heads[2], heads[1], heads[2]])
        #expect(moves.prefix(3).map(\.old) == [heads[1], heads[2], heads[1]])
        #expect(moves.prefix(3).map(\.number) == [0, 1, 2])
        #expect(moves.prefix(3).map(\.subject) == ["three", "two", "three"])
        #expect(try vault.reflog(limit: 1).count == 1)
        #expect(try vault.reset(to: "@{1}").new == heads[1])
    }

    @Test func `undo refuses what is in the way and what others have`() async throws {
        try scene.put("edited", at: "d/g", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.undo() }
        try scene.put("three\n", at: "d/g", in: "a")
        _ = try await vault.push(to: scene.remote())
        #expect(throws: VaultError.coded(.refused)) { try vault.undo() }
        #expect(try vault.undo(force: true).new == heads[1])
        // Forward again takes nothing back.
        #expect(try vault.undo().new == heads[2])
    }

    // MARK: revert

    @Test func `revert takes one commit back and keeps what came later`() throws {
        let result = try vault.revert("HEAD~1")
        let commit = try #require(result.commit)
        #expect(commit.parents == [heads[2]])
        #expect(commit.message == "Revert \"two\"\n\nThis reverts commit \(heads[1].text).")
        #expect(try working() == ["f": "one\n", "d/g": "three\n"])
        #expect(try vault.status().isClean)
        // Nothing of it is left now.
        #expect(try vault.revert(heads[1].text).commit == nil)
    }

    @Test func `revert refuses conflicts, merges and strangers`() async throws {
        let before = try working()
        #expect(throws: VaultError.coded(.conflicts)) { try vault.revert("HEAD~2") }
        #expect(try working() == before && vault.status().head == heads[2])
        _ = try vault.switchBranch(to: "side", creating: true, from: "HEAD~1")
        try scene.put("s", at: "side", in: "a")
        let side = try #require(try vault.commit().commit)
        _ = try vault.switchBranch(to: "current")
        #expect(throws: VaultError.coded(.refused)) { try vault.revert(side.id.text) }
        _ = try vault.merge("side", MergeOptions(fastForward: .never))
        #expect(throws: VaultError.coded(.refused)) { try vault.revert("HEAD") }
        try scene.put("edited", at: "d/g", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.revert(heads[2].text) }
        #expect(try scene.workingFiles("a")["d/g"] == Array("edited".utf8))
    }

    @Test func `the message of a revert fits the format`() throws {
        let long = String(repeating: "\u{1F600}", count: 185)
        let text = Vault.revertMessage(long, heads[0])
        #expect(text.utf8.count <= 740)
    }
}
