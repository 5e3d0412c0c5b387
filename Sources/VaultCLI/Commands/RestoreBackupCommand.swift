internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl restore-backup`.
enum RestoreBackupCommand {
    static let existing = OptionSpec.flag(
        "--existing", help: "DIR holds files, of which none is touched: they are the working copy")
    static let bare = OptionSpec.flag("--bare", help: "no working copy and no key on disk")

    static let verb = Verb(
        words: ["restore-backup"], group: .maintain, summary: "make a clone of a backup",
        paragraph: """
            Takes a backup of vaultctl or sgit apart: only what a backup may hold comes out of it, nothing of it outside \
            DIR, no link, and none of it compressed. Every object is checked against its id and the history for being \
            whole before DIR gets its name. The key is the one in the backup, unless one is given. A backup does not tell \
            where the vault is published; --server records that.
            """,
        synopsis: ["restore-backup [--existing] [--bare] [--server URL] FILE DIR"], options: [existing, bare],
        positionals: [
            Positional("FILE", help: "the backup", required: true, completion: .file),
            Positional("DIR", help: "absent or empty, unless --existing", required: true, completion: .folder),
        ],
        exits: [
            .init(.ok), .init(.auth, "no key, or not the one of the backup"),
            .init(.integrity, "the backup is damaged"),
            .init(.refused, "no backup, or DIR is not empty"),
            .init(.partial, "this file system can not hold some files"), .init(.unsupported, "it is compressed"),
            .init(.inputNeeded),
        ],
        examples: [
            .init("vaultctl restore-backup --key-file key notes.zip notes", "Restores a backup without a key in it."),
            .init(
                "vaultctl restore-backup --existing .vault__a1b2c3d4__2026-11-30T10-00-00Z__detach.zip .",
                "Makes a detached folder a clone again."),
        ],
        document: .init(
            "vaultctl/restore-backup/1",
            "directory, vault_id, mode, head, objects, files, key_in_backup, new_branch, skipped[], not_stored[]"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let typed = call.arguments.allPositionals
        guard typed.count == 2 else { throw Usage.error("'restore-backup' needs FILE and DIR", about: [verb]) }
        let (file, directory) = (try call.place(typed[0]), try call.place(typed[1]))
        var options = RestoreOptions(existing: call.has(existing), bare: call.has(bare))
        if let server = try ServerChoice.new(call) {
            try ServerPlace.check(server, clone: ServerPlace.real(directory, call), call)
            options.server = server.text
        }
        let outer = try NewVaultPlace(call: call).check(directory)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let environment = call.surroundings.vault
        let holdsKey = try Vault.verifyBackup(file, environment: environment).includesKey
        let key: AccessKey?
        if SecretInput(call: call).source != nil || !holdsKey {
            key = try SecretInput(call: call).accessKey(for: "the vault in \(call.shown(file))")
        } else {
            key = nil
        }
        let result = try Vault.restoreBackup(
            file, to: directory, key: key, options: options, environment: environment, observer: observer)
        NewVaultPlace(call: call).tell(outer)
        if result.hasNewBranch {
            call.messages.note("the backup holds no signing key; this clone has a branch and a key of its own")
        }
        return try call.answer(
            RestoreAnswer(result: result), exit: result.notStored.isEmpty ? .ok : .partial)
    }
}

/// A restored clone, told.
private struct RestoreAnswer: Rendered {
    let result: RestoreBackupResult

    func writeText(to text: TextRenderer) throws {
        try text.line(
            "Restored vault \(result.vaultID.text) in \(TextSafety.line(result.directory)): "
                + "\(text.counted(result.objects, "object")), \(text.counted(result.files, "file"))")
        for name in result.skipped { try text.line("Left out: \(TextSafety.line(name))") }
        try text.notStored(result.notStored)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "directory": .string(result.directory),
            "vault_id": .string(result.vaultID.text),
            "mode": .string(result.mode.rawValue),
            "head": .id(result.head),
            "objects": .count(result.objects),
            "files": .count(result.files),
            "key_in_backup": .bool(result.heldKey),
            "new_branch": .bool(result.hasNewBranch),
            "skipped": .strings(result.skipped),
            "not_stored": .array(result.notStored.map { .name($0.path) }),
        ])
    }
}
