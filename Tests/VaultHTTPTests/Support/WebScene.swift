import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

/// Clones of one vault at a stand-in server.
struct WebScene: Sendable {
    let server: StandIn
    let files: VaultScene
    private let folder: TemporaryFolder

    init(_ options: String = "") throws {
        server = try StandIn(options)
        folder = try TemporaryFolder("web")
        files = VaultScene(
            keys: try SceneKeys.shared(), on: LinuxFileSystem(), base: folder.path, seed: 7, clock: SystemClock())
    }

    func remote(_ change: (inout HTTPRemote.Options) throws -> Void = { _ in }) throws -> HTTPRemote {
        try .test(server.url, files.keys.vaultID, environment: files.environment, change)
    }

    /// A new vault that records the server.
    func create(_ name: String) throws -> Vault {
        let vault = try files.create(name)
        try vault.setServer(server.url)
        return vault
    }

    @discardableResult
    func clone(_ name: String, from remote: HTTPRemote) async throws -> CloneResult {
        var options = CloneOptions()
        options.server = server.url
        return try await Vault.clone(
            from: remote, key: files.keys.clone, to: files.path(name), options: options,
            environment: files.environment, observer: SilentObserver())
    }

    /// Changes a file and commits.
    @discardableResult
    func commit(_ text: String, at path: String, in name: String) throws -> Vault {
        try files.put(text, at: path, in: name)
        let vault = try files.open(name)
        _ = try vault.commit(CommitOptions(message: "\(path): \(text)"))
        return vault
    }
}
