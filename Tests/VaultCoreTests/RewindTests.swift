import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A remote branch that goes back, and pushes that replace what is there.
@Suite("Rewinds, leases and force")
struct RewindTests {
    private let lab: TagScene
    private let first: ObjectID

    init() async throws {
        lab = try await TagScene()
        first = try #require(try lab.open("a").status().head)
    }

    private func remoteHead() async throws -> ObjectID? {
        let vault = try lab.open("a")
        return try await vault.snapshot(of: lab.scene.remote(), ref: vault.ids.headRef).head
    }

    @Test func `a branch that went back by many commits is refused, and taken when that is asked for`() async throws {
        for number in 0..<120 { try lab.commit("file \(number % 3)", in: "a", number) }
        try await lab.push("a")
        try await lab.pull("b")
        let head = try #require(try lab.open("b").status().head)
        try lab.commit("work of b", in: "b")
        try await lab.setHead(first)
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.pull("b") }
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.push("b") }
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.push("b", PushOptions(pullFirst: true)) }
        #expect(try await lab.open("b").fetch(from: lab.scene.remote()).refs.map(\.isRewind) == [true])
        // Having looked does not make it accepted.
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.pull("b") }
        #expect(try await remoteHead() == first)
        let pulled = try await lab.pull("b", PullOptions(acceptRewind: true))
        #expect(pulled.outcome == .merged)
        let vault = try lab.open("b")
        let history = try lab.scene.history(vault)
        #expect(!history.contains(head) && history.contains(first))
        #expect(try lab.scene.committedFiles(vault).keys.sorted() == ["one", "work of b"])
        #expect(try await lab.push("b").outcome == .pushed)
        // Whoever still has the old head is asked as well, and without own work simply follows.
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.pull("a") }
        #expect(try await lab.pull("a", PullOptions(acceptRewind: true)).outcome == .fastForward)
        #expect(try lab.open("a").status().head == lab.open("b").status().head)
    }

    @Test func `a lease is on the head that was accepted here, not on one that was only seen`() async throws {
        let theirs = try lab.commit("theirs", in: "a")
        try await lab.push("a")
        let ours = try lab.commit("ours", in: "b")
        _ = try await lab.open("b").fetch(from: lab.scene.remote())
        _ = try lab.open("b").status()
        await #expect(throws: VaultError.coded(.leaseBroken)) {
            try await lab.push("b", PushOptions(lease: .some(nil)))
        }
        await #expect(throws: VaultError.coded(.leaseBroken)) {
            try await lab.push("b", PushOptions(lease: .some(first)))
        }
        #expect(try await remoteHead() == theirs)
        let result = try await lab.push("b", PushOptions(lease: .some(theirs)))
        #expect(result.old == theirs && result.new == ours)
        #expect(try await remoteHead() == ours)
        // Now that it was accepted here, the lease without a revision is on it.
        let reset = try lab.open("b").reset(to: "HEAD~1")
        #expect(reset.new == first)
        let again = try lab.commit("again", in: "b")
        #expect(try await lab.push("b", PushOptions(lease: .some(nil))).old == ours)
        #expect(try await remoteHead() == again)
    }

    @Test(arguments: [PushOptions(force: true), PushOptions(lease: .some(nil))])
    func `replaces only what was seen, once`(_ options: PushOptions) async throws {
        let lab = lab
        try lab.commit("ours", in: "b")
        let theirs = try lab.commit("theirs", in: "a")
        let racing = RacingRemote(lab.scene.remote()) { try await lab.push("a") }
        await #expect(throws: VaultError.coded(.remoteMoved)) { try await lab.open("b").push(to: racing, options) }
        #expect(try await remoteHead() == theirs)
        #expect(try lab.scene.workingFiles("b").keys.contains("ours"))
    }
}

extension TagScene {
    /// A commit that gives a file new content.
    fileprivate func commit(_ name: String, in clone: String, _ number: Int) throws {
        try scene.put("\(number)", at: name, in: clone)
        _ = try open(clone).commit(CommitOptions(message: "\(number)"))
    }
}
