internal import Testing
internal import VaultSystem

/// How far a reliability campaign goes: the short form that every test run has, or the full one.
///
/// `VAULT_CAMPAIGN=full` asks for the full form, `VAULT_SEED` repeats a run that was printed, `VAULT_ONLY` takes some of
/// the operations.
package enum Campaign {
    package static let isFull = ProcessContext.environmentText("VAULT_CAMPAIGN") == "full"

    /// The value for the form that runs.
    package static func scaled<Value>(short: Value, full: Value) -> Value {
        isFull ? full : short
    }

    /// Whether an operation takes part: all do, or those that `VAULT_ONLY` names, with commas between.
    package static func takes(_ operation: String) -> Bool {
        guard let only = ProcessContext.environmentText("VAULT_ONLY") else { return true }
        return only.utf8.split(separator: UInt8(ascii: ",")).contains { $0.elementsEqual(operation.utf8) }
    }

    /// How much a run must have covered: of a part of the operations, something.
    package static func least(short: Int, full: Int) -> Int {
        ProcessContext.environmentText("VAULT_ONLY") == nil ? scaled(short: short, full: full) : 1
    }

    /// A number from the environment, for runs that are larger or smaller than the full form.
    package static func number(_ name: String, short: Int, full: Int) -> Int {
        ProcessContext.environmentText(name).flatMap { Int($0) } ?? scaled(short: short, full: full)
    }
}

/// What a campaign did, counted by name, and the violations it found.
package final class Tally: CustomStringConvertible, Sendable {
    private struct State {
        var counts: [(name: String, count: Int)] = []
        var violations: [String] = []
    }

    private let label: String
    private let seed: UInt64
    private let state = Locked(State())
    /// Violations that are shown one by one; the others are only counted.
    private static let shown = 12

    package init(_ label: String, seed: UInt64) {
        self.label = label
        self.seed = seed
    }

    package func count(_ name: String, _ number: Int = 1) {
        state.withLock { state in
            if let position = state.counts.firstIndex(where: { $0.name == name }) {
                state.counts[position].count += number
            } else {
                state.counts.append((name, number))
            }
        }
    }

    package func value(_ name: String) -> Int {
        state.withLock { state in state.counts.first { $0.name == name }?.count ?? 0 }
    }

    /// Notes something that must not happen.
    package func violation(_ text: String) {
        let number = state.withLock { state -> Int in
            state.violations.append(text)
            return state.violations.count
        }
        if number <= Self.shown { Issue.record("\(label): \(text) (VAULT_SEED=\(seed))") }
    }

    package var violations: [String] { state.withLock { $0.violations } }

    package var description: String {
        state.withLock { state in
            var counts = state.counts.filter { $0.name != "violations" }.map { "\($0.count) \($0.name)" }
            let carried = state.counts.first { $0.name == "violations" }?.count ?? 0
            counts.append("\(state.violations.count + carried) violations")
            return "\(label): " + counts.joined(separator: ", ") + " (VAULT_SEED=\(seed))"
        }
    }
}
