internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The commits of a clone as a graph, read on demand and kept.
final class CommitGraph: Sendable {
    private let store: any ObjectReading
    private let cipher: VaultCipher
    /// Commits whose parents were deliberately not fetched.
    private let boundaries: Set<ObjectID>
    private let cache = Locked<[ObjectID: CommitObject]>([:])

    init(store: any ObjectReading, cipher: VaultCipher, boundaries: Set<ObjectID> = []) {
        self.store = store
        self.cipher = cipher
        self.boundaries = boundaries
    }

    /// A commit object, checked and decoded.
    func commit(_ id: ObjectID) throws(VaultError) -> CommitObject {
        if let known = cache.withLock({ $0[id] }) { return known }
        let object = try store.read(id, limit: Limits.metadataPlaintext)
        let commit = try Self.decode(object, cipher: cipher)
        cache.withLock { $0[id] = commit }
        return commit
    }

    /// The root tree of a commit.
    func tree(of id: ObjectID) throws(VaultError) -> ObjectID {
        try commit(id).tree(of: id)
    }

    static func decode(_ object: VerifiedObject, cipher: VaultCipher) throws(VaultError) -> CommitObject {
        try decoding("commit \(object.id.text)", object: object.id.text) { () throws(FormatError) in
            let plaintext = try cipher.open(object.bytes.span, limit: Limits.metadataPlaintext)
            return try CommitObject.decode(plaintext.span)
        }
    }

    /// The parents to walk to; none at a recorded shallow boundary.
    func parents(_ id: ObjectID) throws(VaultError) -> [ObjectID] {
        boundaries.contains(id) ? [] : try commit(id).parents
    }

    /// Everything reachable from the starts, the starts included, except what lies at or behind `stops`.
    func ancestors(of starts: [ObjectID], stoppingAt stops: Set<ObjectID> = []) throws(VaultError) -> Set<ObjectID> {
        var seen: Set<ObjectID> = []
        var pending = starts.filter { !stops.contains($0) }
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            for parent in try parents(id) where !stops.contains(parent) && !seen.contains(parent) {
                pending.append(parent)
            }
        }
        return seen
    }

    /// How two commits stand to each other.
    enum Relation: Sendable, Equatable {
        case same
        /// The left one descends from the right one.
        case ahead
        /// The right one descends from the left one.
        case behind
        /// Neither descends from the other.
        case apart
    }

    /// Looks from both sides in turn, newest first, so that a short way between the two is a short search.
    func relation(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> Relation {
        if left == right { return .same }
        let fromLeft = AncestorSet(graph: self, of: [left])
        let fromRight = AncestorSet(graph: self, of: [right])
        while true {
            let leftEnded = try fromLeft.advance() == nil
            if fromLeft.met(right) { return .ahead }
            let rightEnded = try fromRight.advance() == nil
            if fromRight.met(left) { return .behind }
            if leftEnded && rightEnded { return .apart }
        }
    }

    /// Whether `ancestor` is `commit` or reachable from it.
    func isAncestor(_ ancestor: ObjectID, of commit: ObjectID) throws(VaultError) -> Bool {
        try AncestorSet(graph: self, of: [commit]).contains(ancestor)
    }

    /// What is reachable from `head` and not from `other`.
    ///
    /// Reads no more than that when every way down from `head` leads to `other`; all history otherwise.
    func exclusive(_ head: ObjectID, not other: ObjectID?) throws(VaultError) -> Set<ObjectID> {
        guard let other else { return try ancestors(of: [head]) }
        if let found = try fenced(head, by: other) { return found }
        return try ancestors(of: [head], stoppingAt: ancestors(of: [other]))
    }

    /// Everything from `head` down to `fence`, when no way down leads past it: nothing of that can then be an ancestor
    /// of `fence`, for it would be its own ancestor.
    private func fenced(_ head: ObjectID, by fence: ObjectID) throws(VaultError) -> Set<ObjectID>? {
        guard head != fence else { return [] }
        let walk = AncestorSet(graph: self, of: [head], stoppingAt: fence)
        while let id = try walk.advance() {
            if try parents(id).isEmpty { return nil }
        }
        return walk.met(fence) ? walk.all.subtracting([fence]) : nil
    }

    /// Commits reachable from `left` only and from `right` only.
    func divergence(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> (left: Int, right: Int) {
        switch try relation(left, right) {
        case .same: return (0, 0)
        case .ahead: return (try exclusive(left, not: right).count, 0)
        case .behind: return (0, try exclusive(right, not: left).count)
        case .apart:
            let fromLeft = try ancestors(of: [left])
            let fromRight = try ancestors(of: [right])
            return (fromLeft.subtracting(fromRight).count, fromRight.subtracting(fromLeft).count)
        }
    }

    /// All merge bases: common ancestors that are no ancestor of another common ancestor.
    func mergeBases(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> [ObjectID] {
        let fromLeft = try ancestors(of: [left])
        if fromLeft.contains(right) { return [right] }
        // The first common commits met on every way down from the right; anything below them is dominated or met
        // on another way.
        var candidates: Set<ObjectID> = []
        var seen: Set<ObjectID> = [right]
        var pending = [right]
        while let id = pending.popLast() {
            if fromLeft.contains(id) {
                candidates.insert(id)
                continue
            }
            for parent in try parents(id) where seen.insert(parent).inserted { pending.append(parent) }
        }
        guard candidates.count > 1 else { return Array(candidates) }
        var dominated: Set<ObjectID> = []
        var below: Set<ObjectID> = []
        var queue: [ObjectID] = []
        for id in candidates { queue.append(contentsOf: try parents(id)) }
        while let id = queue.popLast() {
            guard below.insert(id).inserted else { continue }
            if candidates.contains(id) { dominated.insert(id) }
            queue.append(contentsOf: try parents(id))
        }
        return candidates.subtracting(dominated).sorted()
    }

    /// One merge base, the same one every time: the newest, then the smallest id (spec 05 §7).
    func mergeBase(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> ObjectID? {
        var best: (id: ObjectID, time: Int64)?
        for id in try mergeBases(left, right) {
            let time = try commit(id).timestampMs
            if let current = best, current.time > time || (current.time == time && current.id < id) { continue }
            best = (id, time)
        }
        return best?.id
    }
}

extension CommitObject {
    /// The root tree; a commit without one leads nowhere.
    func tree(of id: ObjectID) throws(VaultError) -> ObjectID {
        try decoding("commit \(id.text)", object: id.text) { () throws(FormatError) in try rootTree() }
    }
}
