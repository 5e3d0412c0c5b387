internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Reads many files with a few requests at once, in portions that shrink where a server can not answer larger ones.
struct BatchReader: Sendable {
    private let endpoint: Endpoint
    private let knowledge: ServerKnowledge
    private let inlineBytes: Int
    /// Whether a portion that was refused is asked for in halves; else it is left out.
    private let splits: Bool
    private let queue: Queue

    init(endpoint: Endpoint, knowledge: ServerKnowledge, ids: [FileID], inlineBytes: Int, splits: Bool) {
        self.splits = splits
        self.endpoint = endpoint
        self.knowledge = knowledge
        self.inlineBytes = inlineBytes
        // Each once: an answer to a batch is told by the file's id.
        var seen: Set<FileID> = []
        queue = Queue(ids.filter { seen.insert($0).inserted })
    }

    /// Reads everything; gives what was left out.
    func run(parallel: Int, deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws -> [FileID] {
        let workers = min(parallel, (queue.count + BatchCodec.operations - 1) / BatchCodec.operations)
        guard workers > 1 else {
            try await work(deliver)
            return queue.leftOut
        }
        // The group ends before this call does, so the closure does not really escape.
        try await withoutActuallyEscaping(deliver) { deliver in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<workers { group.addTask { try await work(deliver) } }
                try await group.waitForAll()
            }
        }
        return queue.leftOut
    }

    private func work(_ deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        while let portion = queue.take(upTo: knowledge.batchSize) {
            try await read(portion, deliver)
        }
    }

    private func read(
        _ portion: [FileID], _ deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) async throws {
        let isOne = portion.count == 1
        var request = endpoint.request(
            .post, endpoint.url("batch"), body: .bytes(BatchCodec.reading(portion)), type: "application/json")
        request.answerLimit = Endpoint.batchAnswer
        request.onlyReads = true
        let response: HTTPResponse
        do {
            // Gateways answer these two when an answer is too large for them: half of it may fit (spec 04 §8.3), and one
            // file that is left of a refused portion comes by a route of its own.
            let isSmallest = isOne && !queue.wasSplit
            response = try await endpoint.send(request) { !isSmallest && ($0.status == 502 || $0.status == 503) }
        } catch let failure as HTTPFailure where failure.kind == .tooLarge {
            guard isOne else { return split(portion) }
            return try deliver(portion[0], .large(size: nil))
        }
        switch response.status {
        case 200: knowledge.hasBatches = true
        case 404, 405, 501:
            guard !knowledge.hasBatches else { throw endpoint.errors.error(response, writes: false) }
            throw NoBatchRoute()
        case 413, 502, 503:
            guard !isOne else { return try await readAlone(portion[0], response, deliver) }
            return split(portion)
        default: throw endpoint.errors.error(response, writes: false)
        }
        // Small answers show that more may be asked for again.
        if response.body.count < Endpoint.batchAnswer / 8 { knowledge.batchSize *= 2 }
        try hand(portion, response.body, deliver)
    }

    private func hand(
        _ portion: [FileID], _ body: [UInt8], _ deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) throws {
        let answer: BatchCodec.Answer
        do throws(FormatError) { answer = try BatchCodec.answer(body) } catch {
            throw endpoint.errors.garbage(error.detail)
        }
        var asked: [String: FileID] = [:]
        for id in portion { asked[id.path] = id }
        for (file, result) in answer.results {
            // What was not asked for is not taken.
            guard let id = asked.removeValue(forKey: file) else { continue }
            switch result {
            case .content(let bytes):
                try deliver(id, bytes.count > inlineBytes ? .large(size: Int64(bytes.count)) : .content(bytes))
            case .absent: try deliver(id, .absent)
            case .refused(let why) where why == "forbidden":
                throw VaultError(.tokenRefused, "\(endpoint.errors.location) refuses to give \(id.path)")
            case .done, .undone, .conflict, .refused:
                throw endpoint.errors.garbage("\(id.path) could not be read there")
            }
        }
        guard let left = asked.values.min(by: { $0.path < $1.path }) else { return }
        throw endpoint.errors.garbage("nothing is said about \(left.path)")
    }

    /// Half of it now, or none of it, and less at once from now on.
    private func split(_ portion: [FileID]) {
        guard splits else {
            // A portion that was small for want of files says nothing about how many to ask for.
            if portion.count == knowledge.batchSize { knowledge.batchSize = portion.count / 2 }
            return queue.leaveOut(portion)
        }
        knowledge.batchSize = portion.count / 2
        queue.putBack(portion)
    }

    /// A file that the batch route can not give, by the route for one file.
    private func readAlone(
        _ id: FileID, _ refusal: HTTPResponse, _ deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) async throws {
        var request = endpoint.request(.get, endpoint.url("read", id))
        request.answerLimit = inlineBytes
        do {
            let response = try await endpoint.send(request)
            switch response.status {
            case 200: try deliver(id, .content(response.body))
            case 404: try deliver(id, .absent)
            // Too large for this way as well, perhaps: the way for large objects tells.
            case 413, 502, 503:
                guard case .object = id else { throw endpoint.errors.error(response, writes: false) }
                try deliver(id, .large(size: nil))
            default: throw endpoint.errors.error(response, writes: false)
            }
        } catch let failure as HTTPFailure where failure.kind == .tooLarge {
            try deliver(id, .large(size: nil))
        }
    }

    /// What is still to be read.
    private final class Queue: Sendable {
        private let ids: Locked<[FileID]>
        private let splits = Locked(false)
        private let aside = Locked<[FileID]>([])
        let count: Int

        init(_ ids: [FileID]) {
            count = ids.count
            // Taken from the end.
            self.ids = Locked(ids.reversed())
        }

        func take(upTo count: Int) -> [FileID]? {
            ids.withLock { ids in
                guard !ids.isEmpty else { return nil }
                let taken = Array(ids.suffix(count).reversed())
                ids.removeLast(taken.count)
                return taken
            }
        }

        /// Whether a portion was refused.
        var wasSplit: Bool { splits.withLock { $0 } }

        /// What is not asked for any more.
        var leftOut: [FileID] { aside.withLock { $0 } }

        func leaveOut(_ portion: [FileID]) {
            aside.withLock { $0 += portion }
        }

        func putBack(_ portion: [FileID]) {
            splits.withLock { $0 = true }
            ids.withLock { $0 += portion.reversed() }
        }
    }
}
