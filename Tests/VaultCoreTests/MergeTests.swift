import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Merges that stop, and what becomes of them (spec 05 §8).
@Suite("A merge with conflicts")
struct MergeTests {
    let memory = InMemoryFileSystem()
    let scene: VaultScene

    init() throws { scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 9) }

    /// Clones "a" and "b" of one vault whose files are `base`; then "a" publishes `theirs`, and "b" commits `ours`.
    ///
    /// * `ours`, `theirs`: Path → content, nil for a file that is removed.
    func diverge(
        base: [String: String], ours: [String: String?], theirs: [String: String?]
    ) async throws {
        let first = try scene.create("a")
        for (path, content) in base { try scene.put(content, at: path, in: "a") }
        _ = try first.commit(CommitOptions(allowEmpty: true))
        _ = try await first.push(to: scene.remote())
        try await scene.clone("b")
        try change("a", theirs)
        _ = try first.commit(CommitOptions(allowEmpty: true))
        _ = try await first.push(to: scene.remote())
        try change("b", ours)
        _ = try scene.open("b").commit(CommitOptions(allowEmpty: true))
    }

    func change(_ name: String, _ edits: [String: String?]) throws {
        for (path, content) in edits where content == nil { try scene.remove(path, in: name) }
        for (path, content) in edits { if let content { try scene.put(content, at: path, in: name) } }
    }

    func pull(_ options: PullOptions = PullOptions()) async throws -> PullResult {
        try await scene.open("b").pull(from: scene.remote(), options)
    }

    func working(_ name: String = "b") throws -> [String: String] {
        try scene.workingFiles(name).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    func paths(_ names: String...) throws -> [VaultPath] { try names.map { try VaultPath($0) } }

    // MARK: What it leaves

    @Test func `keeps ours, lays theirs beside it and merges the rest`() async throws {
        try await diverge(
            base: ["both": "base", "theirs": "base"], ours: ["both": "ours", "mine": "m"],
            theirs: ["both": "theirs", "theirs": "changed", "new": "n"])
        let head = try scene.open("b").status().head
        let result = try await pull()
        #expect(result.outcome == .conflicts)
        #expect(result.conflicts == (try paths("both")))
        #expect(
            try working()
                == ["both": "ours", "both.conflict": "theirs", "theirs": "changed", "new": "n", "mine": "m"])
        let status = try scene.open("b").status()
        #expect(status.head == head && status.mergeInProgress)
        #expect(status.conflicts == (try paths("both")))
        #expect(status.changes.added == (try paths("new")))
        #expect(status.changes.modified == (try paths("theirs")))
    }

    @Test func `holds everything else up`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        #expect(throws: VaultError.coded(.conflicts)) { try vault.commit() }
        #expect(throws: VaultError.coded(.mergeInProgress)) {
            try vault.write(WriteRequest(files: [(try VaultPath("x"), .bytes([1]))]))
        }
        await #expect(throws: VaultError.coded(.mergeInProgress)) { try await vault.pull(from: scene.remote()) }
        await #expect(throws: VaultError.coded(.mergeInProgress)) { try await vault.push(to: scene.remote()) }
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.merge("HEAD~1") }
    }

    @Test func `ends in a commit of both sides`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        let ours = try #require(vault.status().head)
        let theirs = try #require(scene.open("a").status().head)
        try scene.put("both", at: "p", in: "b")
        _ = try vault.resolve(.workingFile, paths: paths("p"))
        #expect(try working() == ["p": "both"])
        let commit = try #require(try vault.commit().commit)
        #expect(commit.parents == [ours, theirs])
        #expect(commit.message == "Merge current into local")
        #expect(try !vault.isMerging() && vault.status().isClean)
        _ = try await vault.push(to: scene.remote())
        _ = try await scene.open("a").pull(from: scene.remote())
        #expect(try working("a") == ["p": "both"])
        for name in ["a", "b"] {
            let report = try await scene.open(name).fsck()
            #expect(report.isClean)
        }
    }

    @Test func `a merge whose outcome is ours is a commit as well`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.ours)
        #expect(try vault.commit().commit?.parents.count == 2)
    }

    // MARK: Both sides of every kind

    private static let kinds:
        [(kind: Conflict.Kind, base: [String: String], ours: [String: String?], theirs: [String: String?])] = [
            (.bothModified, ["p": "base"], ["p": "ours"], ["p": "theirs"]),
            (.bothAdded, [:], ["p": "ours"], ["p": "theirs"]),
            (.deletedByUs, ["p": "base"], ["p": nil], ["p": "theirs"]),
            (.deletedByThem, ["p": "base"], ["p": "ours"], ["p": nil]),
            (.fileAndFolder, [:], ["p": "ours"], ["p/x": "theirs", "p/d/y": "theirs"]),
            (.fileAndFolder, [:], ["p/x": "ours", "p/d/y": "ours"], ["p": "theirs"]),
            (.fileAndFolder, ["p": "base"], ["p": "ours"], ["p": nil, "p/x": "theirs"]),
        ]

    private func expected(_ base: [String: String], _ edits: [String: String?]) -> [String: String] {
        var files = base
        for (path, content) in edits { files[path] = content }
        return files
    }

    @Test(arguments: 0..<7, [true, false])
    func `can be decided for either side`(_ index: Int, _ takesOurs: Bool) async throws {
        let (kind, base, ours, theirs) = Self.kinds[index]
        try await diverge(base: base, ours: ours, theirs: theirs)
        let result = try await pull()
        #expect(result.outcome == .conflicts)
        let vault = try scene.open("b")
        #expect(try vault.conflicts().map(\.path) == (try paths("p")))
        #expect(try vault.conflicts().map(\.kind) == [kind])
        let decided = try vault.resolve(takesOurs ? .ours : .theirs)
        #expect(decided.map(\.isResolved) == [true])
        let wanted = takesOurs ? expected(base, ours) : expected(base, theirs)
        #expect(try working() == wanted)
        _ = try vault.commit()
        #expect(try scene.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) } == wanted)
    }

    @Test(arguments: 0..<7)
    func `can be ended, and everything is as before`(_ index: Int) async throws {
        let (_, base, ours, theirs) = Self.kinds[index]
        var more = theirs
        more["another"] = "their file"
        try await diverge(base: base, ours: ours, theirs: more)
        try scene.put("mine", at: "loose", in: "b")
        let before = try working()
        let head = try scene.open("b").status().head
        _ = try await pull()
        try scene.put("later", at: "later", in: "b")
        let vault = try scene.open("b")
        try vault.abortMerge()
        var wanted = before
        wanted["later"] = "later"
        #expect(try working() == wanted)
        let status = try vault.status()
        #expect(status.head == head && !status.mergeInProgress)
        #expect(status.changes == Changes(added: try paths("later", "loose")))
        // The same merge may be begun again.
        #expect(try await pull().outcome == .conflicts)
    }

    @Test func `an end keeps what was there before, and half a decision goes back`() async throws {
        try await diverge(
            base: ["p": "base", "q": "base"], ours: ["p": "ours", "q": "ours"],
            theirs: ["p": "theirs", "q": "theirs", "same": "same", "gone/x": "x"])
        // The user holds by chance what theirs adds.
        try scene.put("same", at: "same", in: "b")
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.theirs, paths: paths("p"))
        try vault.abortMerge()
        #expect(try working() == ["p": "ours", "q": "ours", "same": "same"])
    }

    @Test func `an end keeps what was written by hand as a stash, and nothing that a commit has`() async throws {
        try await diverge(
            base: ["p": "base", "q": "base", "r": "base", "s": "base"],
            ours: ["p": "ours", "q": "ours", "r": "ours", "s": nil],
            theirs: ["p": "theirs", "q": "theirs", "r": "theirs", "s": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.content(Array("decided".utf8)), paths: paths("p"))
        try scene.put("half edited", at: "q", in: "b")
        _ = try vault.resolve(.theirs, paths: paths("r"))
        try scene.put("a note", at: "s.conflict", in: "b")
        let ended = try vault.abortMerge()
        let stash = try #require(ended.stash)
        #expect(stash.changes == Changes(added: try paths("s.conflict"), modified: try paths("p", "q")))
        #expect(try working() == ["p": "ours", "q": "ours", "r": "ours"])
        #expect(try vault.stashes().count == 1)
        _ = try vault.applyStash(drop: true)
        #expect(try working() == ["p": "decided", "q": "half edited", "r": "ours", "s.conflict": "a note"])
        _ = try vault.stash()
        _ = try vault.dropStash()
        // Without handiwork there is nothing to keep.
        _ = try await pull()
        #expect(try vault.abortMerge().stash == nil)
        #expect(try vault.stashes().isEmpty)
    }

    @Test func `untracked files where theirs would be laid stop it before it begins`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        try scene.put("my notes", at: "p.conflict", in: "b")
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await pull() }
        #expect(try working() == ["p": "ours", "p.conflict": "my notes"])
        #expect(try !scene.open("b").isMerging())
    }

    @Test func `uncommitted work in what conflicts stops it before it begins`() async throws {
        try await diverge(
            base: ["p": "base", "q": "base"], ours: ["p": "ours", "q": nil], theirs: ["p": "theirs", "q": "theirs"])
        try scene.put("not committed", at: "p", in: "b")
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await pull() }
        try scene.put("ours", at: "p", in: "b")
        try scene.put("not committed", at: "q", in: "b")
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await pull() }
        #expect(try working() == ["p": "ours", "q": "not committed"])
        #expect(try !scene.open("b").isMerging())
    }

    @Test func `a tracked file of that name stays what it is`() async throws {
        try await diverge(
            base: ["p": "base", "p.conflict": "tracked"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        #expect(try working() == ["p": "ours", "p.conflict": "tracked"])
        let vault = try scene.open("b")
        var shown: [UInt8] = []
        try vault.conflictContent(VaultPath("p"), side: .theirs) { part in
            for index in part.indices { shown.append(part[index]) }
        }
        #expect(String(decoding: shown, as: UTF8.self) == "theirs")
        try vault.abortMerge()
        #expect(try working() == ["p": "ours", "p.conflict": "tracked"])
    }

    // MARK: What a scan does not see

    @Test func `theirs stays in the commit where ours ignores it`() async throws {
        try await diverge(
            base: ["a": "base", "old.log": "base"], ours: ["a": "ours", ".gitignore": "*.log\n"],
            theirs: ["a": "theirs", "run.log": "log", "old.log": "changed", ".env": "secret", "node_modules/x": "x"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.ours)
        let made = try #require(try vault.commit().commit)
        let files = try scene.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) }
        let theirs = try scene.committedFiles(try scene.open("a"))
        for path in ["run.log", "old.log"] {
            #expect(files[path] == theirs[path].map { String(decoding: $0, as: UTF8.self) }, "\(path)")
        }
        #expect(files["a"] == "ours" && files["a.conflict"] == nil)
        #expect(made.parents.count == 2)
        _ = try await vault.push(to: scene.remote())
        _ = try await scene.open("a").pull(from: scene.remote())
        #expect(try working("a")["run.log"] == "log")
    }

    @Test func `a choice of theirs stands where ours ignores the path`() async throws {
        try await diverge(
            base: ["run.log": "base"], ours: ["run.log": nil, ".gitignore": "*.log\n"], theirs: ["run.log": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.theirs)
        _ = try vault.commit()
        #expect(try scene.committedFiles(vault)["run.log"] == Array("theirs".utf8))
    }

    @Test func `an ignored file of one's own at a conflicting path stops it before it begins`() async throws {
        try await diverge(
            base: ["run.log": "base"], ours: ["run.log": nil, ".gitignore": "*.log\n"], theirs: ["run.log": "theirs"])
        try scene.put("my own", at: "run.log", in: "b")
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await pull() }
        #expect(try working()["run.log"] == "my own")
    }

    @Test func `a tracked file that is named like a copy survives a decision`() async throws {
        try await diverge(
            base: ["p": "base", "p.conflict": "tracked"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.theirs)
        #expect(try working() == ["p": "theirs", "p.conflict": "tracked"])
    }

    @Test func `an end keeps edits of what merged without a conflict, by refusing`() async throws {
        try await diverge(
            base: ["p": "base", "b": "base"], ours: ["p": "ours"], theirs: ["p": "theirs", "b": "theirs", "n": "n"])
        _ = try await pull()
        try scene.put("edited further", at: "b", in: "b")
        let vault = try scene.open("b")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.abortMerge() }
        #expect(try working()["b"] == "edited further")
        #expect(try vault.isMerging())
        try scene.put("theirs", at: "b", in: "b")
        try vault.abortMerge()
        #expect(try working() == ["p": "ours", "b": "base"])
    }

    @Test func `an end that was interrupted can only go on`() async throws {
        try await diverge(
            base: ["p": "base", "b": "base"], ours: ["p": "ours"], theirs: ["p": "theirs", "b": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.ours)
        let known = scene.environment
        let stopping = VaultEnvironment(
            fileSystem: known.fileSystem, clock: known.clock, random: known.random,
            failPoints: FailPoints { (_: FailPoint) throws(Errno) in throw .ioError }, pool: known.pool)
        let other = VaultScene(keys: scene.keys, environment: stopping, base: scene.base)
        #expect(throws: (any Error).self) { try other.open("b").abortMerge() }
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.commit() }
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.resolve(.ours, paths: paths("p")) }
        try vault.abortMerge()
        #expect(try working() == ["p": "ours", "b": "base"])
        #expect(try !vault.isMerging())
    }

    // MARK: Interrupted

    @Test func `a commit that died before it ended the merge has ended it`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.ours)
        let folder = try memory.openDirectory("/b/.sg_vault/local")
        let record = try folder.openFile(Array("merge_state.json".utf8)).readToEnd(limit: 65_536)
        _ = try vault.commit()
        try folder.createFile(Array("merge_state.json".utf8), mode: 0o644).write(record.span)
        #expect(try !vault.isMerging())
        #expect(try await pull().outcome == .upToDate)
        #expect(throws: Errno.noSuchFile) { try folder.openFile(Array("merge_state.json".utf8)) }
    }

    @Test func `ends only from where it began`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let vault = try scene.open("b")
        let lock = try vault.lock()
        let state = try vault.loadState()
        let head = try #require(state.head)
        let earlier = try #require(CommitGraph(store: vault.store, cipher: vault.cipher).parents(head).first)
        try vault.storeRef(state.headRef, old: state.head, new: earlier, scratch: lock.scratch)
        _ = consume lock
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.abortMerge() }
        _ = try vault.resolve(.ours)
        #expect(throws: VaultError.coded(.mergeInProgress)) { try vault.commit() }
    }

    @Test func `without a merge there is nothing to decide or end`() async throws {
        try await diverge(base: [:], ours: ["a": "a"], theirs: [:])
        let vault = try scene.open("b")
        #expect(try vault.conflicts().isEmpty)
        #expect(throws: VaultError.coded(.refused)) { try vault.abortMerge() }
        #expect(throws: VaultError.coded(.refused)) { try vault.resolve(.ours) }
    }
}
