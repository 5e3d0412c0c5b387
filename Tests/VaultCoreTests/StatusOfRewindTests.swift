import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultCore

/// What `status` tells of a remote whose branch went back: the same as `pull` and `push` do.
@Suite("Status of a remote that went back")
struct StatusOfRewindTests {
    private let lab: TagScene
    private let first: ObjectID
    private let second: ObjectID

    /// Both clones have two commits, of which the remote then loses the second.
    init() async throws {
        lab = try await TagScene()
        first = try #require(try lab.open("a").status().head)
        second = try lab.commit("two", in: "a")
        try await lab.push("a")
        try await lab.pull("b")
        try await lab.setHead(first)
    }

    private func remote(_ name: String) throws -> RemoteState {
        try lab.open(name).status(StatusOptions(remoteURL: lab.scene.remote().location)).remote
    }

    @Test func `a refused pull is told until it is accepted`() async throws {
        #expect(try remote("b").relation == .upToDate)
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.pull("b") }
        for _ in 0..<2 {
            let state = try remote("b")
            #expect(state.relation == .rewound && state.head == first && state.accepted == second)
        }
        #expect(try await lab.pull("b", PullOptions(acceptRewind: true)).outcome == .fastForward)
        #expect(try remote("b").relation == .upToDate)
    }

    @Test func `a refused head is told although its commits were not kept, and names nothing`() async throws {
        // A clone that knows the first commit only goes on from there.
        try await lab.scene.clone("c")
        let other = try lab.commit("other", in: "c")
        try await lab.push("c")
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.pull("b") }
        let vault = try lab.open("b")
        #expect(try !vault.store.holds(other))
        #expect(try remote("b").relation == .rewound && remote("b").head == other)
        // What a revision finds under the remote's name is what was seen before.
        let place = vault.place(of: lab.scene.remote().location)
        #expect(try vault.seenHead(at: place, ref: vault.ids.headRef)?.commit == second)
        #expect(vault.seenCommits() == [second])
        // A fetch keeps them.
        _ = try await vault.fetch(from: lab.scene.remote())
        #expect(try remote("b").relation == .rewound && vault.store.holds(other))
    }

    @Test func `a refused push is told, that of a dry run is not`() async throws {
        try lab.commit("more", in: "b")
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.push("b", PushOptions(dryRun: true)) }
        #expect(try remote("b").relation == .ahead)
        await #expect(throws: VaultError.coded(.refRewound)) { try await lab.push("b") }
        #expect(try remote("b").relation == .rewound)
        _ = try await lab.push("b", PushOptions(force: true))
        #expect(try remote("b").relation == .upToDate)
    }

    @Test func `a remote that lost the branch is told apart from one that never had it`() async throws {
        let vault = try lab.open("b")
        let gone = LyingRemote(lab.scene.remote(), lies: [.ref(vault.ids.headRef): .absent])
        await #expect(throws: VaultError.coded(.refRewound)) { try await vault.pull(from: gone) }
        let state = try remote("b")
        #expect(state.relation == .absent && state.head == nil && state.accepted == second)
        #expect(try await vault.pull(from: gone, PullOptions(acceptRewind: true)).outcome == .absent)
        #expect(try remote("b").relation == .absent && remote("b").accepted == nil)
    }

    @Test(arguments: [true, false])
    func `a head that another program accepted since the last look is the one that is known`(_ isFirst: Bool) throws {
        // What the reference does in a pull: the objects, the refs, and its record of accepted heads.
        let vault = try lab.open("a")
        let state = try vault.loadState()
        let lock = try vault.lock()
        let place = vault.place(of: lab.scene.remote().location)
        // The last look was at the first commit, before anything or something older was accepted.
        try vault.recordSeen(
            vault.ids.headRef, first, bytes: nil, accepted: isFirst ? nil : first, at: place, scratch: lock.scratch)
        var config = state.config
        var heads = try vault.acceptedHeads(at: place, state)
        try heads.accept(second, for: vault.ids.headRef, files: vault.files, config: &config, scratch: lock.scratch)
        let known = try remote("a")
        #expect(known.relation == .upToDate && known.head == second)
        // A look that was judged by that very head is the newer one.
        try vault.recordSeen(
            vault.ids.headRef, first, bytes: nil, accepted: second, at: place, scratch: lock.scratch)
        #expect(try remote("a").relation == .rewound && remote("a").head == first)
    }
}
