import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Every operation cut short by a crash of the machine at every change it makes, with every choice, or a sample, of
/// what reached the disk.
@Suite("Crash states")
struct CrashStateTests {
    /// Those that change something.
    private static let crashing: Set<String> = [
        "create", "commit", "write", "first push", "push", "clone", "pull", "pull with merge", "fetch", "fsck --repair",
        "remote add", "restore", "reset --hard", "revert", "undo", "stash", "stash pop", "switch", "switch -c",
        "merge that stops", "merge --abort", "resolve",
    ]

    @Test("after a crash at any moment the state is the old or the new one, and works", .timeLimit(.minutes(120)))
    func everyMoment() async throws {
        let random = SeededRandom.announced("crash")
        let keys = try SceneKeys.shared()
        let total = Tally("crash", seed: random.seed)
        for operation in try await CampaignOperation.all(keys) where Self.crashing.contains(operation.name) {
            let tally = Tally("crash: \(operation.name)", seed: random.seed)
            try await run(operation, keys, random, tally)
            print(tally)
            total.count("states", tally.value("states"))
            total.count("moments", tally.value("moments"))
            total.count("violations", tally.violations.count)
        }
        print(total)
        #expect(total.value("violations") == 0)
        #expect(total.value("states") >= Campaign.least(short: 300, full: 20_000))
    }

    private func run(
        _ operation: CampaignOperation, _ keys: SceneKeys, _ random: SeededRandom, _ tally: Tally
    ) async throws {
        let moments = Locked<[CrashState]>([])
        let disk = CrashFileSystem(operation.start.afterKill()) { state in moments.withLock { $0.append(state) } }
        try await operation.run(VaultScene(keys: keys, on: disk, seed: 200))
        let last = disk.now
        let all = moments.withLock { $0 }
        let step = Campaign.number("VAULT_CRASH_STEP", short: 19, full: 1)
        var position = random.below(step)
        while position < all.count {
            await check(all[position], "\(operation.name), change \(position)", false, operation, keys, random, tally)
            tally.count("moments")
            position += step
        }
        // What was told as done is there, whatever of the rest reached the disk.
        await check(last, "\(operation.name), after it ended", true, operation, keys, random, tally)
        tally.count("moments")
    }

    private func check(
        _ state: CrashState, _ what: String, _ succeeded: Bool, _ operation: CampaignOperation, _ keys: SceneKeys,
        _ random: SeededRandom, _ tally: Tally
    ) async {
        for fates in fates(state, random) {
            tally.count("states")
            let disk = state.afterCrash(fates)
            let text = what + " of \(state.choices) open: " + fates.map { "\($0.rawValue)" }.joined()
            await StateChecks(operation: operation, tally: tally, what: text, allowsTorn: !succeeded)
                .run(on: VaultScene(keys: keys, on: disk, seed: 201), succeeded: succeeded)
        }
    }

    /// All choices of up to eight open changes, a sample of more; and writes that came half, or as zeros.
    private func fates(_ state: CrashState, _ random: SeededRandom) -> [[CrashState.Fate]] {
        let isWrite = state.isWrite
        let count = isWrite.count
        var found: [[CrashState.Fate]] = [Array(repeating: .lost, count: count)]
        guard count > 0 else { return found }
        found.append(Array(repeating: .kept, count: count))
        let limit = Campaign.number("VAULT_CRASH_STATES", short: 8, full: 40)
        if count <= 8, 1 << count <= limit * 8 {
            for bits in 1..<((1 << count) - 1) {
                found.append((0..<count).map { bits >> $0 & 1 == 1 ? .kept : .lost })
            }
            if found.count > limit, !Campaign.isFull { found.removeSubrange(limit...) }
        }
        for _ in 0..<limit / 2 {
            found.append(isWrite.map { $0 ? CrashState.Fate.allCases[random.below(4)] : .allCases[random.below(2)] })
        }
        // All names and none of the content: what writing back names first comes to.
        found.append(isWrite.map { $0 ? .lost : .kept })
        found.append(isWrite.map { $0 ? .zeroed : .kept })
        // Writing back in order, stopped somewhere.
        let kept = random.below(count)
        found.append((0..<count).map { $0 < kept ? .kept : .lost })
        return Array(Set(found))
    }
}
