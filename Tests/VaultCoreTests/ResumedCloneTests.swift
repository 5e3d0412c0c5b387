import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Clones that were interrupted, and those that go on with them.
@Suite("A clone that goes on with an interrupted one")
struct ResumedCloneTests {
    /// Stops once so many objects have come.
    private final class StoppingObserver: Observer {
        private let left: Locked<Int>
        private let stop: Stop

        init(after objects: Int, _ stop: Stop) {
            left = Locked(objects)
            self.stop = stop
        }

        func warning(_ message: String) {}

        func progress(_ progress: Progress) {
            guard progress.phase == .download else { return }
            let isOver = left.withLock { left in
                left -= 1
                return left <= 0
            }
            if isOver { stop.isWished.withLock { $0 = true } }
        }
    }

    private final class Stop: Cancellation {
        let isWished = Locked(false)

        func check() throws(Interruption) {
            if isWished.withLock({ $0 }) { throw Interruption(signal: 2) }
        }
    }

    private let keys: SceneKeys

    init() throws { keys = try SceneKeys.shared() }

    /// A remote with one commit of 20 files in three folders.
    private func scene(on fileSystem: any FileSystem) async throws -> VaultScene {
        let scene = VaultScene(keys: keys, on: fileSystem, seed: 3)
        let first = try scene.create("a")
        for index in 0..<20 { try scene.put("one \(index)", at: "d\(index % 3)/f\(index)", in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
        return scene
    }

    private func clone(
        _ scene: VaultScene, from remote: any Remote, to name: String = "c", _ options: CloneOptions,
        stoppedAfter objects: Int = .max
    ) async throws -> CloneResult {
        let stop = Stop()
        let known = scene.environment
        let environment = VaultEnvironment(
            fileSystem: known.fileSystem, clock: known.clock, random: known.random, failPoints: known.failPoints,
            pool: WorkerPool(threads: 1, cancellation: stop))
        return try await Vault.clone(
            from: remote, key: keys.clone, to: scene.path(name), options: options, environment: environment,
            observer: StoppingObserver(after: objects, stop))
    }

    private func names(_ directory: any Directory) throws -> [String] {
        try directory.entries().map { String(decoding: $0.name, as: UTF8.self) }.sorted()
    }

    /// Every file below a folder.
    private func files(_ directory: any Directory) throws -> [String] {
        var found: [String: [UInt8]] = [:]
        try VaultScene.collect(directory, behind: "", skipping: [], into: &found)
        return found.keys.sorted()
    }

    @Test(arguments: [1, 5, 12, 20])
    func `fetches only what the interrupted one had not`(_ objects: Int) async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        let all = try await scene.remote().list(.objects)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: objects)
        }
        let counting = CountingRemote(scene.remote())
        let result = try await clone(scene, from: counting, CloneOptions(resumes: true))
        #expect(result.objects == all.count)
        #expect(result.resumed >= objects)
        let asked = counting.counted.asked.filter { if case .object = $0 { true } else { false } }
        #expect(asked.count == all.count - result.resumed)
        #expect(Set(asked).count == asked.count)
        #expect(try scene.workingFiles("c") == scene.workingFiles("a"))
        let report = try await scene.open("c").fsck()
        #expect(report.isClean)
        #expect(try names(memory.openDirectory("/")) == ["a", "c", "remote"])
    }

    @Test func `nothing but objects is kept, and no key`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 8)
        }
        let left = try #require(try names(memory.openDirectory("/")).first { $0.hasPrefix(".c.clone-") })
        let kept = try files(memory.openDirectory(FilePath("/\(left)")))
        #expect(kept.count { $0.hasPrefix("clone/.sg_vault_new/bare/data/obj-cas-imm-") } == kept.count - 2)
        #expect(Set(kept).isSuperset(of: ["lock", "clone/.sg_vault_new/local/vaultctl/lock"]))
    }

    @Test func `may be interrupted again and again`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        let counting = CountingRemote(scene.remote())
        var result: CloneResult?
        var rounds = 0
        while result == nil, rounds < 100 {
            rounds += 1
            do {
                result = try await clone(scene, from: counting, CloneOptions(resumes: true), stoppedAfter: 4)
            } catch is Interruption {}
        }
        #expect(rounds > 3)
        // At a stop what one answer of the remote brings may be lost.
        #expect(try scene.workingFiles("c") == scene.workingFiles("a"))
        #expect(try names(memory.openDirectory("/")) == ["a", "c", "remote"])
    }

    @Test func `takes nothing that another user left`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 12)
        }
        let left = try #require(try names(memory.openDirectory("/")).first { $0.hasPrefix(".c.clone-") })
        try memory.setOwner(12_345, of: FilePath("/\(left)"))
        let result = try await clone(scene, from: scene.remote(), CloneOptions(resumes: true))
        #expect(result.resumed == 0)
        // It is not removed either.
        #expect(try names(memory.openDirectory("/")) == [left, "a", "c", "remote"])
    }

    @Test func `stops at what another user left in the target itself`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        try memory.createDirectory("/c", mode: 0o777)
        try memory.createDirectory("/c/.sg_vault_new", mode: 0o777)
        try memory.setOwner(12_345, of: "/c/.sg_vault_new")
        await #expect(throws: VaultError.coded(.permissionDenied)) {
            try await clone(scene, from: scene.remote(), CloneOptions(resumes: true))
        }
        #expect(try names(memory.openDirectory("/c")) == [".sg_vault_new"])
    }

    @Test func `fetches again what was damaged`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 12)
        }
        let left = try #require(try names(memory.openDirectory("/")).first { $0.hasPrefix(".c.clone-") })
        let data = try memory.openDirectory(FilePath("/\(left)/clone/.sg_vault_new/bare/data"))
        let kept = try data.entries().map(\.name)
        try data.removeFile(kept[0])
        _ = try data.createFile(kept[0], mode: 0o600)
        try data.removeFile(kept[1])
        try data.createFile(kept[1], mode: 0o600).write(Array("something else".utf8).span)
        let result = try await clone(scene, from: scene.remote(), CloneOptions(resumes: true))
        #expect(result.resumed == kept.count - 2)
        let report = try await scene.open("c").fsck()
        #expect(report.isClean)
    }

    @Test func `takes nothing of another vault`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 12)
        }
        let left = try #require(try names(memory.openDirectory("/")).first { $0.hasPrefix(".c.clone-") })
        let data = try memory.openDirectory(FilePath("/\(left)/clone/.sg_vault_new/bare/data"))
        let foreign = Array("of another vault".utf8)
        let id = ObjectID(digest: try SHA256.hash(foreign.span), width: .short)
        try data.createFile(Array(id.text.utf8), mode: 0o600).write(foreign.span)
        let result = try await clone(scene, from: scene.remote(), CloneOptions(resumes: true))
        #expect(result.resumed > 0)
        let names = try names(memory.openDirectory("/c/.sg_vault/bare/data"))
        #expect(!names.contains(id.text))
    }

    @Test func `without the wish a later clone removes what was kept`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 12)
        }
        let result = try await clone(scene, from: scene.remote(), CloneOptions())
        #expect(result.resumed == 0)
        #expect(try names(memory.openDirectory("/")) == ["a", "c", "remote"])
    }

    @Test func `a remote that is gone loses nothing of what was kept`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 12)
        }
        let gone = FolderRemote(
            path: "/nowhere", vaultID: keys.vaultID, environment: scene.environment, lockTimeout: 0)
        await #expect(throws: VaultError.self) { try await clone(scene, from: gone, CloneOptions(resumes: true)) }
        let result = try await clone(scene, from: scene.remote(), CloneOptions(resumes: true))
        #expect(result.resumed >= 12)
        #expect(try names(memory.openDirectory("/")) == ["a", "c", "remote"])
    }

    @Test func `works in a folder that can not be renamed`() async throws {
        let memory = InMemoryFileSystem()
        let scene = try await scene(on: memory)
        try memory.createDirectory("/real", mode: 0o755)
        try memory.createLink("/c", to: "/real")
        let real = try memory.openDirectory("/real")
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(keepPartial: true), stoppedAfter: 12)
        }
        #expect(try names(real) == [".sg_vault_new"])
        #expect(try files(real).allSatisfy { $0.contains("/bare/data/") || $0.hasSuffix("/lock") })
        await #expect(throws: VaultError(.directoryNotEmpty, "")) {
            try await clone(scene, from: scene.remote(), CloneOptions())
        }
        await #expect(throws: Interruption.self) {
            try await clone(scene, from: scene.remote(), CloneOptions(resumes: true), stoppedAfter: 3)
        }
        let result = try await clone(scene, from: scene.remote(), CloneOptions(resumes: true))
        #expect(result.resumed >= 15)
        #expect(try names(real) == [".sg_vault", "d0", "d1", "d2"])
        let report = try await scene.open("real").fsck()
        #expect(report.isClean)
    }
}
