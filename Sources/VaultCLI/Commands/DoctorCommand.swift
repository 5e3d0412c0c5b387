internal import VaultCore
internal import VaultFormat
internal import VaultHTTP
internal import VaultSystem

/// The verb `vaultctl doctor`.
enum DoctorCommand {
    static let writeProbe = OptionSpec.flag(
        "--write-probe", help: "also try whether the server takes a write, which changes nothing")

    static let verb = Verb(
        words: ["doctor"], group: .maintain, summary: "find out what stands between this clone and its server",
        paragraph: """
            Looks at each step on the way to the server in its order: the address, the name, the connection, the \
            certificate, the answer, the clocks, the vault, and with --write-probe the access token and the write key; \
            then at the free space, at what the file system of this clone lacks, and at who can read this clone's secrets.
            """,
        synopsis: ["doctor [--write-probe]"], options: [writeProbe],
        exits: [
            .init(.ok, "also with warnings"), .init(.notFound), .init(.auth),
            .init(.network, "a check of the server failed"),
        ],
        examples: [
            .init("vaultctl doctor", "Looks at the vault's own server."),
            .init("vaultctl doctor --server https://vault.example.org --write-probe", "Looks at another one."),
        ],
        network: .always,
        document: .init("vaultctl/doctor/1", "overall, server, checks[{name,status,message,hint}]"),
        action: .network { call in try await run(call) })

    /// Less than this is told.
    private static let leastSpace: Int64 = 256 << 20

    private static func run(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        var checks: [ServerCheck]
        if let web = remote as? HTTPRemote {
            let authorization = call.has(writeProbe) ? try vault.writeAuthorization() : nil
            checks = try await ServerProbe(web).run(writingWith: authorization)
        } else {
            checks = [await folder(remote)]
        }
        let isReached = !checks.contains { $0.status == .fail }
        checks += local(call, vault)
        return try call.answer(
            DoctorAnswer(server: server.text, checks: checks), exit: isReached ? .ok : .network)
    }

    private static func folder(_ remote: any Remote) async -> ServerCheck {
        if remote.createsOnWrite {
            return ServerCheck("folder", .warn, "the folder is not there yet", hint: "vaultctl push")
        }
        do {
            _ = try await remote.list(.indexes)
            return ServerCheck("folder", .pass, "the folder can be read")
        } catch {
            return ServerCheck("folder", .fail, (error as? VaultError)?.message ?? "the folder can not be read")
        }
    }

    private static func local(_ call: Call, _ vault: Vault) -> [ServerCheck] {
        let fileSystem = call.surroundings.vault.fileSystem
        var checks: [ServerCheck] = []
        let free = try? fileSystem.openDirectory(vault.rootPath).availableSpace().bytes
        switch free {
        case nil: checks.append(ServerCheck("disk_space", .skip, "the file system does not tell"))
        case let free? where free < leastSpace:
            checks.append(ServerCheck("disk_space", .warn, "\(free / 1_048_576) MiB are free"))
        case let free?: checks.append(ServerCheck("disk_space", .pass, "\(free / 1_048_576) MiB are free"))
        }
        checks.append(Self.fileSystem(fileSystem, vault))
        let secrets = ["vault_key", "token", "clone_mode.json"].filter { name in
            let path = vault.rootPath.appending(".sg_vault/local").appending(component: name)
            return (try? fileSystem.status(of: path, followLinks: false)).map { $0.mode & 0o077 != 0 } ?? false
        }
        checks.append(
            secrets.isEmpty
                ? ServerCheck("file_modes", .pass, "nobody else can read the secrets")
                : ServerCheck(
                    "file_modes", .warn, "others can read \(secrets.joined(separator: ", "))",
                    hint: "chmod 600 .sg_vault/local/" + (secrets.first ?? "")))
        return checks
    }

    /// Whether the clone's file system can do what durability and kills without traces need.
    private static func fileSystem(_ fileSystem: any FileSystem, _ vault: Vault) -> ServerCheck {
        let path = vault.rootPath.appending(".sg_vault/local")
        guard let folder = try? fileSystem.openDirectory(path) else {
            return ServerCheck("file_system", .skip, "the folder of the clone can not be opened")
        }
        do throws(Errno) { try folder.sync() } catch {
            return ServerCheck(
                "file_system", .warn, "the file system does not sync folders (\(error))",
                hint: "a power cut may take back what was told as done; keep the clone on a local disk")
        }
        do throws(Errno) { _ = try folder.createUnnamedFile(mode: 0o600) } catch .notSupported {
            return ServerCheck(
                "file_system", .warn, "the file system has no files without a name",
                hint: "a command that is killed may leave contents in local/vaultctl/tmp until the next one")
        } catch {
            return ServerCheck("file_system", .skip, "the clone can not be written (\(error))")
        }
        return ServerCheck("file_system", .pass, "it syncs folders and has files without a name")
    }
}

/// What was found, told.
private struct DoctorAnswer: Rendered {
    let server: String
    let checks: [ServerCheck]

    private var overall: String {
        if checks.contains(where: { $0.status == .fail }) { return "fail" }
        return checks.contains { $0.status == .warn } ? "warn" : "pass"
    }

    func writeText(to text: TextRenderer) throws {
        try text.line("Server: \(Redaction.redacted(TextSafety.line(server)))")
        for check in checks {
            let name = TextLayout.padded(check.name, to: 24)
            let message = Redaction.redacted(TextSafety.line(check.message))
            try text.line("\(TextLayout.padded(check.status.rawValue, to: 5))\(name) \(message)")
            if let hint = check.hint { try text.line("     \(TextLayout.padded("", to: 24)) \(hint)") }
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "overall": .string(overall),
            "server": .string(Redaction.redacted(server)),
            "checks": .array(
                checks.map {
                    .record([
                        "name": .string($0.name), "status": .string($0.status.rawValue),
                        "message": .string(Redaction.redacted($0.message)), "hint": .optional($0.hint),
                    ])
                }),
        ])
    }
}
