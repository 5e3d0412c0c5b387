internal import VaultFormat

/// Commits and everything reachable from them, walked newest first and only as far as a question needs.
final class AncestorSet {
    private let graph: CommitGraph
    private let fence: ObjectID?
    private var frontier = CommitHeap()
    private var starts: [ObjectID]
    /// What was met so far; its commits up to the frontier were walked through.
    private(set) var all: Set<ObjectID>

    /// * `fence`: A commit that is met but not walked through.
    init(graph: CommitGraph, of starts: [ObjectID], stoppingAt fence: ObjectID? = nil) {
        self.graph = graph
        self.fence = fence
        self.starts = starts
        all = Set(starts)
    }

    /// Whether a commit was met already.
    func met(_ id: ObjectID) -> Bool { all.contains(id) }

    /// Whether a commit is one of the starts or reachable from them; walks on until that is known.
    func contains(_ id: ObjectID) throws(VaultError) -> Bool {
        while !all.contains(id) {
            guard try advance() != nil else { return false }
        }
        return true
    }

    /// Walks through one more commit; nil when all are.
    func advance() throws(VaultError) -> ObjectID? {
        while let start = starts.popLast() { try push(start) }
        guard let id = frontier.pop() else { return nil }
        for parent in try graph.parents(id) where all.insert(parent).inserted { try push(parent) }
        return id
    }

    private func push(_ id: ObjectID) throws(VaultError) {
        guard id != fence else { return }
        frontier.push(id, try graph.time(id))
    }
}
