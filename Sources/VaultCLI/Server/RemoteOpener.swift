internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The one place that turns an address into a remote.
enum RemoteOpener {
    /// Opens the remote of a vault.
    /// - Throws: `unreachable` with `--offline` where a connection would be opened, `notSupported` where this build has
    ///   no transport.
    static func open(_ address: ServerAddress, vaultID: VaultID, call: Call) throws -> any Remote {
        switch address.place {
        case .folder(let path):
            return FolderRemote(
                path: path, vaultID: vaultID, environment: call.surroundings.vault,
                lockTimeout: try VaultPlace.lockTimeout(call))
        case .web:
            guard !call.has(GlobalOptions.offline) else {
                throw VaultError(.unreachable, "--offline forbids a connection to \(address.text)")
            }
            let scheme = address.text.prefix { $0 != ":" }
            throw VaultError(
                .notSupported, "no transport for \(scheme) in this build", hint: "use the path of a folder as server")
        }
    }
}
