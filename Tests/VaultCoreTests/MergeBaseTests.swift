import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Merge bases of histories whose bases are known from how they were made.
@Suite("Merge bases")
struct MergeBaseTests {
    /// Commits that never were on a disk; counts how many are asked for.
    private final class Synthetic: CommitSource {
        private let commits = Locked<[ObjectID: CommitObject]>([:])
        let asked = Locked(0)
        private let tree: ObjectID

        init() throws { tree = try ObjectID("obj-cas-imm-000000000000") }

        func add(_ parents: [ObjectID], timeMs: Int64) throws -> ObjectID {
            let number = commits.withLock { $0.count } + 1
            let digits = String(number, radix: 16)
            let id = try ObjectID("obj-cas-imm-" + String(repeating: "0", count: 32 - digits.count) + digits)
            let commit = CommitObject(
                treeID: tree, parents: parents, timestampMs: timeMs, branchID: nil, messageEncrypted: nil)
            commits.withLock { $0[id] = commit }
            return id
        }

        /// A line of commits on top of one.
        func line(_ count: Int, on parent: ObjectID?, from timeMs: Int64) throws -> [ObjectID] {
            var ids: [ObjectID] = []
            for number in 0..<count {
                let below = ids.last ?? parent
                ids.append(try add(below.map { [$0] } ?? [], timeMs: timeMs + Int64(number)))
            }
            return ids
        }

        func commit(_ id: ObjectID) throws(VaultError) -> CommitObject {
            asked.withLock { $0 += 1 }
            guard let commit = commits.withLock({ $0[id] }) else { throw ObjectStore.missing(id) }
            return commit
        }
    }

    @Test func `a criss-cross has two bases, and the newer one is taken`() throws {
        let source = try Synthetic()
        let root = try source.add([], timeMs: 1)
        let (a, b) = (try source.add([root], timeMs: 2), try source.add([root], timeMs: 3))
        let (left, right) = (try source.add([a, b], timeMs: 4), try source.add([b, a], timeMs: 5))
        let (x, y) = (try source.add([left], timeMs: 6), try source.add([right], timeMs: 7))
        let graph = CommitGraph(source: source)
        #expect(try graph.mergeBases(x, y) == [a, b].sorted())
        #expect(try graph.mergeBase(x, y) == b)
        #expect(try graph.mergeBases(x, left) == [left])
        #expect(try graph.mergeBases(root, y) == [root])
        #expect(try graph.mergeBases(x, x) == [x])
    }

    @Test func `clocks have no say: a base that looks older than what lies below it is found`() throws {
        let source = try Synthetic()
        // The base carries the oldest time of all, its ancestors the newest ones.
        let below = try source.line(50, on: nil, from: 9000)
        let base = try source.add([below[49]], timeMs: 1)
        let left = try source.line(20, on: base, from: 100)
        let right = try source.line(30, on: base, from: 5000)
        // A way around the base, straight to what lies below it.
        let around = try source.add([right[29], below[10]], timeMs: 2)
        let graph = CommitGraph(source: source)
        #expect(try graph.mergeBases(left[19], around) == [base])
    }

    @Test func `two histories without a common commit have no base`() throws {
        let source = try Synthetic()
        let (one, two) = (try source.line(5, on: nil, from: 1), try source.line(5, on: nil, from: 3))
        #expect(try CommitGraph(source: source).mergeBases(one[4], two[4]) == [])
        #expect(try CommitGraph(source: source).mergeBase(one[4], two[4]) == nil)
    }

    @Test func `in 20,000 commits a late fork is a short search and an early one reads each commit once`() throws {
        let source = try Synthetic()
        let main = try source.line(20_000, on: nil, from: 1000)
        let late = try source.line(10, on: main[19_990], from: 30_000)
        let early = try source.line(10, on: main[0], from: 30_000)
        func asked(_ left: ObjectID, _ right: ObjectID) throws -> (bases: [ObjectID], count: Int) {
            let before = source.asked.withLock { $0 }
            let bases = try CommitGraph(source: source).mergeBases(left, right)
            return (bases, source.asked.withLock { $0 } - before)
        }
        let short = try asked(main[19_999], late[9])
        #expect(short.bases == [main[19_990]])
        #expect(short.count < 50)
        let long = try asked(main[19_999], early[9])
        #expect(long.bases == [main[0]])
        #expect(long.count <= 20_010)
    }

    @Test func `a ladder of 5,000 criss-crosses has the two bases of its last rung`() throws {
        let source = try Synthetic()
        let root = try source.add([], timeMs: 1)
        var (left, right) = (try source.add([root], timeMs: 2), try source.add([root], timeMs: 3))
        var last: [ObjectID] = []
        for step in 1...5000 {
            last = [left, right]
            let time = Int64(step) * 2 + 2
            (left, right) = (try source.add(last, timeMs: time), try source.add(last.reversed(), timeMs: time + 1))
        }
        let before = source.asked.withLock { $0 }
        #expect(try CommitGraph(source: source).mergeBases(left, right) == last.sorted())
        #expect(source.asked.withLock { $0 } - before < 50)
    }

    @Test func `many candidates are told apart in one walk`() throws {
        let source = try Synthetic()
        // Twenty commits side by side, merged by both sides; half of them lie below the others.
        let root = try source.add([], timeMs: 1)
        let low = try (0..<10).map { try source.add([root], timeMs: 100 + Int64($0)) }
        let high = try low.map { try source.add([$0], timeMs: 10) }
        let left = try source.add(high + low, timeMs: 200)
        let right = try source.add(low + high, timeMs: 201)
        #expect(try CommitGraph(source: source).mergeBases(left, right) == high.sorted())
    }

    /// Histories in which most commits join two others that were joined before, the other way round or not.
    @Test func `of random criss-cross histories every base is found, and the same one is taken`() throws {
        let random = SeededRandom.announced("merge bases")
        var several = 0
        var wrong: [String] = []
        for _ in 0..<40 {
            let source = try Synthetic()
            var ids = [try source.add([], timeMs: 0)]
            var ancestors: [ObjectID: Set<ObjectID>] = [ids[0]: [ids[0]]]
            var times: [ObjectID: Int64] = [ids[0]: 0]
            for _ in 0..<(6 + random.below(18)) {
                // Parents from the last few, so that lines cross again and again; clocks that tie and go wrong.
                let recent = ids.suffix(4)
                let parents = Array(
                    Set((0...random.below(3)).map { _ in recent[recent.startIndex + random.below(recent.count)] }))
                let time = Int64(random.below(6))
                let id = try source.add(parents, timeMs: time)
                ids.append(id)
                times[id] = time
                ancestors[id] = parents.reduce(into: [id]) { $0.formUnion(ancestors[$1] ?? []) }
            }
            let graph = CommitGraph(source: source)
            for left in ids {
                for right in ids {
                    let common = (ancestors[left] ?? []).intersection(ancestors[right] ?? [])
                    let bases = common.filter { one in
                        !common.contains { $0 != one && (ancestors[$0] ?? []).contains(one) }
                    }.sorted()
                    if bases.count > 1 { several += 1 }
                    let newest = bases.map { times[$0] ?? 0 }.max()
                    let one = bases.first { times[$0] == newest }
                    let (found, taken) = (try graph.mergeBases(left, right), try graph.mergeBase(left, right))
                    if found != bases || taken != one { wrong.append("\(left.text) \(right.text): \(found)") }
                }
            }
        }
        #expect(wrong.isEmpty)
        #expect(several > 100)
    }
}
