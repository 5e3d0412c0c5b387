internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Where the folder of a server lies, compared with the clone that talks to it.
enum ServerPlace {
    /// Refuses a folder that is the clone itself or in it, or lies in the store of a vault: a clone that publishes to
    /// itself finds everything there already, a folder among its files would be committed, and what is put into a store is
    /// in the way of its vault.
    ///
    /// * `own`: The clone, which need not exist yet, without links on the way.
    /// - Throws: `refused`.
    static func check(_ address: ServerAddress, clone own: FilePath, _ call: Call) throws {
        guard case .folder(let typed) = address.place else { return }
        let place = real(typed, call)
        guard place != own, place != own.appending(component: NewVaultPlace.store) else {
            throw VaultError(
                .refused, "the server \(typed.text) is this clone itself", hint: "--server URL names another",
                path: typed.text)
        }
        guard !place.parent.components.contains(NewVaultPlace.store) else {
            throw VaultError(
                .refused, "the server \(typed.text) lies in .sg_vault, which belongs to a vault alone",
                hint: "--server URL names another", path: typed.text)
        }
        guard !place.components.starts(with: own.components) else {
            throw VaultError(
                .refused, "the server \(typed.text) lies in the working copy \(own.text)",
                hint: "--server URL names another", path: typed.text)
        }
    }

    /// The path without links, also where its end does not exist yet.
    static func real(_ path: FilePath, _ call: Call) -> FilePath {
        let fileSystem = call.surroundings.vault.fileSystem
        var missing: [[UInt8]] = []
        var existing = path
        while true {
            if let found = try? fileSystem.canonicalPath(existing) {
                return missing.reversed().reduce(found) { $0.appending(component: $1) }
            }
            guard let last = existing.lastComponent, existing.parent != existing else { return path }
            missing.append(last)
            existing = existing.parent
        }
    }
}
