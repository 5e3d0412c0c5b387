internal import VaultFormat

/// Walks history newest first: a commit never comes before its children, and among those that may come the newest
/// is first.
struct HistoryWalk {
    let graph: CommitGraph
    let firstParent: Bool

    /// Calls `visit` for the commits reachable from `start`, leaving out `excluded`; false stops the walk.
    func run(
        from start: ObjectID, excluding excluded: Set<ObjectID>, _ visit: (ObjectID, CommitObject) throws -> Bool
    ) throws {
        guard !excluded.contains(start) else { return }
        // Children not yet shown, per commit: a commit is ready when none is left.
        var children: [ObjectID: Int] = [start: 0]
        var pending = [start]
        while let id = pending.popLast() {
            for parent in try parents(id, excluded) {
                if children[parent] == nil { pending.append(parent) }
                children[parent, default: 0] += 1
            }
        }
        var ready = CommitHeap()
        ready.push(start, try graph.commit(start).timestampMs)
        while let id = ready.pop() {
            guard try visit(id, graph.commit(id)) else { return }
            for parent in try parents(id, excluded) {
                children[parent, default: 1] -= 1
                if children[parent] == 0 { ready.push(parent, try graph.commit(parent).timestampMs) }
            }
        }
    }

    private func parents(_ id: ObjectID, _ excluded: Set<ObjectID>) throws -> [ObjectID] {
        var all = try graph.parents(id)
        if firstParent { all = Array(all.prefix(1)) }
        var unique: [ObjectID] = []
        for parent in all where !excluded.contains(parent) && !unique.contains(parent) { unique.append(parent) }
        return unique
    }
}

/// Commits by time, the newest first; equal times by id, so that the order is the same every time.
struct CommitHeap {
    private var items: [(id: ObjectID, time: Int64)] = []

    mutating func push(_ id: ObjectID, _ time: Int64) {
        items.append((id, time))
        var child = items.count - 1
        while child > 0, precedes(items[child], items[(child - 1) / 2]) {
            items.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func pop() -> ObjectID? {
        guard let first = items.first else { return nil }
        let last = items.removeLast()
        guard !items.isEmpty else { return first.id }
        items[0] = last
        var parent = 0
        while true {
            var best = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < items.count {
                if precedes(items[child], items[best]) { best = child }
            }
            if best == parent { return first.id }
            items.swapAt(best, parent)
            parent = best
        }
    }

    private func precedes(_ left: (id: ObjectID, time: Int64), _ right: (id: ObjectID, time: Int64)) -> Bool {
        left.time > right.time || (left.time == right.time && left.id < right.id)
    }
}
