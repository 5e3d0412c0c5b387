import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Edits on their way into a stash, when the command that puts them aside dies (docs/durability.md).
@Suite("A stash that is interrupted")
struct InterruptedStashTests {
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene
    private let clean: [String: String]
    private let edited: [String: String]

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 51)
        let vault = try scene.create("a")
        for path in ["f", "g", "d/h", "same"] { try scene.put("old \(path)", at: path, in: "a") }
        _ = try vault.commit()
        clean = try Self.working(scene)
        for path in ["f", "g", "fresh"] { try scene.put("edited \(path)", at: path, in: "a") }
        try scene.remove("d/h", in: "a")
        edited = try Self.working(scene)
    }

    private static func working(_ scene: VaultScene) throws -> [String: String] {
        try scene.workingFiles("a").mapValues { String(decoding: $0, as: UTF8.self) }
    }

    /// What goes wrong, if anything, before the n-th file is written.
    private func failing(_ error: @escaping @Sendable (_ number: Int) -> Errno?) -> FailPoints {
        let seen = Locked(0)
        return FailPoints { (hit: FailPoint) throws(Errno) in
            guard hit == .checkoutBeforeFile else { return }
            let number = seen.withLock { count in
                count += 1
                return count
            }
            if let error = error(number) { throw error }
        }
    }

    /// The clone as a program sees it that dies before the n-th file is written.
    private func dying(atFile number: Int) throws -> Vault {
        let points = failing { $0 >= number ? .ioError : nil }
        return try VaultScene(keys: scene.keys, on: memory, seed: 52, failPoints: points).open("a")
    }

    @Test func `has happened or not when the machine goes down, and the next command needs no help`() throws {
        try CrashLook(memory).run {
            _ = try $0.stash()
        } afterwards: { vault, scene, what in
            // Any writing command settles what was interrupted.
            _ = try vault.reset()
            let stashes = try vault.stashes()
            #expect(stashes.count <= 1, "\(what)")
            #expect(try Self.working(scene) == (stashes.isEmpty ? edited : clean), "\(what)")
            #expect(try vault.status().interrupted == nil, "\(what)")
            // What was never finished is no stash that has lost its list.
            #expect(try vault.checkOwnFiles().broken.isEmpty, "\(what)")
            if !stashes.isEmpty { #expect(try vault.applyStash(0, drop: true).isDropped, "\(what)") }
            #expect(try Self.working(scene) == edited, "\(what)")
        }
    }

    @Test func `is dropped or not when the machine goes down, and nothing of it counts as damaged`() throws {
        _ = try scene.open("a").stash()
        try CrashLook(memory).run {
            try $0.dropStash(0)
        } afterwards: { vault, _, what in
            let damaged = try vault.stashes().filter { $0.damage != nil }
            let broken = try vault.checkOwnFiles().broken
            #expect(damaged.isEmpty && broken.isEmpty, "\(what)")
        }
    }

    @Test func `and one whose list is lost is damage that nothing removes, until a repair moves it away`() async throws
    {
        let vault = try scene.open("a")
        _ = try vault.stash()
        let shelf = try memory.openDirectory("/a/.sg_vault/local/vaultctl/stash")
        let name = try #require(try shelf.entries().first?.name)
        let folder = try shelf.openDirectory(name)
        try folder.removeFile(Array("manifest".utf8))
        let objects = try folder.entries().map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
        #expect(objects.count == 3)
        let id = "local/vaultctl/stash/" + String(decoding: name, as: UTF8.self)
        #expect(try await vault.fsck().broken.map(\.id) == [id])
        try scene.put("another", at: "f", in: "a")
        _ = try vault.stash()
        #expect(try await vault.fsck().broken.map(\.id) == [id])
        let report = try await vault.fsck(FsckOptions(repair: true))
        #expect(report.isClean && report.repaired == [id])
        let kept = try vault.layout.ownSubfolder("quarantine").openDirectory(name).entries().map(\.name)
        #expect(kept.sorted { $0.lexicographicallyPrecedes($1) } == objects)
        #expect(try vault.stashes().count == 1)
        #expect(try vault.applyStash(0, drop: true).isDropped)
    }

    @Test func `is one stash when the same is typed again`() throws {
        try CrashLook(memory).run {
            _ = try $0.stash(message: "mine")
        } afterwards: { vault, scene, what in
            let first = try vault.stash(message: "mine")
            // Nothing is left to put aside where the first had come to its end.
            if let first { #expect(first.number == 0 && first.message == "mine", "\(what)") }
            #expect(try vault.stashes().count == 1, "\(what)")
            #expect(try Self.working(scene) == clean, "\(what)")
            #expect(try vault.applyStash(0, drop: true).isDropped, "\(what)")
            #expect(try Self.working(scene) == edited, "\(what)")
        }
    }

    @Test func `is told by status, finished by the next writing command, and that is told`() throws {
        #expect(throws: VaultError.coded(.ioError)) { try dying(atFile: 2).stash() }
        #expect(try scene.open("a").status().interrupted == "stash")
        let told = Locked<[String]>([])
        let listening = VaultScene(
            keys: scene.keys, environment: scene.environment.telling { text in told.withLock { $0.append(text) } },
            base: scene.base)
        let again = try #require(try listening.open("a").stash())
        #expect(again.number == 0 && again.changes.count == 4)
        #expect(told.withLock { $0 } == ["an interrupted stash was finished; the edits are in the stash it made"])
        #expect(try Self.working(scene) == clean)
        let vault = try scene.open("a")
        #expect(try vault.status().interrupted == nil && vault.stashes().count == 1)
        #expect(try vault.stash() == nil)
    }

    @Test func `leaves what was written since as it is`() throws {
        #expect(throws: VaultError.coded(.ioError)) { try dying(atFile: 2).stash() }
        try scene.put("written since", at: "g", in: "a")
        try scene.put("made since", at: "fresh", in: "a")
        let vault = try scene.open("a")
        _ = try vault.reset()
        #expect(
            try Self.working(scene)
                == ["f": "old f", "g": "written since", "d/h": "old d/h", "same": "old same", "fresh": "made since"])
        #expect(try vault.status().interrupted == nil)
        try scene.put("old g", at: "g", in: "a")
        try scene.remove("fresh", in: "a")
        _ = try vault.applyStash(0, drop: true)
        #expect(try Self.working(scene) == edited)
    }

    @Test func `before a hard reset loses nothing and is finished by the same reset`() throws {
        #expect(throws: VaultError.coded(.ioError)) {
            try dying(atFile: 2).reset(to: "HEAD", ResetOptions(hard: true, stashesEdits: true))
        }
        #expect(try scene.open("a").status().interrupted == "reset")
        let vault = try scene.open("a")
        let move = try vault.reset(to: "HEAD", ResetOptions(hard: true, stashesEdits: true))
        #expect(move.old == move.new)
        #expect(try Self.working(scene) == clean.merging(["fresh": "edited fresh"]) { $1 })
        #expect(try vault.stashes().count == 1)
        _ = try vault.applyStash(0, drop: true)
        #expect(try Self.working(scene) == edited)
    }

    @Test(arguments: ["stash-1/../../../../f", "..", "elsewhere", ""])
    func `whose record names another folder stops what would change files, and is told`(name: String) throws {
        let own = try memory.openDirectory("/a/.sg_vault/local/vaultctl")
        let record = Array("{\"v\":1,\"verb\":\"stash\",\"stash\":\"\(name)\"}".utf8)
        try own.createFile(Array("stashing".utf8), mode: 0o600).write(record.span)
        #expect(throws: VaultError.coded(.refused)) { try scene.open("a").stash() }
        #expect(throws: VaultError.coded(.objectCorrupt)) { try scene.open("a").status() }
        #expect(try Self.working(scene) == edited)
        try own.removeFile(Array("stashing".utf8))
        _ = try #require(try scene.open("a").stash())
    }

    @Test func `that fails otherwise gives the edits back and leaves no trace`() throws {
        let points = failing { $0 == 2 ? .permissionDenied : nil }
        let failing = try VaultScene(keys: scene.keys, on: memory, seed: 53, failPoints: points).open("a")
        #expect(throws: VaultError.coded(.permissionDenied)) { try failing.stash() }
        #expect(try Self.working(scene) == edited)
        #expect(try scene.open("a").status().interrupted == nil)
        _ = try scene.open("a").reset()
        #expect(try Self.working(scene) == edited)
    }
}
