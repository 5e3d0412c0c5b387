import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// One round: several threads at once, then a look at what is left.
struct Race: Sendable {
    let keys: SceneKeys
    let fileSystem: any FileSystem
    let base: FilePath
    let random: SeededRandom
    let tally: Tally

    /// What the threads were told.
    private struct Told: Sendable {
        var commits: Set<ObjectID> = []
        var files: [String: [UInt8]] = [:]
        /// Commits whose push was told as done.
        var published: Set<ObjectID> = []
        /// The remote's head before and after each push that moved it.
        var moves: [(old: ObjectID?, new: ObjectID)] = []
    }

    private func scene(_ seed: UInt64) -> VaultScene {
        VaultScene(keys: keys, on: fileSystem, base: base, seed: seed, clock: SystemClock())
    }

    private func violation(_ text: String) {
        tally.violation("\(text) (round \(random.seed))")
    }

    // MARK: One clone

    /// Threads that commit, write and push in one clone.
    func oneClone() async throws {
        let told = Locked(Told())
        let threads = 2 + random.below(7)
        let seeds = (0..<threads).map { _ in random.next() }
        try ThreadExecutor.concurrently(threads) { number in
            let random = SeededRandom(seed: seeds[number])
            let scene = scene(seeds[number])
            for step in 0..<2 {
                do {
                    try await act(scene, "t\(number)/\(step).txt", random, told)
                } catch {
                    violation("thread \(number) of \(threads), step \(step): \(error)")
                }
            }
        }
        tally.count("rounds")
        tally.count("successes", told.withLock { $0.commits.count })
        try await checkClone("c0", told.withLock { $0 })
    }

    private func act(_ scene: VaultScene, _ path: String, _ random: SeededRandom, _ told: Locked<Told>) async throws {
        let vault = try scene.open("c0", timeout: 120)
        let content = random.block(1 + random.below(2_000))
        let file = try VaultPath(path)
        let commit: ObjectID?
        if random.below(2) == 0 {
            commit = try vault.write(WriteRequest(files: [(file, .bytes(content))])).commit?.id
        } else {
            try scene.put(content, at: path, in: "c0")
            commit = try vault.commit(CommitOptions(paths: [file])).commit?.id
        }
        guard let commit else { return violation("\(path): nothing was committed") }
        told.withLock {
            $0.commits.insert(commit)
            $0.files[path] = content
        }
        switch random.below(4) {
        case 0: try await push(vault, scene, told)
        case 1: _ = try vault.status()
        case 2: _ = try await vault.fetch(from: scene.remote())
        default: break
        }
    }

    private func push(_ vault: Vault, _ scene: VaultScene, _ told: Locked<Told>) async throws {
        let result = try await vault.push(to: scene.remote())
        guard let new = result.new else { return violation("a push without a head") }
        told.withLock {
            $0.published.insert(new)
            if result.outcome != .upToDate { $0.moves.append((result.old, new)) }
        }
    }

    private func checkClone(_ name: String, _ told: Told) async throws {
        let scene = scene(3)
        let vault = try scene.open(name)
        let lost = try told.commits.subtracting(scene.history(vault))
        if !lost.isEmpty { violation("\(lost.count) commits are not in the history") }
        let committed = try scene.committedFiles(vault)
        for (path, content) in told.files where committed[path] != content { violation("\(path) is not committed") }
        let report = try await vault.fsck()
        if !report.isClean { violation("fsck: \(report.unrepaired)") }
        let status = try vault.status()
        if !status.isClean { violation("status: \(status.changes)") }
        if try !scene.leftovers(name).isEmpty { violation("scratch files were left") }
        try await checkRemote(told)
    }

    // MARK: One remote

    /// Threads with a clone each, that push to one remote, pulling when another was first.
    func oneRemote(clones: Int) async throws {
        let told = Locked(Told())
        let threads = 2 + random.below(clones - 1)
        let seeds = (0..<threads).map { _ in random.next() }
        try ThreadExecutor.concurrently(threads) { number in
            let random = SeededRandom(seed: seeds[number])
            let scene = scene(seeds[number])
            for step in 0..<2 {
                do {
                    try await publish(scene, number, step, random, told)
                } catch {
                    violation("clone \(number) of \(threads), step \(step): \(error)")
                }
            }
        }
        tally.count("rounds")
        tally.count("successes", told.withLock { $0.published.count })
        for number in 0..<threads {
            let report = try await scene(5).open("c\(number)").fsck()
            if !report.isClean { violation("clone \(number): fsck: \(report.unrepaired)") }
        }
        try await checkRemote(told.withLock { $0 })
    }

    private func publish(
        _ scene: VaultScene, _ number: Int, _ step: Int, _ random: SeededRandom, _ told: Locked<Told>
    ) async throws {
        let vault = try scene.open("c\(number)", timeout: 120)
        let path = "from \(number)/\(step)"
        let content = random.block(1 + random.below(2_000))
        guard let own = try vault.write(WriteRequest(files: [(try VaultPath(path), .bytes(content))])).commit?.id else {
            return violation("\(path): nothing was committed")
        }
        for _ in 0..<200 {
            do {
                try await push(vault, scene, told)
                told.withLock {
                    $0.published.insert(own)
                    $0.files[path] = content
                }
                return
            } catch let error as VaultError where error.code == .remoteMoved {
                tally.count("lost swaps")
                _ = try await vault.pull(from: scene.remote())
            }
        }
        violation("clone \(number) never came through")
    }

    /// Everything told as published is in the remote's history, and its head went from hand to hand.
    private func checkRemote(_ told: Told) async throws {
        guard !told.published.isEmpty else { return }
        let scene = scene(7)
        try await scene.clone("check")
        let vault = try scene.open("check")
        let lost = try told.published.subtracting(scene.history(vault))
        if !lost.isEmpty { violation("\(lost.count) published commits are not in the remote's history") }
        let report = try await vault.fsck()
        if !report.isClean { violation("a clone of the remote: fsck: \(report.unrepaired)") }
        tally.count("swaps", told.moves.count)
        var next: [ObjectID: ObjectID] = [:]
        for move in told.moves {
            guard let old = move.old else { return violation("a first push of a published vault") }
            if next.updateValue(move.new, forKey: old) != nil { violation("two pushes replaced \(old)") }
        }
        // A chain: every head but the last was replaced by the push that came next.
        let ends = Set(next.values).subtracting(next.keys)
        let head = try vault.loadState().head
        if !next.isEmpty, ends.count != 1 || ends.first != head {
            violation("the remote's heads are no chain: \(ends.count) ends")
        }
    }
}
