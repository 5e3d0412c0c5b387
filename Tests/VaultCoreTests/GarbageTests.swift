import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What `gc` removes and what it spares (spec 05 §12).
@Suite("Garbage")
struct GarbageTests {
    private static let day: Int64 = 86_400_000
    private let clock = TestClock()
    private let memory: InMemoryFileSystem
    private let scene: VaultScene
    private let vault: Vault

    init() throws {
        memory = InMemoryFileSystem(clock: clock)
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 21, clock: clock)
        vault = try scene.create("a")
    }

    private func commit(_ text: String, amend: Bool = false) throws -> ObjectID {
        clock.advance(ms: 1000)
        try scene.put(text, at: "f", in: "a")
        return try #require(try vault.commit(CommitOptions(message: text, amend: amend)).commit).id
    }

    private func held() throws -> Set<ObjectID> { Set(try vault.store.allIDs()) }

    /// Everything of a commit: itself, its folders and contents.
    private func contents(_ id: ObjectID) throws -> Set<ObjectID> {
        let reach = Reachability(vault: vault, boundaries: [])
        try reach.mark(tree: CommitGraph(store: vault.store, cipher: vault.cipher).tree(of: id), at: .fails)
        return reach.reached.union([id])
    }

    @Test func `what an amended commit held goes once the log of moves has forgotten it`() async throws {
        let lost = try commit("first")
        let dropped = try contents(lost)
        _ = try commit("second", amend: true)
        #expect(try vault.collectGarbage().removed.isEmpty)
        clock.advance(ms: 30 * Self.day)
        let early = try vault.collectGarbage()
        #expect(early.removed.isEmpty && early.expiredMoves == 0)
        clock.advance(ms: 61 * Self.day)
        _ = try commit("third")
        let all = try held()
        let plan = try vault.collectGarbage(GarbageOptions(dryRun: true))
        #expect(try held() == all)
        let report = try vault.collectGarbage()
        #expect(report == plan)
        #expect(Set(report.removed) == dropped)
        #expect(report.expiredMoves > 0 && report.reachable == all.count - dropped.count && report.kept == 0)
        #expect(try held() == all.subtracting(dropped))
        #expect(try await vault.fsck().isClean)
        #expect(try await vault.fsck().dangling == 0)
        #expect(try vault.collectGarbage().removed.isEmpty)
    }

    @Test func `a tag that was not pushed keeps its commit, and one that was deleted does not`() throws {
        let tagged = try commit("first")
        let kept = try contents(tagged)
        _ = try vault.createTag("v1")
        let tagObject = try #require(try vault.tagView(try vault.loadState().index).live(named: "v1")?.tagID)
        _ = try commit("second", amend: true)
        clock.advance(ms: 100 * Self.day)
        _ = try commit("third")
        #expect(try vault.collectGarbage().removed.isEmpty)
        #expect(try held().isSuperset(of: kept.union([tagObject])))
        _ = try vault.deleteTag("v1")
        #expect(Set(try vault.collectGarbage().removed) == kept.union([tagObject]))
    }

    @Test func `objects that nothing refers to stay until they are old`() throws {
        let loose = try looseObject("loose")
        clock.advance(ms: 13 * Self.day)
        #expect(try vault.collectGarbage().kept == 1)
        #expect(
            try vault.collectGarbage(GarbageOptions(olderThanSeconds: 12 * 86_400, dryRun: true)).removed == [loose])
        clock.advance(ms: 2 * Self.day)
        #expect(try vault.collectGarbage().removed == [loose])
        // A file of the future has no age.
        let future = try looseObject("future")
        clock.advance(ms: -2 * Self.day)
        #expect(try vault.collectGarbage(GarbageOptions(olderThanSeconds: 3600)).removed.isEmpty)
        #expect(try vault.store.holds(future))
        #expect(throws: VaultError(.usage, "")) {
            try vault.collectGarbage(GarbageOptions(olderThanSeconds: 3599))
        }
    }

    private func looseObject(_ text: String) throws -> ObjectID {
        let lock = try vault.lock()
        let batch = vault.newBatch(width: .short, scratch: lock.scratch)
        let id = try batch.add(Array(text.utf8))
        try batch.commit()
        return id
    }

    @Test func `a young commit that nothing names keeps what it is made of`() throws {
        let lost = try commit("first")
        let kept = try contents(lost)
        _ = try commit("second", amend: true)
        clock.advance(ms: 100 * Self.day)
        // Written again just now, as by a program that found the rest of it here.
        let data = vault.layout.data
        let bytes = try #require(try data.contents(lost.utf8, limit: 1 << 20))
        try data.removeFile(lost.utf8)
        try data.createFile(lost.utf8, mode: 0o644).write(bytes.span)
        _ = try commit("third")
        let report = try vault.collectGarbage()
        #expect(report.removed.isEmpty)
        #expect(report.kept == kept.count)
    }

    @Test func `stashes, seen heads, accepted heads, merges and journals keep what they name`() throws {
        var named: [ObjectID] = []
        for text in ["stash", "seen", "accepted", "merge", "journal", "previous"] {
            named.append(try commit(text))
            if text == "stash" {
                try scene.put("work", at: "g", in: "a")
                _ = try vault.stash()
            }
            try vault.reset(to: "HEAD~1", ResetOptions(hard: true, stashesEdits: true)).stash.map { _ in }
        }
        try vault.layout.local.removeFile(Array(Reflog.fileName.utf8))
        let state = try vault.loadState()
        let ref = state.namedBranch.headRefID
        do {
            let lock = try vault.lock()
            let place = vault.place(of: "/elsewhere")
            try vault.recordSeen(ref, named[1], bytes: nil, accepted: nil, at: place, scratch: lock.scratch)
            var heads = RemoteHeads(at: place)
            var config = state.config
            try heads.accept(named[2], for: ref, files: vault.files, config: &config, scratch: lock.scratch)
            try MergeState(
                ours: state.head, theirs: named[3], base: nil, startedMs: 0, conflicts: [], resolved: []
            ).write(vault.files, scratch: lock.scratch)
            try vault.recordOwnHead(named[5], ref: ref, scratch: lock.scratch)
        }
        clock.advance(ms: 100 * Self.day)
        let report = try vault.collectGarbage(GarbageOptions(dryRun: true))
        for (number, id) in named.enumerated() where number != 4 {
            #expect(try contents(id).isDisjoint(with: report.removed), "\(number)")
        }
        #expect(report.removed.contains(named[4]))
        do {
            let lock = try vault.lock()
            try Journal(verb: "pull", ref: state.headRef, from: state.head, to: named[4])
                .write(vault.files, scratch: lock.scratch)
        }
        // Under the lock the journal would be settled; its roots are asked for as a damaged clone keeps it.
        let reach = Reachability(vault: vault, boundaries: [])
        try GarbageRoots(vault: vault, state: state, moves: []).mark(in: reach)
        #expect(try contents(named[4]).isSubset(of: reach.reached))
    }

    @Test func `damage below a branch keeps everything`() throws {
        let lost = try commit("first")
        _ = try commit("second", amend: true)
        clock.advance(ms: 100 * Self.day)
        let head = try commit("third")
        let tree = try CommitGraph(store: vault.store, cipher: vault.cipher).tree(of: head)
        try vault.layout.data.removeFile(tree.utf8)
        #expect(throws: VaultError(.objectMissing, "")) { try vault.collectGarbage() }
        #expect(try vault.store.holds(lost))
    }

    @Test func `a run that is stopped anywhere leaves a whole clone, and the next one ends it`() async throws {
        for step in 0..<4 {
            let dropped = try contents(try commit("first \(step)"))
            _ = try commit("second \(step)", amend: true)
            clock.advance(ms: 100 * Self.day)
            _ = try commit("third \(step)")
            let hits = Locked(0)
            let points = FailPoints { (point: FailPoint) throws(Errno) in
                guard point == .gcRemovedOne || point == .gcBeforeRemoval else { return }
                if hits.withLock({ (count) -> Int in
                    defer { count += 1 }; return count
                }) == step {
                    throw .ioError
                }
            }
            let stopped = try VaultScene(
                keys: scene.keys, on: memory, seed: 22, failPoints: points, clock: clock
            ).open("a")
            #expect(throws: VaultError(.ioError, "")) { try stopped.collectGarbage() }
            #expect(try await vault.fsck().isClean)
            _ = try vault.collectGarbage()
            #expect(try held().isDisjoint(with: dropped))
            #expect(try await vault.fsck().isClean)
        }
    }

    @Test func `a branch that another program moves meanwhile stops it`() throws {
        let lost = try commit("first")
        _ = try commit("second", amend: true)
        clock.advance(ms: 100 * Self.day)
        _ = try commit("third")
        let state = try vault.loadState()
        let (refs, layout, random) = (vault.refs, vault.layout, vault.environment.random)
        let points = FailPoints { (point: FailPoint) throws(Errno) in
            guard point == .gcBeforeRemoval else { return }
            do {
                // As the reference does, which takes no lock.
                let bytes = try refs.encode(lost, random: random)
                try layout.refs.removeFile(Array(state.headRef.text.utf8))
                try layout.refs.createFile(Array(state.headRef.text.utf8), mode: 0o644).write(bytes.span)
            } catch { throw .ioError }
        }
        let disturbed = try VaultScene(keys: scene.keys, on: memory, seed: 23, failPoints: points, clock: clock)
            .open("a")
        #expect(throws: VaultError(.remoteMoved, "")) { try disturbed.collectGarbage() }
        #expect(try vault.store.holds(lost))
    }

    @Test func `damaged objects set aside go when a sound one is here again`() throws {
        let head = try commit("first")
        let place = try vault.layout.ownSubfolder("quarantine")
        for name in [head.text, "obj-cas-imm-0123456789ab"] {
            try place.createFile(Array(name.utf8), mode: 0o600).write([1].span)
        }
        #expect(try vault.collectGarbage().quarantined == 0)
        clock.advance(ms: 15 * Self.day)
        #expect(try vault.collectGarbage(GarbageOptions(dryRun: true)).quarantined == 1)
        #expect(try vault.collectGarbage().quarantined == 1)
        #expect(try place.entries().map(\.name) == [Array("obj-cas-imm-0123456789ab".utf8)])
    }
}
