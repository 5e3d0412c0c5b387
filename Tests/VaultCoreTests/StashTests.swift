import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Work put aside and brought back (spec 03 §2, §13; 10 B.13).
@Suite("A stash")
struct StashTests {
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene
    private let vault: Vault
    private static let lines = (1...9).map { "line \($0)\n" }.joined()

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 13)
        vault = try scene.create("a")
        for (path, content) in [("f", "one"), ("d/g", "two"), ("t", Self.lines)] {
            try scene.put(content, at: path, in: "a")
        }
        _ = try vault.commit()
    }

    private func working() throws -> [String: String] {
        try scene.workingFiles("a").mapValues { String(decoding: $0, as: UTF8.self) }
    }

    private func paths(_ names: String...) throws -> [VaultPath] { try names.map { try VaultPath($0) } }

    private func edit() throws -> [String: String] {
        try scene.put("edited secret words", at: "f", in: "a")
        try scene.remove("d/g", in: "a")
        try scene.put("untracked secret words", at: "new/x", in: "a")
        return try working()
    }

    @Test func `takes everything out and brings it back`() throws {
        let clean = try working()
        let edited = try edit()
        let made = try #require(try vault.stash(message: "half"))
        #expect(
            made.changes == Changes(added: try paths("new/x"), modified: try paths("f"), deleted: try paths("d/g")))
        #expect(made.message == "half" && made.branch == "current" && made.isEncrypted)
        #expect(try working() == clean && vault.status().isClean)
        #expect(try vault.status().stashCount == 1)
        #expect(try vault.stashes() == [made])
        let applied = try vault.applyStash()
        #expect(!applied.isDropped && applied.merged.isEmpty)
        #expect(try working() == edited)
        // Again, as after a power cut: what is there already is nothing in the way.
        #expect(try vault.applyStash(0, drop: true).isDropped)
        #expect(try working() == edited && vault.stashes().isEmpty && vault.status().stashCount == 0)
        #expect(try scene.leftovers("a").isEmpty)
    }

    @Test func `is encrypted on disk, names included`() throws {
        _ = try edit()
        _ = try vault.stash(message: "secret words")
        var found: [String: [UInt8]] = [:]
        try VaultScene.collect(
            try memory.openDirectory("/a/.sg_vault/local/vaultctl/stash"), behind: "", skipping: [], into: &found)
        #expect(found.count == 3)  // two files and the manifest
        for (name, bytes) in found {
            #expect(!String(decoding: bytes, as: UTF8.self).contains("secret"), "\(name)")
            #expect(!String(decoding: bytes, as: UTF8.self).contains("new/x"), "\(name)")
        }
        var stored: [String: [UInt8]] = [:]
        try VaultScene.collect(try memory.openDirectory("/a/.sg_vault/bare/data"), behind: "", into: &stored)
        #expect(stored.keys.allSatisfy { name in !found.keys.contains { $0.hasSuffix(name) } })
    }

    @Test func `without work there is none`() throws {
        #expect(try vault.stash() == nil)
        #expect(throws: VaultError.coded(.revisionNotFound)) { try vault.applyStash() }
        #expect(throws: VaultError.coded(.revisionNotFound)) { try vault.dropStash(3) }
    }

    @Test func `several stand newest first, and one is dropped`() throws {
        for text in ["first", "second", "third"] {
            try scene.put(text, at: "f", in: "a")
            _ = try vault.stash(message: text)
        }
        #expect(try vault.stashes().map(\.message) == ["third", "second", "first"])
        #expect(try vault.dropStash(1).message == "second")
        #expect(try vault.stashes().map(\.message) == ["third", "first"])
        _ = try vault.applyStash(1, drop: true)
        #expect(try working()["f"] == "first")
    }

    @Test func `stays when uncommitted work is in the way`() throws {
        _ = try edit()
        _ = try vault.stash()
        try scene.put("other work", at: "f", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.applyStash(0, drop: true) }
        #expect(try working()["f"] == "other work" && working()["new/x"] == nil)
        #expect(try vault.stashes().count == 1)
    }

    @Test func `merges texts that commits changed since, and refuses what it can not merge`() throws {
        try scene.put(Self.lines.replacing("line 9", with: "LINE 9"), at: "t", in: "a")
        _ = try vault.stash()
        try scene.put(Self.lines.replacing("line 1\n", with: "LINE 1\n"), at: "t", in: "a")
        _ = try vault.commit()
        let applied = try vault.applyStash()
        #expect(applied.merged == (try paths("t")))
        #expect(
            try working()["t"]
                == Self.lines.replacing("line 1\n", with: "LINE 1\n").replacing("line 9", with: "LINE 9"))
        _ = try vault.restore(paths("t"), discards: true)
        try scene.put(Self.lines.replacing("line 9", with: "other"), at: "t", in: "a")
        _ = try vault.commit()
        let before = try working()
        #expect(throws: VaultError.coded(.conflicts)) { try vault.applyStash(0, drop: true) }
        #expect(try working() == before && vault.stashes().count == 1)
    }

    @Test(arguments: 1...60)
    func `loses nothing when a call fails`(_ call: Int) throws {
        let files = FaultFileSystem(memory)
        let faulty = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 14)
        let edited = try edit()
        let other = try faulty.open("a")
        files.set(FaultFileSystem.Fault(atCall: call, error: .ioError, kinds: FileSystemCall.changes))
        var failed = false
        do { _ = try other.stash() } catch is VaultError { failed = true }
        files.set(nil)
        let again = try scene.open("a")
        if failed, try again.stashes().isEmpty {
            #expect(try working() == edited)
        } else {
            #expect(try again.stashes().count == 1)
            _ = try again.applyStash(0, drop: true)
            #expect(try working() == edited)
        }
    }

    private func working(_ scene: VaultScene) throws -> [String: String] {
        try scene.workingFiles("a").mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `loses nothing when the machine goes down`() throws {
        let edited = try edit()
        try CrashLook(memory).run {
            _ = try $0.stash()
        } afterwards: { vault, scene, what in
            if try !vault.stashes().isEmpty { _ = try vault.applyStash(0, drop: true) }
            let found = try working(scene)
            #expect(found == edited, "\(what)")
        }
    }

    @Test func `comes back whole when the machine goes down`() throws {
        let edited = try edit()
        _ = try vault.stash()
        try CrashLook(memory).run {
            _ = try $0.applyStash(0, drop: true)
        } afterwards: { vault, scene, what in
            if try !vault.stashes().isEmpty { _ = try vault.applyStash(0, drop: true) }
            let found = try working(scene)
            #expect(found == edited, "\(what)")
        }
    }

    @Test func `is dropped only when what was there already is durable as well`() throws {
        let edited = try edit()
        _ = try vault.stash()
        try CrashLook(memory).run { vault in
            // What a command that was killed had brought back, and nobody synced.
            let root = vault.layout.root
            let bytes = Array("edited secret words".utf8)
            let temporary = Array("f.new".utf8)
            try root.createFile(temporary, mode: 0o644).write(bytes.span)
            try root.rename(temporary, to: root, as: Array("f".utf8), replacing: true)
            _ = try vault.applyStash(0, drop: true)
        } afterwards: { vault, scene, what in
            // As long as the stash is there nothing is lost.
            guard try vault.stashes().isEmpty else { return }
            let found = try working(scene)
            #expect(found == edited, "\(what)")
        }
    }

    // MARK: What is kept

    @Test func `is there on a file system whose folders tell names only, and is kept when another is made`() throws {
        let files = FaultFileSystem(memory)
        files.hideKinds()
        let blind = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 15)
        let vault = try blind.open("a")
        for text in ["first", "second"] {
            try scene.put(text, at: "f", in: "a")
            _ = try vault.stash(message: text)
        }
        #expect(try vault.stashes().map(\.message) == ["second", "first"])
        _ = try vault.applyStash(1, drop: true)
        #expect(try working()["f"] == "first" && vault.stashes().map(\.message) == ["second"])
    }

    @Test func `that could not be read again is not made`() throws {
        let edited = try edit()
        let message = String(repeating: "m", count: Limits.metadataPlaintext)
        #expect(throws: VaultError.coded(.refused)) { try vault.stash(message: message) }
        #expect(try working() == edited && vault.stashes().isEmpty)
        _ = try vault.stash()
        _ = try vault.applyStash(0, drop: true)
        #expect(try working() == edited)
    }

    @Test func `that is damaged keeps nobody from the others, and can be dropped`() throws {
        for text in ["first", "second", "third"] {
            try scene.put(text, at: "f", in: "a")
            _ = try vault.stash(message: text)
        }
        let shelf = try memory.openDirectory("/a/.sg_vault/local/vaultctl/stash")
        let names = try shelf.entries().map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
        let folder = try shelf.openDirectory(names[1])
        try folder.removeFile(Array("manifest".utf8))
        let garbage: [UInt8] = [1, 2, 3]
        try folder.createFile(Array("manifest".utf8), mode: 0o600).write(garbage.span)
        let zips = try memory.openDirectory("/a/.sg_vault/local").openDirectory(
            Array("stash".utf8), creatingWith: 0o755)
        try zips.createFile(Array("stash-1700000000000.zip".utf8), mode: 0o644).write(garbage.span)
        let stashes = try vault.stashes()
        #expect(stashes.map(\.message) == ["third", nil, "first", nil])
        #expect(stashes.map { $0.damage == nil } == [true, false, true, false])
        #expect(stashes[3].timeMs == 1_700_000_000_000)
        #expect(throws: VaultError.self) { try vault.applyStash(1) }
        // Another one is made without the damaged one being taken for unfinished.
        try scene.put("fourth", at: "f", in: "a")
        #expect(try vault.stash(message: "fourth")?.number == 0)
        #expect(try vault.stashes().count == 5)
        try vault.dropStash(4)
        try vault.dropStash(2)
        #expect(try vault.stashes().map(\.message) == ["fourth", "third", "first"])
        _ = try vault.applyStash(2, drop: true)
        #expect(try working()["f"] == "first")
    }

    /// Puts a stash of the reference beside others while a command runs.
    private struct Intruder: Observer {
        let act: @Sendable () -> Void
        let hasActed = Locked(false)

        func progress(_ progress: Progress) {
            let isFirst = hasActed.withLock { has in
                defer { has = true }
                return !has
            }
            if isFirst { act() }
        }

        func warning(_ text: String) {}
    }

    @Test func `is the one that is dropped after it was brought back, whatever came meanwhile`() throws {
        let edited = try edit()
        _ = try vault.stash()
        let memory = memory
        let archive = zip([("f", "newer work by sgit")])
        let intruder = Intruder {
            let folder = try? memory.openDirectory("/a/.sg_vault/local").openDirectory(
                Array("stash".utf8), creatingWith: 0o755)
            try? folder?.createFile(Array("stash-9999999999999.zip".utf8), mode: 0o644).write(archive.span)
        }
        #expect(try vault.applyStash(0, drop: true, observer: intruder).isDropped)
        #expect(intruder.hasActed.withLock { $0 })
        #expect(try working() == edited)
        #expect(try vault.stashes().map(\.timeMs) == [9_999_999_999_999])
    }

    @Test func `is not dropped when another one is expected`() throws {
        for text in ["first", "second"] {
            try scene.put(text, at: "f", in: "a")
            _ = try vault.stash(message: text)
        }
        let seen = try vault.stashes()
        try scene.put("third", at: "f", in: "a")
        _ = try vault.stash(message: "third")
        #expect(throws: VaultError.coded(.refused)) { try vault.dropStash(0, expected: seen[0]) }
        #expect(try vault.stashes().map(\.message) == ["third", "second", "first"])
        let now = try vault.stashes()
        #expect(try vault.dropStash(1, expected: now[1]).message == "second")
    }

    // MARK: The reference's

    /// A zip as Python's `zipfile` writes it, uncompressed members only.
    private func zip(_ files: [(String, String)]) -> [UInt8] {
        var body: [UInt8] = []
        var directory: [UInt8] = []
        func number(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> ($0 * 8) & 255) } }
        for (name, text) in files {
            let (name, data) = (Array(name.utf8), Array(text.utf8))
            let sizes = number(0, 4) + number(data.count, 4) + number(data.count, 4)
            let common = number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) + sizes
            directory += [0x50, 0x4B, 1, 2] + number(20, 2) + common + number(name.count, 2) + number(0, 12)
            directory += number(body.count, 4) + name
            body += [0x50, 0x4B, 3, 4] + common + number(name.count, 2) + number(0, 2) + name + data
        }
        return body + directory + [0x50, 0x4B, 5, 6] + number(0, 4) + number(files.count, 2) + number(files.count, 2)
            + number(directory.count, 4) + number(body.count, 4) + number(0, 2)
    }

    @Test func `of the reference is listed, applied and dropped, and never rewritten`() throws {
        let local = try memory.openDirectory("/a/.sg_vault/local")
        let folder = try local.openDirectory(Array("stash".utf8), creatingWith: 0o755)
        let archive = zip([("f", "by sgit"), ("new/x", "added")])
        let head = try #require(try vault.status().head)
        let meta = """
            {"base_commit": "\(head.text)", "created_at": 1700000000000, "files_added": ["new/x"],
             "files_modified": ["f"], "files_deleted": ["d/g"]}
            """
        try folder.createFile(Array("stash-1700000000000.zip".utf8), mode: 0o644).write(archive.span)
        let bytes = Array(meta.utf8)
        try folder.createFile(Array("stash-1700000000000.stash-meta.json".utf8), mode: 0o644).write(bytes.span)
        let listed = try #require(try vault.stashes().first)
        #expect(listed.timeMs == 1_700_000_000_000 && listed.base == head && !listed.isEncrypted)
        #expect(
            listed.changes == Changes(added: try paths("new/x"), modified: try paths("f"), deleted: try paths("d/g")))
        _ = try vault.applyStash()
        #expect(try working() == ["f": "by sgit", "new/x": "added", "t": Self.lines])
        let kept = try folder.openFile(Array("stash-1700000000000.zip".utf8)).readToEnd(limit: 1 << 20)
        #expect(kept == archive)
        #expect(try vault.applyStash(0, drop: true).isDropped)
        #expect(try folder.entries().isEmpty && vault.status().stashCount == 0)
    }

    @Test func `of the reference comes back whole when its list lacks a file`() throws {
        let folder = try memory.openDirectory("/a/.sg_vault/local").openDirectory(
            Array("stash".utf8), creatingWith: 0o755)
        let archive = zip([("f", "by sgit"), ("new/x", "added")])
        try folder.createFile(Array("stash-1700000000000.zip".utf8), mode: 0o644).write(archive.span)
        let head = try #require(try vault.status().head)
        let meta = Array("{\"base_commit\": \"\(head.text)\", \"files_modified\": [\"f\"]}".utf8)
        try folder.createFile(Array("stash-1700000000000.stash-meta.json".utf8), mode: 0o644).write(meta.span)
        #expect(try vault.applyStash(0, drop: true).isDropped)
        #expect(try working() == ["f": "by sgit", "new/x": "added", "d/g": "two", "t": Self.lines])
    }
}
