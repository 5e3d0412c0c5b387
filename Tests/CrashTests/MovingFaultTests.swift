import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Every operation with its n-th call to the file system failing, for every n until it succeeds.
@Suite("Moving fault")
struct MovingFaultTests {
    private struct Kind: Sendable {
        var error: Errno
        var isSticky: Bool
        var writesHalf: Bool

        var name: String {
            (error == .noSpace ? "ENOSPC" : "EIO") + (isSticky ? " sticky" : "") + (writesHalf ? " short write" : "")
        }
    }

    @Test(
        "whatever call fails, the operation says so, nothing is lost, and it succeeds when tried again",
        .timeLimit(.minutes(60)))
    func everyCall() async throws {
        let random = SeededRandom.announced("faults")
        let keys = try SceneKeys.shared()
        let operations = try await CampaignOperation.all(keys)
        let total = Tally("faults", seed: random.seed)
        for operation in operations {
            let tally = Tally("faults: \(operation.name)", seed: random.seed)
            for kind in Self.kinds { await run(operation, kind, keys, random, tally) }
            print(tally)
            total.count("injected", tally.value("injected"))
            total.count("told", tally.value("told"))
            total.count("survived", tally.value("survived"))
            total.count("violations", tally.violations.count)
        }
        total.count("operations", operations.count)
        print(total)
        #expect(total.value("violations") == 0)
        #expect(total.value("injected") >= Campaign.least(short: 200, full: 5_000))
    }

    /// EINTR is repeated below this seam and never seen above it.
    private static let kinds = [
        Kind(error: .ioError, isSticky: false, writesHalf: true),
        Kind(error: .ioError, isSticky: true, writesHalf: false),
        Kind(error: .noSpace, isSticky: false, writesHalf: true),
        Kind(error: .noSpace, isSticky: true, writesHalf: true),
    ]

    private func run(
        _ operation: CampaignOperation, _ kind: Kind, _ keys: SceneKeys, _ random: SeededRandom, _ tally: Tally
    ) async {
        // The short form takes every k-th call from a random one on.
        let step = Campaign.number("VAULT_FAULT_STEP", short: 29, full: 1)
        var atCall = 1 + random.below(step)
        while true {
            let memory = operation.start.afterKill()
            let faults = FaultFileSystem(memory)
            faults.set(
                FaultFileSystem.Fault(
                    atCall: atCall, error: kind.error, isSticky: kind.isSticky, kinds: Self.failing,
                    writesHalf: kind.writesHalf))
            let what = "\(operation.name), \(kind.name) at call \(atCall)"
            var succeeded = false
            do {
                try await operation.run(VaultScene(keys: keys, on: faults, seed: 100))
                succeeded = true
            } catch let error as VaultError {
                let expected: VaultError.Code = kind.error == .noSpace ? .noSpace : .ioError
                let allowed: Set<VaultError.Code> = [expected, .ioError, .unreachable]
                if !allowed.contains(error.code) {
                    tally.violation("\(what): told as \(error)")
                }
            } catch {
                tally.violation("\(what): threw \(error)")
            }
            guard faults.hasFired else { break }
            faults.set(nil)
            tally.count("injected")
            tally.count(succeeded ? "survived" : "told")
            await StateChecks(operation: operation, tally: tally, what: what)
                .run(on: VaultScene(keys: keys, on: memory, seed: 101), succeeded: succeeded)
            atCall += step
        }
    }

    /// Unlocking is done by closing the file in the end, so its failing has no meaning.
    private static let failing = Set(FileSystemCall.allCases).subtracting([.unlock])
}
