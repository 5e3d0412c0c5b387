package import VaultCore
package import VaultFormat
internal import VaultSystem

/// A vault at a server that speaks the API of spec 04.
///
/// Objects and keys are created, never replaced: a write that finds other bytes under an id fails. Objects above 4 MiB go
/// by routes that take no condition: they are checked against their ids on the way, and of a batch that may have been sent
/// before only those go that a listing does not name. Refs and the index move by compare-and-swap. What a lost answer
/// leaves open is found out by reading before anything is reported.
package struct HTTPRemote: Remote {
    /// How a remote behaves.
    package struct Options: Sendable {
        /// Sent to this server only.
        package var token: HTTPSecret?
        /// Gives the token when the server wants one and none was given; asked once at most.
        package var askForToken: (@Sendable () throws -> HTTPSecret?)?
        package var retry = RetryPolicy()
        /// Where a server's wish for no requests is kept; nil for nowhere.
        package var backoff: (any BackoffStore)?
        /// Origins besides those of this machine that may be spoken to without encryption.
        package var cleartextOrigins: [String] = []
        package var client = HTTPClient.Options()

        package init() {}
    }

    package let location: String
    let endpoint: Endpoint
    /// What is learnt about the server on the way.
    let knowledge = ServerKnowledge()
    let parallel: Int
    /// The same place as a host that only gives files, which it may turn out to be.
    private let files: StaticRemote

    /// Deployed servers compare and put in two calls (spec 04 §4.2).
    package var swapsAtOnce: Bool { false }

    /// Several requests' worth at once, which then are under way side by side.
    package var limits: RemoteLimits {
        RemoteLimits(operations: 8 * BatchCodec.operations, payloadBytes: 24 << 20)
    }

    /// A remote at a base URL.
    ///
    /// No connection is made.
    ///
    /// - Throws: `usage` for what is no such URL, `cleartextRefused` for one without encryption that is neither of this
    ///   machine nor allowed, `refused` for a vault id that no server takes.
    package init(
        _ base: String, vaultID: VaultID, options: Options = Options(), environment: VaultEnvironment
    ) throws(VaultError) {
        let url = try Self.checked(base, allowing: options.cleartextOrigins)
        guard vaultID.isServable else {
            throw VaultError(
                .refused, "servers take no vault id of fewer than 8 characters, and this is \(vaultID)",
                hint: "use the path of a folder as server")
        }
        location = base
        parallel = max(1, options.client.parallel)
        let pool = environment.pool
        let client = HTTPClient(options.client, clock: environment.clock) { try pool.checkCancellation() }
        let token = HeldToken(options.token, ask: options.askForToken)
        endpoint = Endpoint(
            base: url, vaultID: vaultID, token: token, client: client,
            retrier: Retrier(
                client: client, policy: options.retry, backoff: options.backoff, clock: environment.clock,
                random: environment.random),
            errors: ServerErrors(location: base, token: token, clock: environment.clock))
        files = StaticRemote(endpoint: endpoint)
    }

    /// Reads a base URL and applies the rule about encryption (spec 10 B.10).
    package static func checked(_ base: String, allowing origins: [String]) throws(VaultError) -> WebURL {
        guard let url = WebURL(base), url.query.isEmpty, !base.contains("#") else {
            throw VaultError(.usage, "the server is no URL that can be asked", hint: "https://host[:port][/path]")
        }
        guard url.isSecure || url.isLoopback || origins.contains(where: { WebURL($0)?.origin == url.origin }) else {
            throw VaultError(
                .cleartextRefused, "\(url.origin) would be spoken to without encryption; nothing was sent",
                hint: "use https; server.allowCleartext lists origins where you accept it")
        }
        return url
    }

    /// How many requests were sent so far.
    package var requests: Int { endpoint.client.requests }

    /// The token, once an answer has shown that the server takes it, or needs none.
    package var workingToken: HTTPSecret? {
        knowledge.hasWritten || endpoint.token.hasWorked ? endpoint.token.current : nil
    }

    package func read(_ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void) async throws {
        _ = try await read(ids, splits: true, deliver)
    }

    package func sweep(
        _ ids: [FileID], deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) async throws -> [FileID] {
        try await read(ids, splits: false, deliver)
    }

    private func read(
        _ ids: [FileID], splits: Bool, _ deliver: @Sendable (FileID, RemoteFile) throws -> Void
    ) async throws -> [FileID] {
        guard !ids.isEmpty else { return [] }
        return try await mapped {
            if !knowledge.isStatic {
                let reader = BatchReader(
                    endpoint: endpoint, knowledge: knowledge, ids: ids, inlineBytes: limits.inlineBytes,
                    splits: splits)
                do {
                    return try await reader.run(parallel: parallel, deliver: deliver)
                } catch is NoBatchRoute {
                    // Nothing was delivered: this is found out by the first answer of all.
                    knowledge.isStatic = true
                }
            }
            try await files.read(ids, inlineBytes: limits.inlineBytes, parallel: parallel, deliver: deliver)
            return []
        }
    }

    package func stream(_ id: FileID, into sink: (Span<UInt8>) throws -> Void) async throws -> Bool {
        try await mapped {
            if knowledge.isStatic { return try await files.stream(id, into: sink) }
            return try await LargeDownload(endpoint: endpoint, knowledge: knowledge, parallel: parallel).run(
                id, into: sink)
        }
    }

    package func list(_ area: RemoteArea) async throws -> [FileID] {
        try await mapped {
            guard knowledge.isStatic else { return try await Listing(endpoint: endpoint).run(area) }
            return try await files.list().filter { Listing.contains(area, $0) }
        }
    }

    package func destroy(authorization: WriteAuthorization) async throws -> Int? {
        try checkWriter(authorization)
        let key = try Endpoint.secret(authorization.writeKey)
        return try await mapped { try await Destruction(endpoint: endpoint, writeKey: key).run() }
    }

    package func apply(_ batch: WriteBatch, authorization: WriteAuthorization) async throws -> BatchOutcome {
        guard !batch.operations.isEmpty else { return .applied }
        try checkWriter(authorization)
        let key = try Endpoint.secret(authorization.writeKey)
        return try await mapped {
            try await BatchWriter(remote: self, writeKey: key, isRepeated: batch.isRepeated).run(batch.operations)
        }
    }

    /// Refuses what can not be written here.
    private func checkWriter(_ authorization: WriteAuthorization) throws(VaultError) {
        guard authorization.vaultID == endpoint.vaultID else {
            throw VaultError(.internalError, "a write for vault \(authorization.vaultID) on the remote of another")
        }
        guard !knowledge.isStatic else {
            throw VaultError(
                .readOnlyRemote, "\(location) is a published vault and takes no writes", hint: "push to a server")
        }
    }

    /// Runs `body` and turns the network's failures into the errors of a remote.
    func mapped<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let failure as HTTPFailure { throw endpoint.errors.error(failure) }
    }
}

/// The server has no batch route, and has not shown before that it has one.
struct NoBatchRoute: Error {}

/// What one remote has learnt about its server.
final class ServerKnowledge: Sendable {
    private struct State {
        var batchSize = BatchCodec.operations
        var hasPresigned: Bool?
        var hasWritten = false
        var listed: Set<FileID>?
        var sent: Set<FileID> = []
        var hasBatches = false
        var isStatic = false
    }

    private let state = Locked(State())

    /// How many files to ask for at once.
    var batchSize: Int {
        get { state.withLock { $0.batchSize } }
        set { state.withLock { $0.batchSize = max(1, min(BatchCodec.operations, newValue)) } }
    }

    /// Whether the batch route has answered.
    var hasBatches: Bool {
        get { state.withLock { $0.hasBatches } }
        set { state.withLock { $0.hasBatches = newValue } }
    }

    /// Whether this is a host that only gives files.
    var isStatic: Bool {
        get { state.withLock { $0.isStatic } }
        set { state.withLock { $0.isStatic = newValue } }
    }

    /// Whether large objects go to and come from an object store of the server's; nil while nobody asked.
    var hasPresigned: Bool? {
        get { state.withLock { $0.hasPresigned } }
        set { state.withLock { $0.hasPresigned = newValue } }
    }

    var hasWritten: Bool {
        get { state.withLock { $0.hasWritten } }
        set { state.withLock { $0.hasWritten = newValue } }
    }

    /// Whether somebody looked what objects there are.
    var hasListed: Bool { state.withLock { $0.listed != nil } }

    /// Takes what is there.
    func listed(_ files: [FileID]) {
        state.withLock { $0.listed = Set(files) }
    }

    /// Whether an object was there when somebody looked, or was sent since.
    func holds(_ file: FileID) -> Bool {
        state.withLock { $0.listed?.contains(file) == true || $0.sent.contains(file) }
    }

    /// Notes an object that was sent.
    func note(_ file: FileID) {
        state.withLock { state in _ = state.sent.insert(file) }
    }
}
