internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl init`.
enum InitCommand {
    static let format = OptionSpec.value(
        "--format", argument: "N", help: "width of new object ids: 1 (12 digits, the default) or 2 (32 digits)",
        completion: .choice(["1", "2"]))
    static let existing = OptionSpec.flag("--existing", help: "accept a directory that holds files; none is touched")
    static let packs = OptionSpec.flag("--packs", help: "a vault with packs; not supported yet (exit 13)")
    static let push = OptionSpec.flag("--push", help: "also register the vault at its server [net]")
    static let keyOut = OptionSpec.value(
        "--key-out", argument: "F", help: "also write the key to a new file F with mode 0600", secret: true,
        completion: .file)
    static let printKey = OptionSpec.flag("--print-key", help: "print the key on standard output")

    static let verb = Verb(
        words: ["init"], group: .start, summary: "make a new vault",
        paragraph: """
            Makes a vault with the branch 'current' in DIR (default: the current directory) and a new key, unless one \
            is given by --key-file, --key-fd, --key-command or VAULTCTL_KEY. The key is stored in the clone and shown \
            once on the terminal, if there is one; who loses it loses the vault. The server (--server, VAULTCTL_SERVER, \
            SGIT_DEFAULT_BASE_URL or server.default) is recorded and not contacted without --push.
            """,
        synopsis: [
            "init [--server URL] [--format N] [--existing] [--packs] [--push] [--key-out F] [--print-key] [DIR]"
        ],
        options: [format, existing, packs, push, keyOut, printKey],
        positionals: [Positional("DIR", help: "where the vault is made", completion: .folder)],
        exits: [
            .init(.ok), .init(.notFound, "no server is known to push to"), .init(.rejected), .init(.auth),
            .init(.network, "--push could not reach the server; the vault exists"), .init(.refused, "DIR is not empty"),
            .init(.unsupported),
        ],
        examples: [
            .init("vaultctl init notes", "Makes a vault in the new folder 'notes'."),
            .init(
                "vaultctl init --existing --server /srv/vaults/notes --push",
                "Makes a vault of the current folder and registers it in a folder that others can reach."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/init/1", "directory, vault_id, branch, branch_id, head, server, key_written, pushed, key?"),
        changes: true,
        action: .choose { call in
            call.has(push) ? .network { call in try await runWithPush(call) } : .local { call in try run(call) }
        })

    private static func run(_ call: Call) throws -> ExitCode {
        let made = try make(call)
        return try answer(call, made, pushed: false)
    }

    private static func runWithPush(_ call: Call) async throws -> ExitCode {
        guard let server = try ServerChoice.new(call) else {
            throw VaultError(.remoteNotFound, "--push needs a server", hint: "--server URL names one")
        }
        let made = try make(call)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        do {
            let remote = try RemoteOpener.open(server, vaultID: made.vault.vaultID, call: call, vault: made.vault)
            _ = try await made.vault.push(to: remote, PushOptions(), observer: observer)
        } catch let error as VaultError {
            throw error.following("the vault was made in \(made.vault.root)", hint: "vaultctl push")
        }
        return try answer(call, made, pushed: true)
    }

    private struct Made: Sendable {
        let vault: Vault
        let key: String
        let result: CreateResult
    }

    private static func make(_ call: Call) throws -> Made {
        guard !call.has(packs) else { throw VaultError(.notSupported, "vaults with packs are not supported yet") }
        if call.has(printKey) { try SecretOutput(call: call).checkOutput() }
        var options = CreateOptions(existing: call.has(existing))
        options.format = try call.choice(format).flatMap(Int.init) ?? 1
        let directory = try call.arguments.allPositionals.first.map { try call.place($0) } ?? call.workingDirectory
        if let server = try ServerChoice.new(call) {
            try ServerPlace.check(server, clone: ServerPlace.real(directory, call), call)
            options.server = server.text
        }
        let outer = try NewVaultPlace(call: call).check(directory)
        let key = try key(call)
        if let keyFile = call.arguments.last(keyOut) {
            try SecretOutput(call: call).write(try key.text(), to: keyFile)
        }
        do {
            let (vault, result) = try Vault.create(
                at: directory, key: key, options: options, environment: call.surroundings.vault)
            let secret = try key.text()
            call.messages.secrets.remember(secret)
            let text = SecretOutput.text(secret)
            NewVaultPlace(call: call).tell(outer)
            show(text, call)
            return Made(vault: vault, key: text, result: result)
        } catch {
            if let keyFile = call.arguments.last(keyOut) { SecretOutput(call: call).remove(keyFile) }
            throw error
        }
    }

    /// The key that was given, else a new one.
    private static func key(_ call: Call) throws -> VaultKey {
        let source = SecretInput(call: call).source ?? ""
        guard let given = try SecretInput(call: call).given() else {
            return try VaultKey.generate(using: call.surroundings.vault.random)
        }
        // Without its prefix a read key parses as a vault key whose passphrase is 64 digits: the kind decides first.
        let kind = given.withBytes { bytes in KeyText.kind(of: bytes) }
        guard kind != .readPrivate, kind != .readPublic else {
            throw Usage.error("a vault is made with a vault key; this is a read key")
        }
        let key: VaultKey
        do throws(FormatError) {
            key = try given.withBytes { (bytes) throws(FormatError) in try VaultKey(parsing: bytes) }
        } catch {
            throw SecretInput.malformed(error, source)
        }
        guard key.isUsableByReference, key.vaultID.isServable else {
            throw Usage.error(
                "no vault can be made with this key: the id needs 8 to 24 characters, the passphrase printable ASCII, "
                    + "and both together at most 248 characters")
        }
        return key
    }

    /// Shows the new key once to whoever sits at the terminal.
    private static func show(_ key: String, _ call: Call) {
        if !call.has(printKey) {
            SecretOutput(call: call).show(["The vault key, shown once; keep it safe:", key])
        }
        call.messages.note("the key is kept in .sg_vault/local/vault_key; who loses it loses the vault")
    }

    private static func answer(_ call: Call, _ made: Made, pushed: Bool) throws -> ExitCode {
        let exit = try call.answer(
            InitResult(
                result: made.result, root: made.vault.rootPath, pushed: pushed, key: call.has(printKey) ? made.key : nil
            ))
        call.messages.advice("vaultctl keys show .")
        return exit
    }
}

/// A new vault, told.
private struct InitResult: Rendered {
    let result: CreateResult
    let root: FilePath
    let pushed: Bool
    let key: String?

    func writeText(to text: TextRenderer) throws {
        try text.line("Made vault \(result.vaultID.text) in \(root.text), branch \(result.branch)")
        if let server = result.server { try text.line("Server: \(TextSafety.line(server))") }
        if pushed { try text.line("Registered at the server") }
        if let key { try text.line(key) }
    }

    func jsonMembers() -> [JSONMember] {
        let members: [JSONMember] = .record([
            "directory": .name(root.bytes),
            "vault_id": .string(result.vaultID.text),
            "branch": .string(result.branch),
            "branch_id": .string(result.branchID),
            "head": .id(result.head),
            "server": .optional(result.server),
            "key_written": .bool(true),
            "pushed": .bool(pushed),
        ])
        return members + (key.map { .record(["key": .string($0)]) } ?? [])
    }
}
