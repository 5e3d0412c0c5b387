import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// The real program killed at every named point and at random moments; the next command works without help.
@Suite("Kills", .serialized)
struct KillTests {
    @Test("kill -9 leaves nothing that a person has to mend", .timeLimit(.minutes(120)))
    func kills() async throws {
        let random = SeededRandom.announced("kill")
        guard let binary = DebugBinary.path() else {
            print("kill: skipped, no debug build of vaultctl stands beside the tests (VAULT_BINARY names one)")
            return
        }
        let tally = Tally("kill", seed: random.seed)
        let scene = try await KillScene(binary, tally)
        let mostHits = Campaign.number("VAULT_KILL_HITS", short: 1, full: 12)
        for verb in KillScene.Verb.allCases {
            for point in FailPoint.allCases {
                for hit in 1...mostHits {
                    guard try await scene.round(verb, .point(point, hit: hit)) else { break }
                }
            }
            // How long an undisturbed run takes says where random moments lie.
            let length = try scene.duration(verb)
            for _ in 0..<Campaign.number("VAULT_KILL_RANDOM", short: 3, full: 700) {
                _ = try await scene.round(verb, .after(microseconds: random.below(Int(length / 1_000))))
            }
        }
        print(tally)
        #expect(tally.violations.isEmpty)
        #expect(tally.value("killed at a named point") >= 10)
    }
}
