import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A push that was interrupted after it counted: the remote's next writer finishes it.
@Suite("Interrupted pushes")
struct InterruptedPushTests {
    private static func interrupted(at point: FailPoint, first: Bool) async throws -> (VaultScene, ObjectID) {
        let memory = InMemoryFileSystem(clock: VaultScene.clock)
        let keys = try SceneKeys.shared()
        let scene = VaultScene(keys: keys, on: memory, seed: 1)
        let vault = try scene.create("a")
        if !first { _ = try await vault.push(to: scene.remote()) }
        try scene.put("one", at: "one.txt", in: "a")
        let commit = try #require(try vault.commit(CommitOptions(message: "one")).commit?.id)
        let failPoints = FailPoints { reached throws(Errno) in
            if reached == point { throw .ioError }
        }
        let failing = VaultScene(keys: keys, on: memory, seed: 2, failPoints: failPoints)
        await #expect(throws: VaultError.self) { try await failing.open("a").push(to: failing.remote()) }
        return (scene, commit)
    }

    @Test(
        "does not stand in the way of the next push, which has more to say",
        arguments: [FailPoint.folderJournalWritten, .folderBeforeRefs, .folderRenamedOne], [true, false])
    func finishedByTheNext(point: FailPoint, first: Bool) async throws {
        let (scene, interrupted) = try await Self.interrupted(at: point, first: first)
        let vault = try scene.open("a")
        try scene.put("two", at: "two.txt", in: "a")
        let next = try #require(try vault.commit(CommitOptions(message: "two")).commit?.id)
        let result = try await vault.push(to: scene.remote())
        #expect(result.new == next)
        try await scene.clone("check")
        let history = try scene.history(scene.open("check"))
        #expect(history.isSuperset(of: [interrupted, next]))
    }
}
