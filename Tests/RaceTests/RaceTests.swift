import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Several threads with vaults of their own on one clone, and on clones of one remote.
@Suite("Races", .serialized)
struct RaceTests {
    /// Makes clones `c0` and on, and the remote that they came from.
    private static func prepare(
        _ keys: SceneKeys, on fileSystem: any FileSystem, base: FilePath, clones: Int
    ) async throws {
        let scene = VaultScene(keys: keys, on: fileSystem, base: base, seed: 1, clock: SystemClock())
        let first = try scene.create("c0")
        try scene.put("shared", at: "shared.txt", in: "c0")
        _ = try first.commit(CommitOptions(message: "base"))
        _ = try await first.push(to: scene.remote())
        for number in 1..<clones { try await scene.clone("c\(number)") }
    }

    @Test("every success is in the history, every swap of the remote's head has one winner", .timeLimit(.minutes(60)))
    func rounds() async throws {
        let random = SeededRandom.announced("races")
        let tally = Tally("races", seed: random.seed)
        let keys = try SceneKeys.shared()
        let memory = InMemoryFileSystem(clock: SystemClock())
        try await Self.prepare(keys, on: memory, base: "/", clones: 6)
        let rounds = Campaign.number("VAULT_RACE_ROUNDS", short: 50, full: 5_000)
        for _ in 0..<rounds {
            let state = memory.afterKill()
            let seed = random.next()
            let race = Race(
                keys: keys, fileSystem: state, base: "/", random: SeededRandom(seed: seed), tally: tally)
            if seed % 2 == 0 { try await race.oneClone() } else { try await race.oneRemote(clones: 6) }
        }
        print(tally)
        #expect(tally.violations.isEmpty)
        #expect(tally.value("rounds") == rounds)
    }

    @Test("the same on the real file system, where the kernel keeps the locks", .timeLimit(.minutes(60)))
    func realRounds() async throws {
        let random = SeededRandom.announced("races on disk")
        let tally = Tally("races on disk", seed: random.seed)
        let keys = try SceneKeys.shared()
        let rounds = Campaign.number("VAULT_DISK_ROUNDS", short: 6, full: 300)
        for _ in 0..<rounds {
            let folder = try TemporaryFolder("race")
            let seed = random.next()
            try await Self.prepare(keys, on: LinuxFileSystem(), base: folder.path, clones: seed % 2 == 0 ? 1 : 3)
            let race = Race(
                keys: keys, fileSystem: LinuxFileSystem(), base: folder.path, random: SeededRandom(seed: seed),
                tally: tally)
            if seed % 2 == 0 { try await race.oneClone() } else { try await race.oneRemote(clones: 3) }
        }
        print(tally)
        #expect(tally.violations.isEmpty)
    }
}
