internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Uploads in parts that are not complete yet; they end with the server.
final class UploadSessions: Sendable {
    private let sessions = Locked<[String: UploadSession]>([:])
    private let limits: ServerLimits
    private let clock: any Clock

    init(limits: ServerLimits, clock: any Clock) {
        self.limits = limits
        self.clock = clock
    }

    /// Begins an upload.
    ///
    /// - Throws: 503 while there are as many as may be.
    func add(_ session: UploadSession) throws(Refusal) {
        expire()
        let isTaken = sessions.withLock { sessions in
            guard sessions.count < limits.uploads else { return false }
            sessions[session.id] = session
            return true
        }
        if !isTaken { throw .busy }
    }

    /// The upload of this id.
    ///
    /// - Throws: 404 for one that is unknown, over, or of another vault.
    func find(_ id: String, _ vault: VaultID) throws(Refusal) -> UploadSession {
        guard let session = sessions.withLock({ $0[id] }), session.vault == vault,
            session.expiresNs > clock.monotonicNs
        else { throw Refusal(404, "Unknown upload") }
        return session
    }

    /// Forgets an upload and removes its file.
    func remove(_ session: UploadSession) {
        session.close()
        sessions.withLock { $0[session.id] = nil }
    }

    /// Forgets the uploads of a vault.
    func removeAll(of vault: VaultID) {
        for session in sessions.withLock({ Array($0.values) }) where session.vault == vault { remove(session) }
    }

    /// Forgets what has run out of time.
    func expire() {
        let now = clock.monotonicNs
        for session in sessions.withLock({ Array($0.values) }) where session.expiresNs <= now { remove(session) }
    }
}

/// One upload in parts, which all go to their place in one file.
final class UploadSession: Sendable {
    private struct Part {
        var attempt = 0
        var written: Int64 = 0
        var tag: String?
    }

    private struct State {
        var parts: [Int: Part] = [:]
        /// Over, or being completed: no part is taken.
        var isClosed = false
        var file: UploadFile?
    }

    let id: String
    let vault: VaultID
    let path: StorePath
    let size: Int64
    let partSize: Int64
    let partCount: Int
    let expiresNs: Int64
    private let state: Locked<State>

    init(
        id: String, vault: VaultID, path: StorePath, size: Int64, partSize: Int64, partCount: Int, expiresNs: Int64,
        file: UploadFile
    ) {
        self.id = id
        self.vault = vault
        self.path = path
        self.size = size
        self.partSize = partSize
        self.partCount = partCount
        self.expiresNs = expiresNs
        state = Locked(State(file: file))
    }

    /// The length of a part; the last ones may be short or empty.
    func length(of part: Int) -> Int64 {
        min(max(size - Int64(part - 1) * partSize, 0), partSize)
    }

    private static let over = Refusal(409, "The upload is complete or another attempt took over")

    /// Begins a part; an attempt under way is no longer listened to.
    func begin(_ part: Int) throws(Refusal) -> Int {
        let attempt = state.withLock { state -> Int? in
            guard !state.isClosed else { return nil }
            let attempt = (state.parts[part]?.attempt ?? 0) + 1
            state.parts[part] = Part(attempt: attempt)
            return attempt
        }
        guard let attempt else { throw Self.over }
        return attempt
    }

    /// Writes bytes of a part to their place.
    func write(_ bytes: [UInt8], part: Int, attempt: Int) throws {
        let length = length(of: part)
        try state.withLock { state in
            // Under the lock, so that no late attempt writes into a file that is published already.
            guard !state.isClosed, var known = state.parts[part], known.attempt == attempt, let file = state.file else {
                throw Self.over
            }
            guard known.written + Int64(bytes.count) <= length else { throw Refusal(400, "The part is too long") }
            try file.write(bytes, at: Int64(part - 1) * partSize + known.written)
            known.written += Int64(bytes.count)
            state.parts[part] = known
        }
    }

    /// Ends a part and gives its tag.
    func end(_ part: Int, attempt: Int) throws -> String {
        let length = length(of: part)
        let tag = "\"" + String(UInt64.random(in: 0...UInt64.max), radix: 16) + "-\(part)\""
        try state.withLock { state in
            guard !state.isClosed, var known = state.parts[part], known.attempt == attempt else { throw Self.over }
            guard known.written == length else { throw Refusal(400, "The part is too short") }
            known.tag = tag
            state.parts[part] = known
        }
        return tag
    }

    /// Checks that all parts are there under their tags, and gives the file; nobody writes to it any more, unless
    /// `reopen` follows.
    func complete(_ tags: [Int: String]) throws(Refusal) -> UploadFile {
        let partCount = partCount
        let file = state.withLock { state -> UploadFile? in
            guard !state.isClosed, tags.count == partCount else { return nil }
            for part in 1...partCount {
                guard let tag = state.parts[part]?.tag, tags[part] == tag else { return nil }
            }
            state.isClosed = true
            return state.file
        }
        guard let file else { throw Refusal(400, "InvalidPart") }
        return file
    }

    /// Takes parts again, and may be completed again; unless it was removed meanwhile.
    func reopen() {
        state.withLock { state in state.isClosed = state.file == nil }
    }

    /// Listens to nobody any more and lets the file go.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.file = nil
        }
    }
}

/// The body of one part.
final class PartBody: BodySink {
    private let session: UploadSession
    private let part: Int
    private let attempt: Int
    private let room: Locked<RoomWatch>

    init(_ session: UploadSession, part: Int, of store: ServedStore) throws(Refusal) {
        self.session = session
        room = Locked(RoomWatch(store))
        self.part = part
        attempt = try session.begin(part)
    }

    func receive(_ bytes: [UInt8]) throws {
        try room.withLock { room in try room.count(bytes.count) }
        try session.write(bytes, part: part, attempt: attempt)
    }

    func end() throws -> String {
        try session.end(part, attempt: attempt)
    }
}
