package import VaultCore
internal import VaultCrypto
package import VaultFormat
internal import VaultSystem

/// A vault server while it runs: the API of `spec/04` over a folder of vaults, and published files.
///
/// The HTTP library answers small reads on its own threads; everything that may wait for a disk or a lock runs on
/// others, one request at a time for each vault that is written.
package final class VaultServer: Sendable {
    private let configuration: ServerConfiguration
    private let service: VaultService
    private let http: HTTPServer
    /// The port that was bound.
    package var port: UInt16 { http.port }

    /// Binds the address and starts to serve.
    ///
    /// - Throws: `refused` for an address beyond loopback without TLS and tokens, `usage` for a configuration that
    ///   makes no sense, `ioError` when the address is in use.
    package init(_ configuration: ServerConfiguration) throws {
        try Self.check(configuration)
        var configuration = configuration
        let environment = configuration.environment
        let fileSystem = environment.fileSystem
        // Every connection and every file that is sent needs a descriptor.
        let descriptors = ProcessContext.raiseOpenFiles()
        configuration.limits.connections = max(16, min(configuration.limits.connections, (descriptors - 128) / 2))
        let tls = try Self.certificate(configuration)
        let tokens = try configuration.tokens.map { try TokenFile($0, fileSystem: fileSystem) }
        let store = try configuration.root.map { root in
            try ServedStore(root: root, reserve: configuration.limits.reserve, environment: environment)
        }
        let site = try configuration.published.map { try StaticSite($0, fileSystem: fileSystem) }
        let log = try configuration.accessLog.map {
            try AccessLog($0, environment: environment, report: configuration.report)
        }
        if !configuration.isReadOnly { try store?.sweep(configuration.report) }
        let lanes = try Lanes(
            threads: configuration.limits.workers, capacity: configuration.limits.connections + 64)
        do {
            service = VaultService(
                store: store, site: site, access: AccessControl(tokens: tokens, configuration: configuration),
                lanes: lanes,
                signer: try URLSigner(
                    random: environment.random, clock: environment.clock,
                    lifetimeSeconds: configuration.limits.signedSeconds), log: log, configuration: configuration)
            http = try HTTPServer(
                HTTPOptions(
                    address: configuration.address, port: configuration.port,
                    threads: max(2, WorkerPool.defaultThreads), connections: configuration.limits.connections,
                    connectionsPerClient: configuration.limits.connectionsPerClient,
                    idleSeconds: configuration.limits.idleSeconds, slowestRate: configuration.limits.slowestRate,
                    tls: tls), handler: service)
        } catch {
            lanes.finish()
            throw error
        }
        self.configuration = configuration
    }

    private static func check(_ configuration: ServerConfiguration) throws(VaultError) {
        guard configuration.root != nil || configuration.published != nil else {
            throw VaultError(.usage, "there is nothing to serve", hint: "vaultctl serve --root DIR")
        }
        guard (configuration.certificate == nil) == (configuration.privateKey == nil) else {
            throw VaultError(.usage, "TLS needs both a certificate and its key")
        }
        guard let isLoopback = HTTPServer.isLoopback(configuration.address) else {
            throw VaultError(
                .usage, "'\(configuration.address)' is not a numeric address",
                hint: "127.0.0.1, ::1, or an address of this machine")
        }
        guard !isLoopback else { return }
        // In the clear, whoever listens on the way would read tokens and write keys; without tokens anybody could write.
        guard configuration.certificate != nil, configuration.tokens != nil || configuration.root == nil else {
            throw VaultError(
                .refused, "other machines are served with TLS and access tokens only",
                hint: "give --tls-cert, --tls-key and --tokens, or stay on 127.0.0.1")
        }
    }

    private static func certificate(
        _ configuration: ServerConfiguration
    ) throws(VaultError) -> (certificate: [UInt8], key: [UInt8])? {
        guard let certificate = configuration.certificate, let key = configuration.privateKey else { return nil }
        let fileSystem = configuration.environment.fileSystem
        do throws(Errno) {
            if try fileSystem.status(of: key, followLinks: true).mode & 0o077 != 0 {
                configuration.report("the TLS key \(key) can be read by other users")
            }
            return (
                try fileSystem.readFile(certificate, limit: 1 << 20), try fileSystem.readFile(key, limit: 1 << 20)
            )
        } catch {
            throw .io(error, "cannot read the TLS certificate or its key")
        }
    }

    /// The base URL for clients.
    package var url: String {
        let scheme = configuration.certificate == nil ? "http" : "https"
        let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
        return configuration.publicURL ?? "\(scheme)://\(host):\(port)"
    }

    /// The ids of the vaults there are.
    package func vaults() throws(VaultError) -> [VaultID] {
        try service.store?.vaults() ?? []
    }

    /// Requests that are not answered yet, and open connections.
    package var load: (requests: Int, connections: Int) { (http.active, http.connections) }

    /// What has to be done about once a second.
    package func tick() {
        http.sweep()
        service.uploads.expire()
    }

    /// Reads the tokens again and opens the log again; a file that is not usable changes nothing and is reported.
    package func reload() {
        service.log?.reopen()
        guard let path = configuration.tokens else { return }
        do throws(VaultError) {
            service.access.replace(
                try TokenFile(path, fileSystem: configuration.environment.fileSystem, mayBeEmpty: true))
        } catch {
            configuration.report("the tokens stay as they were: \(error.message)")
        }
    }

    /// Takes no more requests, finishes those under way, and ends; to be called once.
    package func stop() {
        http.drain()
        awaitRequests(seconds: configuration.limits.stopSeconds)
        // A vault's lock that another program holds ends no stop: who waits for it is told to come back.
        service.store?.hurry()
        // Suspended requests are resumed by their work, which the library needs before it ends.
        service.lanes.finish()
        // The library drops what it has not sent yet.
        awaitRequests(seconds: 2)
        http.stop()
    }

    /// Waits until every request is answered, but not for ever.
    private func awaitRequests(seconds: Int) {
        let clock = configuration.environment.clock
        let deadline = clock.monotonicNs + Int64(seconds) * 1_000_000_000
        while http.active > 0, clock.monotonicNs < deadline {
            http.sweep()
            clock.sleep(milliseconds: 10)
        }
    }
}
