internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verbs `vaultctl backup` and `vaultctl restore-backup`.
enum BackupCommand {
    static let label = OptionSpec.value(
        "--label", argument: "WORD", help: "a word for the name and the manifest (default: manual)")
    static let includeKey = OptionSpec.flag(
        "--include-key", help: "also the vault key and this clone's signing keys: the file then opens the vault")
    static let allowDirty = OptionSpec.flag("--allow-dirty", help: "also with uncommitted changes, which are left out")
    static let force = OptionSpec.flag("--force", help: "replace FILE when it exists")
    static let verify = OptionSpec.flag("--verify", help: "check FILE instead of writing it")

    static let verb = Verb(
        words: ["backup"], group: .maintain, summary: "copy the encrypted store into one file",
        paragraph: """
            Writes the store and what is needed to work on with it into a zip, which sgit reads too, with its SHA-256 and \
            manifest beside it (FILE.sha256, FILE.manifest.json). Without FILE it gets a name in .sg_vault/backups. The \
            file has mode 0600, is read again and checked before it gets its name. Uncommitted changes, stashes and tags \
            that were not pushed are not in it. Without --include-key it is as safe to keep elsewhere as the vault's \
            server is.
            """,
        synopsis: [
            "backup [--label WORD] [--include-key] [--allow-dirty] [--force] [FILE]", "backup --verify FILE",
        ],
        options: [label, includeKey, allowDirty, force, verify],
        positionals: [Positional("FILE", help: "where the backup is, or goes", completion: .file)],
        exits: [
            .init(.ok), .init(.notFound), .init(.auth, "--include-key, and there is no key here"),
            .init(.integrity, "the clone, or the backup, is damaged"),
            .init(.refused, "uncommitted changes, or FILE exists"), .init(.unsupported),
        ],
        examples: [
            .init("vaultctl backup /media/disk/notes.zip", "Writes a backup without the key."),
            .init("vaultctl backup --verify /media/disk/notes.zip", "Checks it, with no key."),
        ],
        document: .init("vaultctl/backup/1", "path, bytes, sha256, objects, includes_key"),
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        guard !call.has(verify) else { return try check(call) }
        let path = try call.arguments.allPositionals.first.map { try call.outputPlace($0) }
        let vault = try VaultPlace.open(call)
        var options = BackupOptions(
            includesKey: call.has(includeKey), allowsDirty: call.has(allowDirty), replaces: call.has(force))
        if let word = try call.text(label) { options.label = word }
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let result = try vault.backup(to: path, options, observer: observer)
        if result.includesKey {
            call.messages.warning(
                "\(TextSafety.line(result.path)) holds the vault key in clear: who has it has the vault")
        }
        return try call.answer(BackupAnswer(result: result, isCheck: false))
    }

    private static func check(_ call: Call) throws -> ExitCode {
        guard let typed = call.arguments.allPositionals.first else {
            throw Usage.error("'backup --verify' needs FILE", about: [verb])
        }
        let result = try Vault.verifyBackup(try call.place(typed), environment: call.surroundings.vault)
        return try call.answer(BackupAnswer(result: result, isCheck: true))
    }
}

/// A backup, told.
private struct BackupAnswer: Rendered {
    let result: BackupResult
    let isCheck: Bool

    func writeText(to text: TextRenderer) throws {
        let key = result.includesKey ? ", with the vault key" : ", without a key"
        try text.line(
            "\(isCheck ? "Checked" : "Wrote") \(TextSafety.line(result.path)): "
                + "\(text.counted(result.objects, "object")), \(text.size(result.bytes))\(key)")
        try text.line("SHA-256 \(result.sha256)")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "path": .string(result.path),
            "bytes": .integer(result.bytes),
            "sha256": .string(result.sha256),
            "objects": .count(result.objects),
            "includes_key": .bool(result.includesKey),
        ])
    }
}
