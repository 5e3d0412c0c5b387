internal import VaultFormat
internal import VaultSystem

/// Everything one push sends, and the exact remote bytes it was planned against (spec 05 S3).
struct PublishPlan: Sendable {
    /// New commits, oldest last.
    var commits: [ObjectID]
    /// What is to be sent with its size; nil for one that is not here.
    var objects: [(id: ObjectID, size: Int64?)]
    var keys: [(id: KeyID, bytes: [UInt8])]
    /// The index to store, when the remote's lacks something.
    var index: (id: IndexID, expected: Expected, bytes: [UInt8])?
    /// This clone's own ref, sent once.
    var cloneRef: (id: RefID, bytes: [UInt8])?
    var namedRef: (id: RefID, expected: Expected, bytes: [UInt8])

    /// Bytes of all objects.
    var size: Int64

    /// Whether objects are among it that some remotes take by ways without a condition.
    var hasLarge: Bool { objects.contains { ($0.size ?? 0) > Limits.largeObject } }
}

/// Collects the objects of new commits that a remote does not have.
struct PublishPlanner {
    let store: ObjectStore
    let graph: CommitGraph
    let trees: TreeReader

    /// Everything the commits reach, minus what the commits in `remote` reach at the same places.
    ///
    /// * `commits`: The new commits.
    /// * `remote`: The remote's head; nil for a first push.
    func objects(of commits: [ObjectID], remote: ObjectID?) throws(VaultError) -> [ObjectID] {
        let new = Set(commits)
        var result: [ObjectID] = []
        var seen: Set<ObjectID> = []
        for id in commits {
            guard seen.insert(id).inserted else { continue }
            result.append(id)
        }
        // Oldest first, so that each commit is compared with parents whose objects are known to be there by then.
        for id in try ordered(commits, new) {
            let commit = try graph.commit(id)
            var known: [ObjectID] = []
            for parent in commit.parents { known.append(try graph.tree(of: parent)) }
            if known.isEmpty, let remote { known.append(try graph.tree(of: remote)) }
            try collect(commit.tree(of: id), known: known, &seen, &result)
        }
        return result
    }

    private func ordered(_ commits: [ObjectID], _ new: Set<ObjectID>) throws(VaultError) -> [ObjectID] {
        var children: [ObjectID: [ObjectID]] = [:]
        var waiting: [ObjectID: Int] = [:]
        var ready: [ObjectID] = []
        for id in commits {
            let parents = Set(try graph.parents(id)).intersection(new)
            waiting[id] = parents.count
            if parents.isEmpty { ready.append(id) }
            for parent in parents { children[parent, default: []].append(id) }
        }
        var result: [ObjectID] = []
        while let id = ready.popLast() {
            result.append(id)
            for child in children[id] ?? [] {
                waiting[child, default: 1] -= 1
                if waiting[child] == 0 { ready.append(child) }
            }
        }
        return result
    }

    /// Adds a tree and what is below it, leaving out what stands in one of the known trees at the same place.
    private func collect(
        _ root: ObjectID, known: [ObjectID], _ seen: inout Set<ObjectID>, _ result: inout [ObjectID]
    ) throws(VaultError) {
        var pending: [(tree: ObjectID, known: [ObjectID], depth: Int)] = [(root, known, 0)]
        while let next = pending.popLast() {
            guard !next.known.contains(next.tree), seen.insert(next.tree).inserted else { continue }
            guard next.depth <= Limits.treeDepth else {
                throw VaultError(
                    .objectCorrupt, "the folders of a tree nest deeper than \(Limits.treeDepth) levels")
            }
            result.append(next.tree)
            var files: Set<ObjectID> = []
            var folders: [[UInt8]: [ObjectID]] = [:]
            for id in next.known {
                for entry in try trees.tree(id).entries {
                    switch entry.target {
                    case .file(let file): files.insert(file.blobID)
                    case .folder(let folder): folders[entry.name, default: []].append(folder)
                    }
                }
            }
            for entry in try trees.tree(next.tree).entries {
                switch entry.target {
                case .file(let file):
                    if !files.contains(file.blobID), seen.insert(file.blobID).inserted { result.append(file.blobID) }
                case .folder(let folder):
                    pending.append((folder, folders[entry.name] ?? [], next.depth + 1))
                }
            }
        }
    }
}

/// Sends a plan: objects and keys first, then index, clone ref and, last of all, the named ref.
///
/// Reads no ref.
struct Publisher {
    let remote: any Remote
    let authorization: WriteAuthorization
    let store: ObjectStore
    let observer: any Observer
    /// Whether an earlier push may have sent large objects that nothing there tells of yet.
    var isRepeated = true

    /// How a publication ended.
    enum Outcome: Sendable, Equatable {
        case published
        /// Another writer was first at this file.
        case conflict(FileID)
    }

    func publish(_ plan: PublishPlan) async throws -> Outcome {
        var final: [WriteOperation] = []
        for key in plan.keys { final.append(.key(key.id, key.bytes)) }
        if let index = plan.index {
            final.append(.swap(.index(index.id), expected: index.expected, new: index.bytes))
        }
        if let ref = plan.cloneRef { final.append(.swap(.ref(ref.id), expected: .absent, new: ref.bytes)) }
        final.append(.swap(.ref(plan.namedRef.id), expected: plan.namedRef.expected, new: plan.namedRef.bytes))
        let objects = try await sendFull(plan.objects, total: plan.size)
        if objects.count > remote.limits.operations - final.count {
            try await send(objects)
            return try await finish(final)
        }
        return try await finish(objects + final)
    }

    /// Sends objects and keys, and nothing that refers to them.
    func send(_ objects: [(id: ObjectID, size: Int64?)], keys: [(id: KeyID, bytes: [UInt8])]) async throws {
        let rest = try await sendFull(objects, total: objects.reduce(0) { $0 + ($1.size ?? 0) })
        if !rest.isEmpty { try await send(rest) }
        var left = keys.map { WriteOperation.key($0.id, $0.bytes) }[...]
        while !left.isEmpty {
            let part = left.prefix(remote.limits.operations)
            try await send(Array(part))
            left = left.dropFirst(part.count)
        }
    }

    /// Sends objects in as full batches as the remote takes, but for those of the last one.
    private func sendFull(
        _ all: [(id: ObjectID, size: Int64?)], total: Int64
    ) async throws -> [WriteOperation] {
        var objects: [WriteOperation] = []
        var payload = 0
        var sent: (count: Int, bytes: Int64) = (0, 0)
        let limits = remote.limits
        for (id, size) in all {
            guard let size else { throw ObjectStore.missing(id) }
            let isFull = objects.count >= limits.operations || payload > limits.payloadBytes - Int(clamping: size)
            if !objects.isEmpty && isFull {
                try await send(objects)
                sent.count += objects.count
                report(sent, of: all.count, total)
                (objects, payload) = ([], 0)
            }
            objects.append(.object(id, StoredObjectSource(store: store, id: id, size: size)))
            payload = Int(clamping: Int64(payload) &+ size)
            sent.bytes += size
        }
        return objects
    }

    private func report(_ sent: (count: Int, bytes: Int64), of count: Int, _ total: Int64) {
        observer.progress(
            Progress(phase: .upload, done: sent.count, total: count, bytes: sent.bytes, totalBytes: total))
    }

    private func send(_ operations: [WriteOperation]) async throws {
        let outcome = try await remote.apply(batch(operations), authorization: authorization)
        guard outcome == .applied else {
            throw VaultError(.serverError, "\(remote.location) answered a conflict to a batch without conditions")
        }
    }

    private func batch(_ operations: [WriteOperation]) throws -> WriteBatch {
        var batch = try WriteBatch(operations)
        batch.isRepeated = isRepeated
        return batch
    }

    /// The last batch.
    ///
    /// A conflict whose current bytes are ours means that an earlier attempt landed: what follows it is sent again
    /// (spec 04 §4.3).
    private func finish(_ operations: [WriteOperation]) async throws -> Outcome {
        var rest = operations
        while true {
            switch try await remote.apply(batch(rest), authorization: authorization) {
            case .applied: return .published
            case .conflict(let position, let current):
                guard position >= 0, position < rest.count,
                    case .swap(let target, _, let new) = rest[position]
                else { throw VaultError(.serverError, "\(remote.location) answered a conflict that can not be") }
                guard let current, current == new else { return .conflict(target.fileID) }
                rest.remove(at: position)
                if rest.isEmpty { return .published }
            }
        }
    }
}
