import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Logs with conditions, compared with sets made from what the commits were made of.
@Suite("Log filters")
struct LogFilterTests {
    private struct Made {
        var id: ObjectID
        var message: String
        var timeMs: Int64
        var isMerge: Bool
        var clone: String
    }

    private let setting: TwoClones
    private let vault: Vault
    private let made: [Made]

    /// Two clones that commit and merge in turn, under a clock that moves.
    init() async throws {
        let clock = TestClock()
        let setting = try TwoClones(
            environment: VaultEnvironment(
                fileSystem: LinuxFileSystem(), clock: clock, random: SeededRandom(seed: 3), failPoints: .none))
        var vaults = ["a": try setting.create("a")]
        let vault = try #require(vaults["a"])
        _ = try await vault.push(to: try setting.remote())
        vaults["b"] = try await setting.clone("b")
        var made: [Made] = []
        let words = ["Fix the pump", "fix: valve\n\nFix at the end", "add docs", "Docs and FIX", "tidy (a+b)"]
        for step in 0..<30 {
            let name = step % 3 == 0 ? "b" : "a"
            let clone = try #require(vaults[name])
            clock.advance(ms: 3_600_000)
            let message = words[step % words.count]
            try setting.write("\(step)", to: "\(step % 2 == 0 ? "even" : "odd")/\(step)", in: name)
            let commit = try #require(try clone.commit(CommitOptions(message: message)).commit)
            made.append(Made(id: commit.id, message: message, timeMs: clock.nowMs, isMerge: false, clone: name))
            guard step % 3 != 1 else { continue }
            for name in ["a", "b"] {
                let clone = try #require(vaults[name])
                clock.advance(ms: 1000)
                if try await clone.pull(from: try setting.remote()).outcome == .merged {
                    let head = try #require(try clone.status().head)
                    made.append(
                        Made(id: head, message: "Merge", timeMs: clock.nowMs, isMerge: true, clone: name))
                }
                _ = try await clone.push(to: try setting.remote())
            }
        }
        _ = try await vault.pull(from: try setting.remote())
        self.setting = setting
        self.vault = vault
        self.made = made
    }

    @Test func `every condition holds alone and with the others, in each order and with a limit`() async throws {
        #expect(made.contains { $0.isMerge })
        func ids(_ options: LogOptions) throws -> [ObjectID] {
            var found: [ObjectID] = []
            try vault.log(options) { entry in
                found.append(entry.commit.id)
                return true
            }
            return found
        }
        let known = Set(made.map(\.id))
        let whole = try ids(LogOptions())
        #expect(known.isSubset(of: whole))
        let times = made.map(\.timeMs).sorted()
        let (early, late) = (times[times.count / 4], times[3 * times.count / 4])
        let conditions: [(set: (inout LogOptions) -> Void, holds: (Made) -> Bool)] = [
            ({ $0.messagePattern = "^[Ff]ix" }, { $0.message.contains("ix") && !$0.message.hasPrefix("D") }),
            ({ $0.sinceMs = early }, { $0.timeMs >= early }),
            ({ $0.untilMs = late }, { $0.timeMs <= late }),
            ({ $0.merges = .excluded }, { !$0.isMerge }),
            ({ $0.merges = .only }, { $0.isMerge }),
        ]
        for choice in 0..<(1 << conditions.count) {
            var options = LogOptions()
            var expected = made
            for (bit, condition) in conditions.enumerated() where choice >> bit & 1 == 1 {
                condition.set(&options)
                expected.removeAll { !condition.holds($0) }
            }
            // Both about merges at once are one after the other here, and the last one counts.
            if choice >> 3 == 3 { continue }
            let found = try ids(options).filter { known.contains($0) }
            #expect(Set(found) == Set(expected.map(\.id)), "\(choice)")
            #expect(found == whole.filter { found.contains($0) }, "\(choice): the order of the whole log")
            var reversed = options
            reversed.reverse = true
            #expect(try ids(reversed) == ids(options).reversed(), "\(choice)")
            var graph = options
            graph.includeGraph = true
            #expect(try ids(graph) == ids(options), "\(choice)")
            var limited = options
            limited.limit = 3
            #expect(try ids(limited) == Array(ids(options).prefix(3)), "\(choice)")
        }
    }

    @Test func `messages by expression, writers by name, paths by what lies below`() async throws {
        func messages(_ options: LogOptions) throws -> [String] {
            var found: [String] = []
            try vault.log(options) { entry in
                found.append(entry.commit.message)
                return true
            }
            return found
        }
        func count(_ holds: (String) -> Bool) -> Int { made.filter { !$0.isMerge && holds($0.message) }.count }
        #expect(try messages(LogOptions(messagePattern: "FIX")).count == count { $0.contains("FIX") })
        #expect(
            try messages(LogOptions(messagePattern: "FIX", ignoresCase: true)).count
                == count { $0.lowercased().contains("fix") })
        // The ends of a line, not only of the message.
        #expect(
            try messages(LogOptions(messagePattern: "^Fix at the end$")).count == count { $0.contains("at the end") })
        #expect(try messages(LogOptions(messagePattern: #"\(a\+b\)"#)).count == count { $0.hasPrefix("tidy") })
        #expect(try messages(LogOptions(messagePattern: "nothing like it")) == [])
        #expect(throws: VaultError.coded(.usage)) { try messages(LogOptions(messagePattern: "(")) }
        let branch = try #require(try vault.loadState().cloneBranch?.branchID.text)
        let own = try messages(LogOptions(author: branch, merges: .excluded))
        // `init` is of the same clone.
        #expect(own.count == made.filter { !$0.isMerge && $0.clone == "a" }.count + 1)
        #expect(try messages(LogOptions(author: branch.uppercased())) == [])
        #expect(try messages(LogOptions(author: branch.uppercased(), ignoresCase: true)).count >= own.count)
        let odd = try VaultPath("odd")
        #expect(try messages(LogOptions(paths: [odd], merges: .excluded)).count == 15)
        let one = try VaultPath("even/4")
        #expect(try messages(LogOptions(paths: [one, odd], merges: .excluded)).count == 16)
        #expect(try messages(LogOptions(paths: [odd], messagePattern: "docs$")).count == 3)
    }

    @Test func `what a commit changed is told against its first parent`() async throws {
        let merges = Set(made.filter(\.isMerge).map(\.id))
        var told = 0
        try vault.log(LogOptions(includeChanges: true)) { entry in
            var files: [FileDiff] = []
            try entry.files { file in
                files.append(file)
                return true
            }
            let changes = try #require(entry.changes)
            #expect(files.map(\.path) == changes.added)
            #expect(files.allSatisfy { $0.status == .added && $0.linesAdded == 1 && $0.linesRemoved == 0 })
            if made.contains(where: { $0.id == entry.commit.id && !$0.isMerge }) { #expect(files.count == 1) }
            if merges.contains(entry.commit.id) { #expect(!files.isEmpty) }
            told += 1
            return true
        }
        #expect(told >= made.count)
    }
}
