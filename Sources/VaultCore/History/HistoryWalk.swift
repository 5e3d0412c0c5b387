internal import VaultFormat

/// Walks history newest first.
struct HistoryWalk {
    let graph: CommitGraph
    let firstParent: Bool
    /// Read no more of history than is asked for.
    ///
    /// A commit then never counts as newer than the child it was met through; of its other children one with a wrong clock
    /// may come after it. Otherwise no commit comes before any of its children.
    var isLazy = true

    /// Calls `visit` for the commits reachable from `starts`, within `included` where given, with those of their parents
    /// that are walked to; false stops the walk.
    func run(
        from starts: [ObjectID], within included: Set<ObjectID>?,
        _ visit: (ObjectID, CommitObject, [ObjectID]) throws -> Bool
    ) throws {
        if !isLazy { return try inOrder(from: starts, within: included, visit) }
        var seen: Set<ObjectID> = []
        var ready = CommitHeap()
        func meet(_ id: ObjectID, notAfter limit: Int64) throws {
            guard included?.contains(id) ?? true, seen.insert(id).inserted else { return }
            ready.push(id, min(try graph.time(id), limit))
        }
        for start in starts { try meet(start, notAfter: .max) }
        while let (id, time) = ready.popTimed() {
            let parents = try parents(id, within: included)
            guard try visit(id, graph.commit(id), parents) else { return }
            for parent in parents { try meet(parent, notAfter: time) }
        }
    }

    /// The parents to walk to, each once.
    private func parents(_ id: ObjectID, within included: Set<ObjectID>?) throws(VaultError) -> [ObjectID] {
        let all = try graph.parents(id)
        if all.count < 2 { return all.filter { included?.contains($0) ?? true } }
        var unique: [ObjectID] = []
        for parent in firstParent ? Array(all.prefix(1)) : all
        where (included?.contains(parent) ?? true) && !unique.contains(parent) {
            unique.append(parent)
        }
        return unique
    }

    private func inOrder(
        from starts: [ObjectID], within included: Set<ObjectID>?,
        _ visit: (ObjectID, CommitObject, [ObjectID]) throws -> Bool
    ) throws {
        // Children not yet shown, per commit: a commit is ready when none is left.
        var children: [ObjectID: Int32] = [:]
        var pending: [ObjectID] = []
        for start in starts where (included?.contains(start) ?? true) && children[start] == nil {
            children[start] = 0
            pending.append(start)
        }
        let roots = pending
        while let id = pending.popLast() {
            for parent in try parents(id, within: included) {
                if children[parent] == nil { pending.append(parent) }
                children[parent, default: 0] += 1
            }
        }
        var ready = CommitHeap()
        for start in roots where children[start] == 0 { ready.push(start, try graph.time(start)) }
        while let id = ready.pop() {
            let parents = try parents(id, within: included)
            guard try visit(id, graph.commit(id), parents) else { return }
            for parent in parents {
                children[parent, default: 1] -= 1
                if children[parent] == 0 { ready.push(parent, try graph.time(parent)) }
            }
        }
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

    mutating func pop() -> ObjectID? { popTimed()?.id }

    mutating func popTimed() -> (id: ObjectID, time: Int64)? {
        guard let first = items.first else { return nil }
        let last = items.removeLast()
        guard !items.isEmpty else { return first }
        items[0] = last
        var parent = 0
        while true {
            var best = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < items.count {
                if precedes(items[child], items[best]) { best = child }
            }
            if best == parent { return first }
            items.swapAt(best, parent)
            parent = best
        }
    }

    private func precedes(_ left: (id: ObjectID, time: Int64), _ right: (id: ObjectID, time: Int64)) -> Bool {
        left.time > right.time || (left.time == right.time && left.id < right.id)
    }
}
