internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Finds and opens the vault that a call is about.
enum VaultPlace {
    /// The vault's root: `--vault-dir` › `VAULTCTL_DIR` › the nearest one upwards.
    /// - Throws: `notAVault`.
    static func root(for call: Call) throws -> FilePath {
        if let given = call.arguments.last(GlobalOptions.vaultDirectory) ?? exact(call.surroundings) {
            return try canonical(call.workingDirectory.appending(relative: given), call)
        }
        return try Vault.locate(from: call.workingDirectory, environment: call.surroundings.vault)
    }

    /// Opens the vault of a call.
    static func open(_ call: Call) throws -> Vault {
        try open(root: try root(for: call), call)
    }

    /// Opens the vault of a call with the key that the clone itself holds.
    /// - Throws: `keyMissing` for a bare clone.
    static func openWithOwnKey(_ call: Call) throws -> Vault {
        let options = OpenOptions(lockTimeout: try lockTimeout(call), verb: call.verb.name)
        return try Vault.open(root: try root(for: call), options: options, environment: call.surroundings.vault)
    }

    /// Opens the vault with exactly this root.
    static func open(root: FilePath, _ call: Call) throws -> Vault {
        if call.surroundings.filled("VAULTCTL_SERVER") != nil {
            call.messages.note("VAULTCTL_SERVER is for init and clone only; this vault talks to the server it records")
        }
        var options = OpenOptions(lockTimeout: try lockTimeout(call), verb: call.verb.name)
        options.key = { try SecretInput(call: call).accessKey(for: "the vault in \(root.text)") }
        return try Vault.open(root: root, options: options, environment: call.surroundings.vault)
    }

    /// `--lock-timeout` in seconds.
    static func lockTimeout(_ call: Call) throws -> Double {
        guard let text = try call.text(GlobalOptions.lockTimeout) else { return 10 }
        guard let seconds = Double(text), seconds >= 0, seconds.isFinite else {
            throw Usage.error("option '--lock-timeout' takes a number of seconds")
        }
        return seconds
    }

    private static func exact(_ surroundings: Surroundings) -> [UInt8]? {
        surroundings.environment["VAULTCTL_DIR"].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func canonical(_ path: FilePath, _ call: Call) throws -> FilePath {
        do throws(Errno) {
            return try call.surroundings.vault.fileSystem.canonicalPath(path)
        } catch .noSuchFile, .notADirectory {
            throw VaultError(.notAVault, "\(path.text) is not a vault", path: path.text)
        } catch {
            throw VaultError.io(error, "cannot open \(path.text)", path: path.text)
        }
    }
}
