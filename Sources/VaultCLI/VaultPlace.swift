internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Finds and opens the vault that a call is about.
enum VaultPlace {
    /// The vault's root: `--vault-dir` › `VAULTCTL_DIR` › the nearest one upwards.
    /// - Throws: `notAVault`.
    static func root(for call: Call) throws -> FilePath {
        if let given = call.arguments.last(GlobalOptions.vaultDirectory) ?? exact(call.surroundings) {
            return try canonical(try call.place(given), call)
        }
        return try Vault.locate(from: call.workingDirectory, environment: call.surroundings.vault)
    }

    /// Opens the vault of a call.
    ///
    /// * `key`: Gives the key of a bare clone in another way than from any source that there is.
    static func open(_ call: Call, key: (@Sendable () throws -> AccessKey)? = nil) throws -> Vault {
        try open(root: try root(for: call), call, key: key)
    }

    /// Opens the vault with exactly this root.
    ///
    /// - Throws: `keyWrong` when a key was given that is not one of this vault.
    static func open(
        root: FilePath, _ call: Call, key: (@Sendable () throws -> AccessKey)? = nil
    ) throws -> Vault {
        if call.surroundings.filled("VAULTCTL_SERVER") != nil {
            call.messages.note("VAULTCTL_SERVER is for init and clone only; this vault talks to the server it records")
        }
        // A dry run leaves no trace in the lock file.
        let verb = call.has(PushCommand.dryRun) ? "" : call.verb.name
        var options = OpenOptions(lockTimeout: try lockTimeout(call), verb: verb)
        options.key = key ?? { try SecretInput(call: call).accessKey(for: "the vault in \(call.shown(root))") }
        let vault = try Vault.open(root: root, options: options, environment: call.surroundings.vault)
        if vault.mode != .bare {
            if let own = try? vault.vaultKeyText() { call.messages.secrets.remember(own) }
            try GivenKey(call: call, vault: vault).check()
        }
        return vault
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
        let fileSystem = call.surroundings.vault.fileSystem
        do throws(Errno) {
            let root = try fileSystem.canonicalPath(path)
            guard try fileSystem.status(of: root, followLinks: true).kind == .directory else { throw .notADirectory }
            return root
        } catch .noSuchFile, .notADirectory {
            throw VaultError(.notAVault, "\(path.text) is not a vault", path: path.text)
        } catch {
            throw VaultError.io(error, "cannot open \(path.text)", path: path.text)
        }
    }
}
