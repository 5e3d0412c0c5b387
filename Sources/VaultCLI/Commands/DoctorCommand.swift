internal import VaultCore
internal import VaultFormat
internal import VaultHTTP
internal import VaultSystem

/// The verb `vaultctl doctor`.
enum DoctorCommand {
    static let writeProbe = OptionSpec.flag(
        "--write-probe", help: "also try whether a server that has the vault takes a write, which changes nothing")

    static let fix = OptionSpec.flag("--fix", help: "make files with secrets unreadable for others")
    static let strict = OptionSpec.flag("--strict", help: "exit 10 when there are warnings")

    static let verb = Verb(
        words: ["doctor"], group: .maintain, summary: "find out what stands between this clone and its server",
        paragraph: """
            Looks at each step on the way to the server in its order: the address, the name, the connection, the \
            certificate, the answer, the clocks, the vault, and with --write-probe the access token and the write key; \
            then at the clone's own files, the free space, the lock, what the file system of this clone lacks and how it tells names apart, \
            and who can read this clone's secrets, which --fix sets right.
            """,
        synopsis: ["doctor [--write-probe] [--fix] [--strict]"], options: [writeProbe, fix, strict],
        exits: [
            .init(.ok, "also with warnings"), .init(.notFound), .init(.auth),
            .init(.network, "a check of the server failed"), .init(.integrity, "the clone's own files are damaged"),
            .init(.partial, "with --strict: there are warnings"),
        ],
        examples: [
            .init("vaultctl doctor", "Looks at the vault's own server."),
            .init("vaultctl doctor --server https://vault.example.org --write-probe", "Looks at another one."),
        ],
        network: .always,
        document: .init("vaultctl/doctor/1", "overall, server, checks[{name,status,message,hint}]"),
        action: .network { call in try await run(call) })

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
        let clone = ownFiles(vault)
        checks.append(clone)
        checks += CloneProbe(call: call, vault: vault).run(fixing: call.has(fix))
        checks = filtered(checks, call.messages.secrets)
        let isDegraded = call.has(strict) && checks.contains { $0.status == .warn }
        return try call.answer(
            DoctorAnswer(server: server.text, checks: checks),
            exit: !isReached ? .network : clone.status == .fail ? .integrity : isDegraded ? .partial : .ok)
    }

    /// The checks without the secrets of this run, which a server may repeat in what it says.
    static func filtered(_ checks: [ServerCheck], _ secrets: KnownSecrets) -> [ServerCheck] {
        checks.map { check in
            ServerCheck(
                check.name, check.status, secrets.redacted(check.message), hint: check.hint.map(secrets.redacted))
        }
    }

    /// What `fsck` says of the clone's own files.
    private static func ownFiles(_ vault: Vault) -> ServerCheck {
        let name = "clone"
        do {
            let report = try vault.checkOwnFiles()
            if let first = (report.broken + report.unreadable).first {
                return ServerCheck(name, .fail, "\(first.id): \(first.detail)", hint: "vaultctl fsck --repair")
            }
            if let note = report.notes.first { return ServerCheck(name, .warn, note) }
            return ServerCheck(name, .pass, "its own files read, and its branch is there")
        } catch {
            let problem = error as? VaultError
            return ServerCheck(
                name, .fail, problem?.message ?? "the clone's own files can not be read", hint: problem?.hint)
        }
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
            let message = TextSafety.line(check.message)
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
                        "message": .string($0.message), "hint": .optional($0.hint),
                    ])
                }),
        ])
    }
}
