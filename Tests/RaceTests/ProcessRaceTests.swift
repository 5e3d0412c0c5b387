import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Several processes of the real program at once in one clone, some stopped for a moment and continued.
@Suite("Races of processes", .serialized)
struct ProcessRaceTests {
    @Test("every write that a process told as done is in the history", .timeLimit(.minutes(60)))
    func writes() async throws {
        let random = SeededRandom.announced("process races")
        guard let binary = DebugBinary.path() else {
            print("process races: skipped, no debug build of vaultctl stands beside the tests")
            return
        }
        let tally = Tally("process races", seed: random.seed)
        let folder = try TemporaryFolder("processes")
        let scene = VaultScene(
            keys: try SceneKeys.shared(), on: LinuxFileSystem(), base: folder.path, seed: random.next(), workers: 2,
            clock: SystemClock())
        let vault = try scene.create("a")
        _ = try await vault.push(to: scene.remote())
        var expected: [String: String] = [:]
        for round in 0..<Campaign.number("VAULT_PROCESS_ROUNDS", short: 4, full: 500) {
            let count = 2 + random.below(7)
            for number in 0..<count { expected["\(round)/\(number)"] = "content \(round) \(number)" }
            let failed = try run(binary, folder.path.text, round, count, random)
            tally.count("rounds")
            tally.count("successes", count - failed.count)
            // Nothing here may fail: the lock is waited for.
            if !failed.isEmpty { tally.violation("round \(round): \(failed.joined(separator: "; "))") }
        }
        let committed = try scene.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) }
        if committed != expected { tally.violation("\(expected.count) files written, \(committed.count) there") }
        let history = try scene.history(vault).count
        if history != expected.count + 1 { tally.violation("\(history) commits, not \(expected.count + 1)") }
        if try await !vault.fsck().isClean { tally.violation("fsck") }
        if try !vault.status().isClean { tally.violation("status") }
        print(tally)
        #expect(tally.violations.isEmpty)
    }

    /// Starts all processes at once; gives what failed ones said.
    private func run(
        _ binary: String, _ folder: String, _ round: Int, _ count: Int, _ random: SeededRandom
    ) throws -> [String] {
        var line = "cd '\(folder)'; pids=; "
        for number in 0..<count {
            line += "printf 'content \(round) \(number)' >in.\(number); "
            line += "(exec '\(binary)' -C a --lock-timeout 100 write \(round)/\(number) <in.\(number) "
            line += ">out.\(number) 2>&1) & pids=\"$pids $!\"; [ \(number) = \(random.below(count)) ] && victim=$!; "
        }
        // One of them stops for a while in the middle of its work.
        let seconds = "0.0\(random.below(9))"
        line += "victim=${victim:-$!}; sleep \(seconds); kill -STOP $victim 2>/dev/null; sleep \(seconds); "
        line += "kill -CONT $victim 2>/dev/null; for p in $pids; do wait $p || echo \"failed: $(cat out.*)\"; done"
        let result = try Subprocess.capture(line, removingFromEnvironment: [], limit: 1 << 20)
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
