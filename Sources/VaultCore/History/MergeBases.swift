internal import VaultFormat

/// The merge bases of two commits: common ancestors that are no ancestor of another common ancestor.
///
/// Marks what each side reaches, newest first, and ends when everything that is left lies below a common ancestor.
/// Marks that reach a commit again are carried on, so that clocks have no say in the answer: every commit that only one
/// side reaches is walked through, and a base is met from both sides on ways that hold no other common ancestor. What
/// the marks give is therefore every base, and perhaps a common ancestor below one, which is taken out afterwards.
private struct MergeBaseSearch {
    private struct Marks: OptionSet {
        let rawValue: UInt8
        static let left = Marks(rawValue: 1)
        static let right = Marks(rawValue: 2)
        /// Below a common ancestor.
        static let below = Marks(rawValue: 4)
        /// Waits to be walked through.
        static let waits = Marks(rawValue: 8)

        var isCommon: Bool { isSuperset(of: [.left, .right]) }
    }

    let graph: CommitGraph
    private var marks: [ObjectID: Marks] = [:]
    private var waiting = CommitHeap()
    /// Commits that wait and do not lie below a common ancestor.
    private var open = 0

    init(graph: CommitGraph) { self.graph = graph }

    /// Every base, and perhaps common ancestors below one.
    mutating func candidates(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> [ObjectID] {
        try mark(left, .left)
        try mark(right, .right)
        while open > 0, let id = waiting.pop() {
            guard var own = marks[id], own.contains(.waits) else { continue }
            own.remove(.waits)
            marks[id] = own
            if !own.contains(.below) { open -= 1 }
            let handed: Marks = own.isCommon ? [.left, .right, .below] : own
            for parent in try graph.parents(id) { try mark(parent, handed) }
        }
        return marks.filter { $0.value.isCommon && !$0.value.contains(.below) }.map(\.key)
    }

    private mutating func mark(_ id: ObjectID, _ more: Marks) throws(VaultError) {
        let old = marks[id] ?? []
        guard !old.isSuperset(of: more) else { return }
        let new = old.union(more).union(.waits)
        marks[id] = new
        if old.contains(.waits), !old.contains(.below) { open -= 1 }
        if !new.contains(.below) { open += 1 }
        // One that waits already keeps its place.
        if !old.contains(.waits) { waiting.push(id, try graph.time(id)) }
    }
}

extension CommitGraph {
    /// Up to so many candidates are compared two by two, which looks no further than their own bases.
    private static let pairwise = 8

    /// All merge bases: common ancestors that are no ancestor of another common ancestor; sorted.
    func mergeBases(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> [ObjectID] {
        var search = MergeBaseSearch(graph: self)
        let candidates = try search.candidates(left, right)
        guard candidates.count > 1 else { return candidates }
        let dominated =
            try candidates.count <= Self.pairwise ? compared(candidates.sorted()) : below(Set(candidates))
        return candidates.filter { !dominated.contains($0) }.sorted()
    }

    /// Those that are an ancestor of another: then they are the one base of the two.
    private func compared(_ candidates: [ObjectID]) throws(VaultError) -> Set<ObjectID> {
        var dominated: Set<ObjectID> = []
        for (index, left) in candidates.enumerated() {
            for right in candidates[(index + 1)...] where !dominated.contains(left) && !dominated.contains(right) {
                var search = MergeBaseSearch(graph: self)
                let found = try search.candidates(left, right)
                if found.contains(left) { dominated.insert(left) }
                if found.contains(right) { dominated.insert(right) }
            }
        }
        return dominated
    }

    /// The same by one walk through everything below.
    private func below(_ candidates: Set<ObjectID>) throws(VaultError) -> Set<ObjectID> {
        var seen: Set<ObjectID> = []
        var pending: [ObjectID] = []
        for id in candidates { pending += try parents(id) }
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            pending += try parents(id)
        }
        return candidates.intersection(seen)
    }

    /// One merge base, the same one every time: the newest, then the smallest id (spec 05 §7).
    func mergeBase(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> ObjectID? {
        var best: (id: ObjectID, time: Int64)?
        for id in try mergeBases(left, right) {
            let time = try time(id)
            if let current = best, current.time > time || (current.time == time && current.id < id) { continue }
            best = (id, time)
        }
        return best?.id
    }
}
