internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl detach`.
enum DetachCommand {
    static let backup = OptionSpec.flag(
        "--backup", help: "first write a backup with the key into the folder, as .vault__...__uninit.zip")

    static let verb = Verb(
        words: ["detach"], group: .maintain, summary: "make a plain folder of a clone",
        paragraph: """
            Removes .sg_vault with the encrypted store and the keys; the files of the working copy stay. Refused while \
            there are stashes, tags that were not pushed, backups in .sg_vault or the old vault of a rekey, and without \
            --backup while commits are nowhere else. With --backup the folder holds all \
            that is needed to go back: 'restore-backup --existing FILE DIR'. The server is not told.
            """,
        synopsis: ["detach [--backup]"], options: [backup],
        exits: [
            .init(.ok), .init(.negative, "declined"), .init(.notFound), .init(.auth), .init(.integrity),
            .init(.refused, "something would be lost"), .init(.inputNeeded),
        ],
        examples: [
            .init("vaultctl detach --backup", "Asks, then leaves the files and a backup."),
            .init("vaultctl detach -y", "Leaves the files alone; everything committed has to be published."),
        ],
        document: .init("vaultctl/detach/1", "directory, vault_id, backup{path,bytes,sha256,includes_key}"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        try Confirmation.require("Remove the vault of \(call.shown(vault.rootPath)), keeping its files?", call)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let result = try vault.detach(withBackup: call.has(backup), observer: observer)
        if let made = result.backup, made.includesKey {
            call.messages.warning(
                "\(TextSafety.line(made.path)) holds the vault key in clear: who has it has the vault")
        }
        return try call.answer(DetachAnswer(result: result))
    }
}

/// A folder that was a clone, told.
private struct DetachAnswer: Rendered {
    let result: DetachResult

    func writeText(to text: TextRenderer) throws {
        try text.line("\(TextSafety.line(result.directory)) is no clone of vault \(result.vaultID.text) any more")
        if let backup = result.backup { try text.line("Backup: \(TextSafety.line(backup.path))") }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "directory": .string(result.directory),
            "vault_id": .string(result.vaultID.text),
            "backup": result.backup.map { backup in
                .record([
                    "path": .string(backup.path),
                    "bytes": .integer(backup.bytes),
                    "sha256": .string(backup.sha256),
                    "includes_key": .bool(backup.includesKey),
                ])
            } ?? .null,
        ])
    }
}
