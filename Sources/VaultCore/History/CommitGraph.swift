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

    /// Whether `ancestor` is `commit` or reachable from it.
    func isAncestor(_ ancestor: ObjectID, of commit: ObjectID) throws(VaultError) -> Bool {
        if ancestor == commit { return true }
        var seen: Set<ObjectID> = [commit]
        var pending = [commit]
        while let id = pending.popLast() {
            for parent in try parents(id) where seen.insert(parent).inserted {
                if parent == ancestor { return true }
                pending.append(parent)
            }
        }
        return false
    }

    /// Commits reachable from `left` only and from `right` only.
    func divergence(_ left: ObjectID, _ right: ObjectID) throws(VaultError) -> (left: Int, right: Int) {
        if left == right { return (0, 0) }
        let fromLeft = try ancestors(of: [left])
        let onlyRight = try ancestors(of: [right], stoppingAt: fromLeft)
        if onlyRight.isEmpty {
            return (try ancestors(of: [left], stoppingAt: ancestors(of: [right])).count, 0)
        }
        let fromRight = try ancestors(of: [right])
        return (fromLeft.subtracting(fromRight).count, onlyRight.count)
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
