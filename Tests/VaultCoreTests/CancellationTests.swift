import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Work that is told to stop, at every place where it can be.
@Suite("Work that is told to stop")
struct CancellationTests {
    /// Stops at the `limit`-th question.
    private struct Stop: Cancellation {
        let limit: Int
        let asked = Locked(0)

        func check() throws(Interruption) {
            let stop = asked.withLock { asked in
                asked += 1
                return asked >= limit
            }
            if stop { throw Interruption(signal: 2) }
        }
    }

    private let keys: SceneKeys

    init() throws { keys = try SceneKeys.shared() }

    /// A remote with `first` published, and clones "a" with more to push and "b" with all of it to pull.
    private func scene() async throws -> (VaultScene, InMemoryFileSystem) {
        let memory = InMemoryFileSystem()
        let scene = VaultScene(keys: keys, on: memory, seed: 3)
        let first = try scene.create("a")
        for index in 0..<12 { try scene.put("one \(index)", at: "d\(index % 3)/f\(index)", in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
        try await scene.clone("b")
        for index in 0..<8 { try scene.put("two \(index)", at: "d\(index % 3)/f\(index)", in: "a") }
        try scene.put("new", at: "e/new", in: "a")
        return (scene, memory)
    }

    /// The same files seen by a process that is stopped at its `limit`-th question.
    private func stopped(_ scene: VaultScene, at limit: Int) -> (VaultScene, Stop) {
        let stop = Stop(limit: limit)
        let environment = scene.environment
        let pool = WorkerPool(threads: 1, cancellation: stop)
        let other = VaultEnvironment(
            fileSystem: environment.fileSystem, clock: environment.clock, random: environment.random,
            failPoints: environment.failPoints, pool: pool)
        return (VaultScene(keys: keys, environment: other, base: scene.base), stop)
    }

    /// Runs `work` stopped at its first question, its second … until it ends by itself.
    private func everyStop(
        _ prepare: (VaultScene) async throws -> Void = { _ in }, work: (VaultScene) async throws -> Void,
        afterwards: (VaultScene) async throws -> Void
    ) async throws {
        var stops = 0
        for limit in 1... {
            let (scene, _) = try await scene()
            try await prepare(scene)
            let (other, stop) = stopped(scene, at: limit)
            do {
                try await work(other)
                #expect(stop.asked.withLock { $0 } < limit, "a wish to stop was overlooked")
                break
            } catch is Interruption {
                stops += 1
            }
            try await work(scene)
            try await afterwards(scene)
        }
        #expect(stops >= 2)
    }

    @Test func `a stopped commit is no commit, and the next one takes everything`() async throws {
        try await everyStop { scene in
            _ = try scene.open("a").commit()
        } afterwards: { scene in
            let vault = try scene.open("a")
            #expect(try scene.history(vault).count == 3)
            #expect(try scene.committedFiles(vault) == scene.workingFiles("a"))
            let report = try await vault.fsck()
            #expect(report.isClean)
            #expect(try scene.leftovers("a").isEmpty)
        }
    }

    @Test func `a stopped push has published nothing or everything`() async throws {
        try await everyStop { scene in
            _ = try scene.open("a").commit()
        } work: { scene in
            _ = try await scene.open("a").push(to: scene.remote())
        } afterwards: { scene in
            _ = try await scene.open("b").pull(from: scene.remote())
            #expect(try scene.workingFiles("b") == scene.workingFiles("a"))
        }
    }

    @Test func `a stopped pull leaves the old files or the new ones`() async throws {
        try await everyStop { scene in
            let vault = try scene.open("a")
            _ = try vault.commit()
            _ = try await vault.push(to: scene.remote())
        } work: { scene in
            _ = try await scene.open("b").pull(from: scene.remote())
        } afterwards: { scene in
            #expect(try scene.workingFiles("b") == scene.workingFiles("a"))
            #expect(try scene.open("b").status().isClean)
            let report = try await scene.open("b").fsck()
            #expect(report.isClean)
        }
    }

    @Test func `a stopped clone leaves no folder`() async throws {
        var stops = 0
        let (scene, memory) = try await scene()
        for limit in 1... {
            let (other, _) = stopped(scene, at: limit)
            do {
                try await other.clone("c")
                break
            } catch is Interruption {
                stops += 1
                #expect(try memory.openDirectory("/").statusIfPresent(of: Array("c".utf8)) == nil)
                #expect(
                    try memory.openDirectory("/").entries().map { String(decoding: $0.name, as: UTF8.self) }.sorted()
                        == ["a", "b", "remote"])
            }
        }
        #expect(stops >= 3)
        let report = try await scene.open("c").fsck()
        #expect(report.isClean)
    }

    @Test func `status and fsck stop as well`() async throws {
        let (scene, _) = try await scene()
        let (other, _) = stopped(scene, at: 1)
        #expect(throws: Interruption.self) { _ = try other.open("a").status() }
        await #expect(throws: Interruption.self) { _ = try await other.open("a").fsck() }
    }

    @Test func `a cancelled task stops, and says so as tasks do`() async throws {
        let (scene, _) = try await scene()
        let vault = try scene.open("a")
        let before = try vault.status().head
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            _ = try vault.commit()
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try vault.status().head == before)
    }
}
