internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Gives commits by id.
protocol CommitSource: Sendable {
    func commit(_ id: ObjectID) throws(VaultError) -> CommitObject
}

/// The commits of a store, checked and decoded.
struct StoredCommits: CommitSource {
    let store: any ObjectReading
    let cipher: VaultCipher

    func commit(_ id: ObjectID) throws(VaultError) -> CommitObject {
        try CommitGraph.decode(store.read(id, limit: Limits.metadataPlaintext), cipher: cipher)
    }
}

/// The commits of a clone as a graph, read on demand.
///
/// What walks need of a commit, its parents and its time, is kept; of whole commits only so many.
final class CommitGraph: Sendable {
    /// What is kept of every commit that was read.
    private struct Node: Sendable {
        var timestampMs: Int64
        var parents: Parents
    }

    /// The parents of a commit; most have one, which needs no array of its own.
    private enum Parents: Sendable {
        case one(ObjectID)
        case many([ObjectID])

        init(_ all: [ObjectID]) {
            if all.count == 1 { self = .one(all[0]) } else { self = .many(all) }
        }

        var all: [ObjectID] {
            switch self {
            case .one(let id): [id]
            case .many(let ids): ids
            }
        }
    }

    private struct Kept: Sendable {
        var nodes: [ObjectID: Node] = [:]
        var commits: [ObjectID: CommitObject] = [:]
    }

    /// About 8 MiB of whole commits.
    private static let keptCommits = 8192

    private let source: any CommitSource
    /// Commits whose parents were deliberately not fetched.
    let boundaries: Set<ObjectID>
    private let kept = Locked(Kept())

    init(source: any CommitSource, boundaries: Set<ObjectID> = []) {
        self.source = source
        self.boundaries = boundaries
    }

    convenience init(store: any ObjectReading, cipher: VaultCipher, boundaries: Set<ObjectID> = []) {
        self.init(source: StoredCommits(store: store, cipher: cipher), boundaries: boundaries)
    }

    /// A commit object, checked and decoded.
    func commit(_ id: ObjectID) throws(VaultError) -> CommitObject {
        if let known = kept.withLock({ $0.commits[id] }) { return known }
        let commit = try source.commit(id)
        kept.withLock { kept in
            if kept.commits.count >= Self.keptCommits { kept.commits.removeAll(keepingCapacity: true) }
            kept.commits[id] = commit
            kept.nodes[id] = Node(timestampMs: commit.timestampMs, parents: Parents(commit.parents))
        }
        return commit
    }

    private func node(_ id: ObjectID) throws(VaultError) -> Node {
        if let known = kept.withLock({ $0.nodes[id] }) { return known }
        let commit = try commit(id)
        return Node(timestampMs: commit.timestampMs, parents: Parents(commit.parents))
    }

    /// When a commit was made, milliseconds since 1970.
    func time(_ id: ObjectID) throws(VaultError) -> Int64 {
        try node(id).timestampMs
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
        boundaries.contains(id) ? [] : try node(id).parents.all
    }

    /// Whether what is reachable from the starts ends at a boundary, so that more may be than is known here.
    func endsShort(_ starts: [ObjectID]) throws(VaultError) -> Bool {
        guard !boundaries.isEmpty else { return false }
        return try !ancestors(of: starts).isDisjoint(with: boundaries)
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
}

extension CommitObject {
    /// The root tree; a commit without one leads nowhere.
    func tree(of id: ObjectID) throws(VaultError) -> ObjectID {
        try decoding("commit \(id.text)", object: id.text) { () throws(FormatError) in try rootTree() }
    }
}
