import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Pushes to a place that compares and writes in two steps (spec 04 §4.2).
@Suite("A push to a place whose swaps can both succeed")
struct SwapProofTests {
    /// Tells every writer that it won, and lets something happen after each of its writes.
    private struct TwoStepRemote: Remote {
        let inner: any Remote
        let afterwards: @Sendable () async throws -> Void
        var isUnreachable = Locked(false)

        var location: String { inner.location }
        var limits: RemoteLimits { inner.limits }
        var swapsAtOnce: Bool { false }

        func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
            if isUnreachable.withLock({ $0 }) { throw VaultError(.unreachable, "gone") }
            try await inner.read(ids, deliver: deliver)
        }

        func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
            try await inner.stream(id, into: sink)
        }

        func list(_ area: RemoteArea) async throws -> [FileID] { try await inner.list(area) }

        func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
            let outcome = try await inner.apply(batch, authorization: authorization)
            try await afterwards()
            return outcome
        }
    }

    private let scene: VaultScene
    private let remote = InMemoryRemote()

    init() async throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: 5)
        let first = try scene.create("a")
        try scene.put("one", at: "one", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: remote)
        _ = try await Vault.clone(
            from: remote, key: scene.keys.clone, to: scene.path("b"), options: CloneOptions(),
            environment: scene.environment, observer: SilentObserver())
    }

    private func commit(_ text: String, in name: String) throws -> Vault {
        try scene.put(text, at: text, in: name)
        let vault = try scene.open(name)
        _ = try vault.commit()
        return vault
    }

    @Test func `that lost in spite of the answer is told, and goes through after a pull`() async throws {
        let ours = try commit("ours", in: "a")
        let theirs = try commit("theirs", in: "b")
        let ref = FileID.ref(theirs.ids.headRef)
        let before = remote.files[ref]
        _ = try await theirs.push(to: remote)
        let winner = remote.files[ref]
        let index = FileID.index(theirs.ids.index)
        let registered = remote.files[index]
        remote.plant(before, at: ref)
        let inner = remote
        let racing = TwoStepRemote(inner: remote) {
            inner.plant(winner, at: ref)
            inner.plant(registered, at: index)
        }
        await #expect(throws: VaultError(.remoteMoved, "")) { try await ours.push(to: racing) }
        _ = try await scene.open("a").pull(from: remote)
        let vault = try scene.open("a")
        _ = try await vault.push(to: remote)
        _ = try await scene.open("b").pull(from: remote)
        #expect(try scene.workingFiles("b").keys.sorted() == ["one", "ours", "theirs"])
    }

    @Test func `that others have built on already is a success`() async throws {
        let ours = try commit("ours", in: "a")
        let (scene, inner) = (scene, remote)
        let built = Locked(false)
        let racing = TwoStepRemote(inner: remote) {
            guard
                !built.withLock({ built in
                    defer { built = true }; return built
                })
            else { return }
            _ = try await scene.open("b").pull(from: inner)
            try scene.put("theirs", at: "theirs", in: "b")
            _ = try scene.open("b").commit()
            _ = try await scene.open("b").push(to: inner)
        }
        #expect(try await ours.push(to: racing).outcome == .pushed)
        _ = try await scene.open("a").pull(from: remote)
        #expect(try scene.workingFiles("a").keys.sorted() == ["one", "ours", "theirs"])
        #expect(try scene.leftovers("a").isEmpty)
    }

    @Test func `that can not be read back counts as the place said`() async throws {
        let ours = try commit("ours", in: "a")
        let isGone = Locked(false)
        var racing = TwoStepRemote(inner: remote) { isGone.withLock { $0 = true } }
        racing.isUnreachable = isGone
        #expect(try await ours.push(to: racing).outcome == .pushed)
    }
}
