import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What a move of the working copy that does not succeed leaves of other people's work.
@Suite("A move of the working copy that fails")
final class MoveSafetyTests {
    private let setting: TwoClones
    private let first: Vault
    private let names = (0..<20).map { "f\($0)" }

    init() async throws {
        setting = try TwoClones()
        first = try setting.create("a")
        for name in names { try setting.write("old \(name)", to: name, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        _ = try await setting.clone("b")
        for name in names { try setting.write("new \(name)", to: name, in: "a") }
        try setting.write("added", to: "added", in: "a")
        try setting.write("deep", to: "new folder/x", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
    }

    private func shell(_ command: String) throws {
        try Shell.run("cd '\(setting.folder.path.text)/b' && \(command)")
    }

    @Test func `two names of one file are both replaced`() async throws {
        try shell("mkdir ../kept && for f in f*; do ln $f ../kept/$f; done")
        let second = try setting.open("b")
        #expect(try await second.pull(from: try setting.remote()).outcome == .fastForward)
        #expect(try second.status().isClean)
    }

    @Test func `equal files that are one inode are replaced and removed`() async throws {
        for name in ["same1", "same2", "same3"] { try setting.write("same", to: name, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let second = try setting.open("b")
        _ = try await second.pull(from: try setting.remote())
        try shell("ln -f same1 same2 && ln -f same1 same3")
        #expect(try second.status().isClean)
        for name in ["same1", "same2"] { try setting.write("other", to: name, in: "a") }
        try setting.remove("same3", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        #expect(try await second.pull(from: try setting.remote()).outcome == .fastForward)
        #expect(setting.read("same1", in: "b") == "other")
        #expect(setting.read("same2", in: "b") == "other")
        #expect(setting.read("same3", in: "b") == nil)
    }

    @Test(arguments: [Errno.busy, .notPermitted, .permissionDenied, .invalidArgument])
    func `an error that stays blocks neither commits nor the next pull`(error: Errno) async throws {
        let files = FaultFileSystem(InMemoryFileSystem())
        let scene = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 5)
        let first = try scene.create("a")
        for name in ["f", "g", "h"] { try scene.put("old", at: name, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
        try await scene.clone("b")
        for name in ["f", "g"] { try scene.put("new", at: name, in: "a") }
        try scene.remove("h", in: "a")
        try scene.put("deep", at: "sub/x", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
        let second = try scene.open("b")
        var failures = 0
        for call in 1... {
            files.set(FaultFileSystem.Fault(atCall: call, error: error, kinds: FileSystemCall.changes))
            var pulled: PullResult?
            do { pulled = try await second.pull(from: scene.remote()) } catch is VaultError { failures += 1 }
            let hasFired = files.hasFired
            files.set(nil)
            if pulled != nil || !hasFired { break }
            try scene.put("mine \(call)", at: "mine", in: "b")
            let changes = try second.commit().changes
            #expect(changes.modified.isEmpty || changes.modified.map(\.description) == ["mine"])
            #expect(changes.deleted.isEmpty)
        }
        #expect(failures > 0)
        _ = try await second.pull(from: scene.remote())
        let found = try scene.workingFiles("b").mapValues { String(decoding: $0, as: UTF8.self) }
        #expect(found["f"] == "new" && found["g"] == "new" && found["h"] == nil)
    }

    @Test func `what a person had before is not undone with a stopped pull`() async throws {
        try setting.write("added", to: "added", in: "b")
        try setting.write("new f7", to: "f7", in: "b")
        let vault = try setting.open("b", at: .checkoutBeforeFile) { number in if number == 10 { throw Errno.ioError } }
        await #expect(throws: VaultError.coded(.ioError)) { try await vault.pull(from: try setting.remote()) }
        let touched = names.first { setting.read($0, in: "b")?.hasPrefix("new") == true && $0 != "f7" } ?? "f0"
        try setting.write("my edit", to: touched, in: "b")
        let again = try setting.open("b")
        _ = try again.commit()
        #expect(setting.read("added", in: "b") == "added")
        #expect(setting.read("f7", in: "b") == "new f7")
        #expect(setting.read(touched, in: "b") == "my edit")
    }

    @Test func `a file emptied while a pull writes stays empty`() async throws {
        let setting = setting
        let vault = try setting.open("b", at: .checkoutBeforeFile) { number in
            if number == 3 { try setting.write("", to: "f9", in: "b") }
        }
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await vault.pull(from: try setting.remote()) }
        #expect(setting.read("f9", in: "b") == "")
        #expect(try vault.status().changes == Changes(modified: [try VaultPath("f9")]))
    }

    @Test func `a head moved by another program meanwhile gives the files back`() async throws {
        let plain = try setting.open("b")
        let state = try plain.loadState()
        let head = try #require(state.head)
        let parent = try #require(try CommitGraph(store: plain.store, cipher: plain.cipher).parents(head).first)
        let bytes = try plain.refs.encode(parent, random: SecureRandom())
        let refs = plain.layout.refs
        let name = Array(state.headRef.text.utf8)
        let vault = try setting.open("b", at: .checkoutBeforeHead) { _ in
            try refs.removeFile(name)
            try refs.createFile(name, mode: 0o644).write(bytes.span)
        }
        await #expect(throws: VaultError.coded(.remoteMoved)) { try await vault.pull(from: try setting.remote()) }
        for name in names { #expect(setting.read(name, in: "b") == "old \(name)") }
        #expect(setting.read("added", in: "b") == nil)
    }

    @Test func `a stopped pull of a read-only clone is undone by the next one`() async throws {
        _ = try await setting.clone("r", CloneOptions(readOnly: true))
        for name in names { try setting.write("third \(name)", to: name, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let vault = try setting.open("r", at: .checkoutBeforeFile) { number in if number == 10 { throw Errno.ioError } }
        await #expect(throws: VaultError.coded(.ioError)) { try await vault.pull(from: try setting.remote()) }
        // The next state of the remote has the files as this clone had them.
        for name in names { try setting.write("new \(name)", to: name, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let again = try setting.open("r")
        _ = try await again.pull(from: try setting.remote())
        #expect(try again.status().isClean)
        for name in names { #expect(setting.read(name, in: "r") == "new \(name)") }
    }

    @Test func `a clone into a folder that was there removes only what it made`() async throws {
        try Shell.run("cd '\(setting.folder.path.text)' && mkdir target && ln -s target link")
        let setting = setting
        let points = FailPoints { (point: FailPoint) throws(Errno) in
            guard point == .checkoutBeforeFile else { return }
            do { try setting.write("somebody's", to: "f3", in: "target") } catch { throw .ioError }
        }
        let environment = VaultEnvironment(
            fileSystem: LinuxFileSystem(), clock: SystemClock(), random: SecureRandom(), failPoints: points,
            pool: WorkerPool(threads: 1))
        await #expect(throws: VaultError.self) {
            _ = try await Vault.clone(
                from: try setting.remote(), key: try setting.cloneKey(CloneOptions()),
                to: setting.folder.appending("link"), options: CloneOptions(), environment: environment,
                observer: SilentObserver())
        }
        let left = try setting.environment.fileSystem.openDirectory(setting.folder.appending("target")).entries()
        #expect(left.map { String(decoding: $0.name, as: UTF8.self) } == ["f3"])
        #expect(setting.read("f3", in: "target") == "somebody's")
    }
}
