internal import VaultCore
internal import VaultHTTP
internal import VaultSystem

/// The part of `vaultctl doctor` that looks at the clone and its file system.
struct CloneProbe {
    let call: Call
    let vault: Vault

    private var fileSystem: any FileSystem { call.surroundings.vault.fileSystem }
    private var store: FilePath { vault.rootPath.appending(".sg_vault") }

    /// Less than this is told.
    private static let leastSpace: Int64 = 256 << 20

    /// Runs every check.
    ///
    /// * `fixing`: Makes files with secrets unreadable for others.
    func run(fixing: Bool) -> [ServerCheck] {
        [space(), lock(), names(), modes(fixing: fixing)]
    }

    private func space() -> ServerCheck {
        let name = "disk_space"
        guard let free = try? fileSystem.openDirectory(vault.rootPath).availableSpace().bytes else {
            return ServerCheck(name, .skip, "the file system does not tell")
        }
        return ServerCheck(name, free < Self.leastSpace ? .warn : .pass, "\(free / 1_048_576) MiB are free")
    }

    private func lock() -> ServerCheck {
        let name = "lock"
        guard let file = try? fileSystem.openDirectory(store.appending("local/vaultctl")).openFile(Array("lock".utf8))
        else { return ServerCheck(name, .pass, "no command has changed this clone yet") }
        do throws(Errno) {
            // Given back at once, with the file.
            if try file.lock(wait: false) { return ServerCheck(name, .pass, "no other command is changing this clone") }
            let holder = String(decoding: try file.readToEnd(limit: 4096), as: UTF8.self)
            return ServerCheck(name, .warn, "another command is changing this clone: \(TextSafety.line(holder))")
        } catch {
            return ServerCheck(name, .skip, "the file system knows no locks")
        }
    }

    /// Whether the file system tells names apart that differ in case or in the form of a letter only.
    private func names() -> ServerCheck {
        let name = "file_names"
        let stem = "doctor-\(ProcessContext.processID)"
        guard let folder = try? fileSystem.openDirectory(store.appending("local/vaultctl")),
            (try? folder.createFile(Array("\(stem)-\u{E9}".utf8), mode: 0o600)) != nil
        else { return ServerCheck(name, .skip, "no file can be made to find out") }
        defer { try? folder.removeFile(Array("\(stem)-\u{E9}".utf8)) }
        var merged: [String] = []
        if (try? folder.status(of: Array("\(stem.uppercased())-\u{E9}".utf8))) != nil { merged.append("case") }
        if (try? folder.status(of: Array("\(stem)-e\u{301}".utf8))) != nil { merged.append("Unicode form") }
        guard !merged.isEmpty else { return ServerCheck(name, .pass, "names stay apart whatever they differ in") }
        return ServerCheck(
            name, .warn,
            "this file system takes names for one that differ in \(merged.joined(separator: " or ")) only; "
                + "of two such files in a vault one can be written here")
    }

    private func modes(fixing: Bool) -> ServerCheck {
        let name = "file_modes"
        let exposed = secretFiles().filter { path in
            (try? fileSystem.status(of: path, followLinks: false)).map(isExposed) ?? false
        }
        guard !exposed.isEmpty else { return ServerCheck(name, .pass, "nobody else can read the secrets") }
        guard fixing else {
            return ServerCheck(
                name, .warn, "others can read \(shown(exposed))", hint: "vaultctl doctor --fix")
        }
        let left = exposed.filter { !tighten($0) }
        guard left.isEmpty else { return ServerCheck(name, .warn, "\(shown(left)) can not be made private") }
        return ServerCheck(name, .pass, "made private: \(shown(exposed))")
    }

    private func isExposed(_ status: FileStatus) -> Bool { status.kind == .regular && status.mode & 0o077 != 0 }

    private func shown(_ paths: [FilePath]) -> String { paths.map(call.shown).joined(separator: ", ") }

    /// The files that hold secrets, whether they are there or not.
    private func secretFiles() -> [FilePath] {
        let local = store.appending("local")
        let entries = (try? fileSystem.openDirectory(local).entries()) ?? []
        let signingKeys = entries.filter { $0.name.suffix(4) == Array(".pem".utf8) }.map {
            local.appending(component: $0.name)
        }
        let names = ["vault_key", "token", "clone_mode.json", "vaultctl/derived-keys"]
        let named = names.map { local.appending(FilePath($0)) }
        // Where older versions of the reference have them.
        let older = ["VAULT-KEY", "token"].map { store.appending(component: $0) }
        let own = TokenStore(surroundings: call.surroundings).path.map { [$0] } ?? []
        return named + signingKeys.sorted { $0.text < $1.text } + older + own
    }

    /// Takes the rights of others away; false where that is not possible.
    private func tighten(_ path: FilePath) -> Bool {
        guard let last = path.lastComponent else { return false }
        do throws(Errno) {
            let file = try fileSystem.openDirectory(path.parent).openFile(last)
            let status = try file.status()
            guard isExposed(status) else { return true }
            try file.setMode(status.mode & 0o700)
            return true
        } catch {
            return false
        }
    }
}
