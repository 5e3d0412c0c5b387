import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Questions about history, compared with sets that were made by walking all of it.
@Suite("The commit graph")
struct CommitGraphTests {
    /// Commits in memory; counts how many are read.
    private final class Memory: ObjectReading {
        let objects = Locked<[ObjectID: [UInt8]]>([:])
        let reads = Locked(0)

        func read(_ id: ObjectID, limit: Int) throws(VaultError) -> VerifiedObject {
            reads.withLock { $0 += 1 }
            guard let bytes = objects.withLock({ $0[id] }) else { throw ObjectStore.missing(id) }
            return try VerifiedObject(checking: bytes, as: id)
        }

        func holds(_ id: ObjectID) throws(VaultError) -> Bool { objects.withLock { $0[id] != nil } }
    }

    private let keys: SceneKeys
    private let cipher: VaultCipher
    private let tree: ObjectID

    init() throws {
        keys = try SceneKeys.shared()
        cipher = try VaultCipher(readKey: keys.read)
        tree = try ObjectID("obj-cas-imm-000000000000")
    }

    private func add(_ parents: [ObjectID], timeMs: Int64, to memory: Memory) throws -> ObjectID {
        let commit = CommitObject(
            treeID: tree, parents: parents, timestampMs: timeMs, branchID: nil, messageEncrypted: nil)
        let plaintext = commit.encode()
        let bytes = try cipher.sealRandom(plaintext.span, random: SecureRandom())
        let id = ObjectID(digest: try SHA256.hash(bytes.span), width: .long)
        memory.objects.withLock { $0[id] = bytes }
        return id
    }

    private func graph(_ memory: Memory) -> CommitGraph { CommitGraph(store: memory, cipher: cipher) }

    @Test(arguments: 0..<24) func `random histories, clocks wrong or right, give what whole sets give`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed)
        let memory = Memory()
        var ids: [ObjectID] = []
        var below: [ObjectID: Set<ObjectID>] = [:]
        for number in 0..<40 {
            let isRoot = ids.isEmpty || Int.random(in: 0..<30, using: &random) == 0
            let count = isRoot ? 0 : Int.random(in: 1...3, using: &random)
            var parents: [ObjectID] = []
            for _ in 0..<count {
                let near = max(0, ids.count - 6)
                let parent = ids[Int.random(in: near..<ids.count, using: &random)]
                if !parents.contains(parent) { parents.append(parent) }
            }
            let skew = seed % 2 == 0 ? 0 : Int64.random(in: -20...20, using: &random)
            let id = try add(parents, timeMs: Int64(number) + 100 + skew, to: memory)
            below[id] = parents.reduce(into: [id]) { $0.formUnion(below[$1] ?? []) }
            ids.append(id)
        }
        for _ in 0..<25 {
            let left = ids[Int.random(in: 0..<ids.count, using: &random)]
            let right = ids[Int.random(in: 0..<ids.count, using: &random)]
            let (ofLeft, ofRight) = (try #require(below[left]), try #require(below[right]))
            let relation: CommitGraph.Relation =
                left == right ? .same : ofLeft.contains(right) ? .ahead : ofRight.contains(left) ? .behind : .apart
            #expect(try graph(memory).relation(left, right) == relation)
            #expect(try graph(memory).isAncestor(left, of: right) == ofRight.contains(left))
            #expect(try graph(memory).exclusive(left, not: right) == ofLeft.subtracting(ofRight))
            let counted = try graph(memory).divergence(left, right)
            #expect(counted.left == ofLeft.subtracting(ofRight).count)
            #expect(counted.right == ofRight.subtracting(ofLeft).count)
            let common = ofLeft.intersection(ofRight)
            let bases = common.filter { id in !common.contains { $0 != id && below[$0]?.contains(id) == true } }
            #expect(Set(try graph(memory).mergeBases(left, right)) == bases)
            var walked: [ObjectID] = []
            try HistoryWalk(graph: graph(memory), firstParent: false).run(from: [left], within: nil) { id, _, _ in
                walked.append(id)
                return true
            }
            #expect(walked.count == ofLeft.count)
            #expect(Set(walked) == ofLeft)
            var shown: [ObjectID] = []
            try HistoryWalk(graph: graph(memory), firstParent: false, isLazy: false).run(from: [left], within: nil) {
                id, commit, _ in
                #expect(!commit.parents.contains { shown.contains($0) }, "a parent before its child")
                shown.append(id)
                return true
            }
            #expect(Set(shown) == ofLeft)
        }
    }

    @Test func `a short question about a long history is a short search`() throws {
        let memory = Memory()
        var ids: [ObjectID] = []
        for number in 0..<2000 { ids.append(try add(Array(ids.suffix(1)), timeMs: Int64(number), to: memory)) }
        func reads<Answer>(_ question: (CommitGraph) throws -> Answer) throws -> (answer: Answer, reads: Int) {
            let before = memory.reads.withLock { $0 }
            let answer = try question(graph(memory))
            return (answer, memory.reads.withLock { $0 } - before)
        }
        let (head, near) = (ids[1999], ids[1996])
        let ahead = try reads { try $0.relation(head, near) }
        #expect(ahead.answer == .ahead && ahead.reads < 15)
        let behind = try reads { try $0.relation(near, head) }
        #expect(behind.answer == .behind && behind.reads < 15)
        let ancestor = try reads { try $0.isAncestor(near, of: head) }
        #expect(ancestor.answer && ancestor.reads < 15)
        let counted = try reads { try $0.divergence(near, head) }
        #expect(counted.answer.left == 0 && counted.answer.right == 3 && counted.reads < 15)
        let new = try reads { try $0.exclusive(head, not: near) }
        #expect(new.answer.count == 3 && new.reads < 15)
        let walk = try reads { graph in
            var left = 3
            try HistoryWalk(graph: graph, firstParent: false).run(from: [head], within: nil) { _, _, _ in
                left -= 1
                return left > 0
            }
        }
        #expect(walk.reads < 15)
    }
}
