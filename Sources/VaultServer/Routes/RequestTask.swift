internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// What comes next for a request.
indirect enum Step: Sendable {
    /// The answer.
    case reply(Reply)
    /// Work that may wait: on a thread of its own, and one at a time for each vault that is named.
    case work(lane: VaultID?, @Sendable () throws -> Step)
}

/// A request between its head and its answer.
final class RequestTask {
    let method: String
    let path: String
    let startedNs: Int64
    /// The vault that is asked for, once it is known.
    var vault: VaultID?
    /// The name of the token that was shown.
    let tokenName = Locked<String?>(nil)
    /// Takes the body; nil when none is wanted.
    var sink: (any BodySink)?
    /// Called when the request is there as a whole.
    var finish: (@Sendable () throws -> Step)?
    var receivedBytes: Int64 = 0

    init(method: String, path: String, startedNs: Int64) {
        self.method = method
        self.path = path
        self.startedNs = startedNs
    }
}

/// Where a body goes.
protocol BodySink: AnyObject, Sendable {
    func receive(_ bytes: [UInt8]) throws
}

/// Memory that requests share, so that many at once can not take more than there is.
final class MemoryBudget: Sendable {
    private let left: Locked<Int>

    init(_ bytes: Int) {
        left = Locked(bytes)
    }

    /// Takes a share.
    ///
    /// - Throws: 503 while there is not so much left.
    func charge(_ bytes: Int) throws(Refusal) -> MemoryCharge {
        try take(bytes)
        return MemoryCharge(self, bytes)
    }

    fileprivate func take(_ bytes: Int) throws(Refusal) {
        let isGranted = left.withLock { left in
            guard left >= bytes else { return false }
            left -= bytes
            return true
        }
        if !isGranted { throw .busy }
    }

    fileprivate func give(_ bytes: Int) {
        left.withLock { $0 += bytes }
    }
}

/// A share of the memory, given back with its last reference.
final class MemoryCharge: Sendable {
    private let budget: MemoryBudget
    private let bytes: Locked<Int>

    fileprivate init(_ budget: MemoryBudget, _ bytes: Int) {
        self.budget = budget
        self.bytes = Locked(bytes)
    }

    deinit {
        budget.give(bytes.withLock { $0 })
    }

    func grow(by more: Int) throws(Refusal) {
        try budget.take(more)
        bytes.withLock { $0 += more }
    }

    /// Gives back what is above `count` bytes.
    func shrink(to count: Int) {
        let rest = bytes.withLock { bytes in
            let rest = max(bytes - count, 0)
            bytes -= rest
            return rest
        }
        budget.give(rest)
    }
}

/// A body that is needed whole: a JSON document.
final class MemoryBody: BodySink {
    private let limit: Int
    private let excess: any Error
    private let charge: MemoryCharge
    private let held = Locked<[UInt8]>([])

    /// * `excess`: What is thrown for more than `limit` bytes.
    init(limit: Int, excess: any Error = Refusal.tooLarge, budget: MemoryBudget) throws(Refusal) {
        self.limit = limit
        self.excess = excess
        charge = try budget.charge(0)
    }

    /// What has arrived.
    var bytes: [UInt8] { held.withLock { $0 } }

    func receive(_ bytes: [UInt8]) throws {
        guard held.withLock({ $0.count }) + bytes.count <= limit else { throw excess }
        // The document, its values and their decoded form are in memory side by side.
        try charge.grow(by: bytes.count * 3)
        held.withLock { $0 += bytes }
    }

    /// The document.
    ///
    /// - Throws: `refusal` when it is no JSON within the bounds.
    func document(else refusal: Refusal) throws(Refusal) -> JSONValue {
        let bytes = bytes
        let bounds = JSONReader.Bounds(depth: ServerLimits.jsonDepth, values: ServerLimits.jsonValues)
        guard let value = try? JSONReader.parse(bytes.span, bounds: bounds) else { throw refusal }
        return value
    }
}
