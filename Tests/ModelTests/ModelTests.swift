import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Random sequences of operations on two clones and a remote, held against a model.
@Suite("Model")
struct ModelTests {
    @Test("any sequence of operations does what the model says", .timeLimit(.minutes(60)))
    func sequences() async throws {
        let random = SeededRandom.announced("model")
        let tally = Tally("model", seed: random.seed)
        let start = try await ModelRun.Start()
        let runs = Campaign.number("VAULT_MODEL_RUNS", short: 30, full: 2_000)
        let length = Campaign.number("VAULT_MODEL_STEPS", short: 30, full: 40)
        for _ in 0..<runs {
            let seed = random.next()
            let choices = SeededRandom(seed: seed)
            let steps = (0..<length).map { _ in Step.random(choices) }
            let (difference, done) = await attempt(steps, start, seed)
            tally.count("sequences")
            tally.count("steps", done)
            guard let difference else { continue }
            let fewest = await shrink(Array(steps[...min(difference.step, steps.count - 1)]), start, seed)
            let (last, _) = await attempt(fewest, start, seed)
            let told = fewest.map(\.description).joined(separator: "; ")
            tally.violation("\(last ?? difference): \(told)")
            if tally.violations.count >= 8 { break }
        }
        print(tally)
        #expect(tally.violations.isEmpty)
    }

    @Test("three clones that sync in any order end with the same files", .timeLimit(.minutes(60)))
    func threeClones() async throws {
        let random = SeededRandom.announced("three clones")
        let tally = Tally("three clones", seed: random.seed)
        let start = try await ThreeCloneRun.Start()
        let runs = Campaign.number("VAULT_THREE_RUNS", short: 40, full: 2_000)
        for _ in 0..<runs {
            let seed = random.next()
            let run = try ThreeCloneRun(start, seed: seed)
            do {
                try await run.run(steps: 6 + SeededRandom(seed: seed).below(13))
            } catch {
                tally.violation("\(error)")
                if tally.violations.count >= 8 { break }
            }
            tally.count("histories")
            tally.count("steps", run.steps)
        }
        print(tally)
        #expect(tally.violations.isEmpty)
    }

    @Test("a change that was taken back is no conflict")
    func changedBack() async throws {
        let start = try await ModelRun.Start()
        func write(_ clone: String, _ content: String) -> Step {
            Step(clone: clone, action: .write(path: "y", content: content))
        }
        func step(_ clone: String, _ action: Step.Action) -> Step { Step(clone: clone, action: action) }
        for backAndForth in ["a", "b"] {
            let other = backAndForth == "a" ? "b" : "a"
            let run = ModelRun(start, seed: 7)
            try await run.run([
                write("a", "base"), step("a", .push), step("b", .pull), write(backAndForth, "other"),
                write(backAndForth, "base"), write(other, "new"), step("a", .push), step("b", .pull), step("b", .push),
                step("a", .pull), step("a", .clone),
            ])
            #expect(run.done == 11)
        }
    }

    private func attempt(
        _ steps: [Step], _ start: ModelRun.Start, _ seed: UInt64
    ) async -> (difference: ModelRun.Difference?, done: Int) {
        let run = ModelRun(start, seed: seed)
        do {
            try await run.run(steps)
            return (nil, run.done)
        } catch let difference as ModelRun.Difference {
            return (difference, run.done)
        } catch {
            return (ModelRun.Difference(step: run.done, text: "\(error)"), run.done)
        }
    }

    /// Leaves out steps, many at first, then one by one, as long as a difference remains.
    private func shrink(_ steps: [Step], _ start: ModelRun.Start, _ seed: UInt64) async -> [Step] {
        var steps = steps
        var size = max(1, steps.count / 2)
        while true {
            var position = 0
            var shrunk = false
            while position < steps.count {
                var fewer = steps
                fewer.removeSubrange(position..<min(position + size, fewer.count))
                if await attempt(fewer, start, seed).difference != nil {
                    steps = fewer
                    shrunk = true
                } else {
                    position += size
                }
            }
            if size == 1, !shrunk { return steps }
            size = max(1, size / 2)
        }
    }
}
