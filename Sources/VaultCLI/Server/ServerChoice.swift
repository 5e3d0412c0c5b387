internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Decides which server a run talks to (spec 10 B.7, B.10).
enum ServerChoice {
    /// The server of an existing vault: `--server` › `--remote` › default remote › recorded server.
    /// - Throws: `remoteNotFound` when none is known, `refused` for the clone itself.
    static func existing(_ call: Call, _ vault: Vault) throws -> ServerAddress {
        let address = try named(call, vault)
        try ServerPlace.check(address, clone: vault.rootPath, call)
        return address
    }

    private static func named(_ call: Call, _ vault: Vault) throws -> ServerAddress {
        if let given = try given(call) { return given }
        if let name = try call.text(GlobalOptions.remote) {
            return try ServerAddress.recorded(try RemoteNames.record(name, of: vault).url)
        }
        if let recorded = try vault.recordedServer() {
            return try ServerAddress.recorded(recorded)
        }
        if call.surroundings.filled("SGIT_DEFAULT_BASE_URL") != nil {
            throw VaultError(
                .refused, "this vault records no server, and SGIT_DEFAULT_BASE_URL does not decide for it",
                hint: "vaultctl push --server URL --set-default")
        }
        throw VaultError(
            .remoteNotFound, "this vault records no server", hint: "vaultctl push --server URL --set-default")
    }

    /// The server of a vault that is being made or cloned; nil when none is named.
    ///
    /// `--server` › `VAULTCTL_SERVER` › `SGIT_DEFAULT_BASE_URL` › `server.default`.
    ///
    /// Where the clone will be is not known here; `ServerPlace.check` compares the two.
    static func new(_ call: Call) throws -> ServerAddress? {
        guard !call.has(GlobalOptions.remote) else {
            throw Usage.error(
                "option '--remote' names a remote of an existing vault; use '--server'", about: [call.verb])
        }
        if let given = try given(call) { return given }
        let directory = call.workingDirectory
        for name in ["VAULTCTL_SERVER", "SGIT_DEFAULT_BASE_URL"] {
            if let value = call.surroundings.environment[name], !value.isEmpty {
                return try ServerAddress.parse(try call.text(value, of: name), relativeTo: directory)
            }
        }
        return try call.settings().text(.server).map { try ServerAddress.parse($0, relativeTo: directory) }
    }

    private static func given(_ call: Call) throws -> ServerAddress? {
        try call.text(GlobalOptions.server).map { try ServerAddress.parse($0, relativeTo: call.workingDirectory) }
    }
}

/// Looks remotes up by their names.
enum RemoteNames {
    /// The remote of a name.
    /// - Throws: `remoteNotFound`, with the nearest known name.
    static func record(_ name: String, of vault: Vault) throws -> RemoteRecord {
        let all = try vault.remotes()
        if let found = all.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) { return found }
        let near = Spelling.nearest(to: name, among: all.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
        throw VaultError(
            .remoteNotFound, "there is no remote \(TextSafety.quoted(Array(name.utf8)))\(near)",
            hint: "vaultctl remote list")
    }
}
