internal import VaultCore
internal import VaultFormat

/// One portion of operations, sent until each of them has taken effect or one of the swaps is lost.
///
/// Servers stop at the first conflict. A conflict with our own bytes means that an earlier attempt, or an earlier run,
/// wrote them: it counts as done and the rest is sent again (spec 04 §4.3).
struct BatchRequest: Sendable {
    let remote: HTTPRemote
    let writeKey: HTTPSecret

    private var endpoint: Endpoint { remote.endpoint }

    /// The conflict that ended it, or nil when everything took effect.
    func run(_ chunk: [BatchWriter.Item]) async throws -> BatchOutcome? {
        var pending = chunk
        var hasProbed = false
        while !pending.isEmpty {
            // No ref or index is ever empty, and a server can not compare with nothing; an empty key is just replaced.
            for item in pending {
                guard case .swap(let target, .bytes(let old), _) = item.operation, old.isEmpty else { continue }
                if case .key = target { continue }
                return .conflict(position: item.position, current: try await content(target.fileID))
            }
            let answer: BatchCodec.Answer
            do {
                answer = try await exchange(pending)
            } catch let refusal as TooLarge {
                guard pending.count > 1 else { throw refusal.error }
                let half = pending.count / 2
                if let conflict = try await run(Array(pending[..<half])) { return conflict }
                pending.removeFirst(half)
                continue
            } catch let unknown as UnknownOutcome {
                return try await resolve(pending, unknown.error)
            }
            if answer.conflictsSomewhere {
                return try await resolve(pending, endpoint.errors.garbage("a conflict without its place"))
            }
            let conflict = try settle(&pending, answer)
            remote.knowledge.hasWritten = true
            switch conflict {
            case nil: continue
            case .lost(let position, let current)?: return .conflict(position: position, current: current)
            case .held?:
                // Objects that are there already come in company: one look tells which.
                if !hasProbed, pending.count(where: { $0.isImmutable }) > 1 { try await dropHeld(&pending) }
                hasProbed = true
            }
        }
        return nil
    }

    /// Whether the server took effect on a request is not known.
    private struct UnknownOutcome: Error {
        let error: VaultError
    }

    /// The request is too large for somebody on the way.
    private struct TooLarge: Error {
        let error: VaultError
    }

    private func exchange(_ pending: [BatchWriter.Item]) async throws -> BatchCodec.Answer {
        let body = BatchCodec.writing(try pending.map { try $0.step() })
        var request = endpoint.request(
            .post, endpoint.url("batch"), body: .bytes(body), type: "application/json", writeKey: writeKey)
        request.answerLimit = Endpoint.batchAnswer
        // What an earlier attempt did, no later refusal tells.
        var mayHaveWorked = false
        func failure(_ error: VaultError) -> any Error { mayHaveWorked ? UnknownOutcome(error: error) : error }
        let response: HTTPResponse
        do {
            response = try await endpoint.send(request, unclear: { mayHaveWorked = true })
        } catch let ended as HTTPFailure {
            if [.lost, .garbled, .stalled, .tooLarge, .stopped, .broken].contains(ended.kind) { mayHaveWorked = true }
            throw failure(endpoint.errors.error(ended))
        } catch let error as VaultError {
            throw failure(error)
        }
        switch response.status {
        case 200: break
        case 409, 412: return BatchCodec.Answer(results: [], conflictsSomewhere: true)
        case 413: throw TooLarge(error: endpoint.errors.error(response, writes: true))
        case 500...599: throw UnknownOutcome(error: endpoint.errors.error(response, writes: true))
        default: throw failure(endpoint.errors.error(response, writes: true))
        }
        do throws(FormatError) { return try BatchCodec.answer(response.body) } catch {
            throw UnknownOutcome(error: endpoint.errors.garbage(error.detail))
        }
    }

    /// A conflict, as it concerns what follows.
    private enum Conflict {
        /// A swap found another writer's bytes.
        case lost(position: Int, current: [UInt8]?)
        /// The bytes that were to be written are there.
        case held
    }

    /// Takes what was done out of `pending`.
    private func settle(
        _ pending: inout [BatchWriter.Item], _ answer: BatchCodec.Answer
    ) throws -> Conflict? {
        guard answer.results.count <= pending.count else { throw endpoint.errors.garbage("more results than steps") }
        var done: Set<Int> = []
        var conflict: Conflict?
        for (index, told) in answer.results.enumerated() {
            let item = pending[index]
            guard told.file == item.file.path else { throw endpoint.errors.garbage("results out of order") }
            switch told.result {
            case .done, .content: done.insert(index)
            case .absent where item.isRemoval: done.insert(index)
            case .undone: break
            case .conflict(let current):
                guard index == answer.results.count - 1 else {
                    throw endpoint.errors.garbage("results after a conflict")
                }
                conflict = try judge(item, current)
                if case .held? = conflict { done.insert(index) }
            case .absent, .refused: throw endpoint.errors.garbage("\(item.file.path) could not be written there")
            }
        }
        guard conflict != nil || answer.results.count == pending.count else {
            throw endpoint.errors.garbage("\(answer.results.count) results for \(pending.count) steps")
        }
        guard conflict != nil || done.count == pending.count else { throw endpoint.errors.garbage("steps were undone") }
        for item in done.map({ pending[$0] }) where item.isImmutable { remote.knowledge.note(item.file) }
        pending = pending.indices.filter { !done.contains($0) }.map { pending[$0] }
        return conflict
    }

    private func judge(_ item: BatchWriter.Item, _ current: [UInt8]?) throws -> Conflict {
        switch item.operation {
        case .swap(_, let expected, let new):
            if current == new { return .held }
            // A server tells an empty file and none alike; where none was expected, none would be no conflict.
            if current == nil, expected == .absent {
                return new.isEmpty ? .held : .lost(position: item.position, current: [])
            }
            return .lost(position: item.position, current: current)
        case .object(let id, _):
            guard try item.step().data == current ?? [] else { throw Self.other(id.text, endpoint) }
            return .held
        case .key(let id, let bytes):
            guard bytes == current ?? [] else { throw Self.other(id.text, endpoint) }
            return .held
        case .cache, .removeCache: throw endpoint.errors.garbage("a conflict without a condition")
        }
    }

    private static func other(_ id: String, _ endpoint: Endpoint) -> VaultError {
        VaultError(
            .objectCorrupt, "\(endpoint.errors.location) holds other bytes under \(id)",
            hint: "the place holding the vault is damaged or lies", object: id)
    }

    /// Leaves out what is there already, with the same bytes.
    private func dropHeld(_ pending: inout [BatchWriter.Item]) async throws {
        let found = try await remote.readAll(pending.filter(\.isImmutable).map(\.file))
        var kept: [BatchWriter.Item] = []
        for item in pending {
            guard item.isImmutable, case .content(let bytes)? = found[item.file] else {
                kept.append(item)
                continue
            }
            _ = try judge(item, bytes)
            remote.knowledge.note(item.file)
        }
        pending = kept
    }

    /// Finds out by reading what became of a request whose answer is missing (spec 10 B.10).
    ///
    /// - Throws: `error` when nothing tells that it took effect.
    private func resolve(_ pending: [BatchWriter.Item], _ error: VaultError) async throws -> BatchOutcome? {
        let swaps = pending.filter(\.isSwap)
        // Objects and keys are created once, however often they are sent.
        guard let last = swaps.last else { throw error }
        guard last.position == pending.last?.position else { throw unknown(error.code, error) }
        let found: [FileID: RemoteFile]
        do { found = try await remote.readAll(swaps.map(\.file)) } catch {
            throw unknown((error as? VaultError)?.code == .deferred ? .deferred : .unreachable, error)
        }
        for item in swaps {
            guard case .swap(_, let expected, let new) = item.operation else { continue }
            var current: [UInt8]?
            if case .content(let bytes)? = found[item.file] { current = bytes }
            if current == new { continue }
            let isUntouched =
                switch expected {
                case .absent: current == nil
                case .bytes(let old): current == old
                }
            guard isUntouched else { return .conflict(position: item.position, current: current) }
            throw error
        }
        // A server works in order: the last step of the request took effect, so all before it did.
        return nil
    }

    private func unknown(_ code: VaultError.Code, _ cause: any Error) -> VaultError {
        VaultError(
            code, "\(endpoint.errors.location) stopped answering; whether it took the last step is not known",
            hint: "run it again: what was sent is recognised", cause: cause
        ).answered((cause as? VaultError)?.answer)
    }

    private func content(_ file: FileID) async throws -> [UInt8]? {
        if case .content(let bytes)? = try await remote.readAll([file])[file] { bytes } else { nil }
    }
}

extension BatchWriter.Item {
    /// Where it acts.
    var file: FileID {
        switch operation {
        case .object(let id, _): .object(id)
        case .key(let id, _): .key(id)
        case .cache(let id, _), .removeCache(let id): id
        case .swap(let target, _, _): target.fileID
        }
    }

    /// Whether its bytes never change once they are there.
    var isImmutable: Bool {
        switch operation {
        case .object, .key: true
        default: false
        }
    }

    var isRemoval: Bool {
        if case .removeCache = operation { true } else { false }
    }
}
