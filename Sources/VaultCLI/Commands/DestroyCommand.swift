internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl destroy`.
enum DestroyCommand {
    static let dryRun = OptionSpec.flag("--dry-run", help: "tell what would be destroyed, destroy nothing")

    static let verb = Verb(
        words: ["destroy"], group: .maintain, summary: "remove the vault at its server for ever",
        paragraph: """
            Removes every file of this vault at its server. The vault id is burnt: nobody can publish to it there again, \
            with any key. This clone and all others keep their files and history; 'rekey' gives them a new id. A clone of \
            a part of the vault refuses: the rest may be nowhere else. The vault id has to be typed, or given with \
            --confirm; -y does not stand for it. Exit 0 only when nothing is left there.
            """,
        synopsis: ["destroy [--confirm ID] [--dry-run]"], options: [Confirmation.confirm, dryRun],
        exits: [
            .init(.ok), .init(.negative, "declined"), .init(.notFound, "there is no such vault"), .init(.auth),
            .init(.network, "the server could not be asked whether it is gone"), .init(.integrity),
            .init(.refused, "a clone of a part"),
            .init(.inputNeeded, "nobody confirmed"),
        ],
        examples: [
            .init("vaultctl destroy", "Asks for the vault id, then removes the vault at the recorded server."),
            .init(
                "vaultctl destroy --confirm a1b2c3d4e5f6 --server /srv/vaults/old", "Removes it in a folder, unasked."),
        ],
        network: .always,
        document: .init("vaultctl/destroy/1", "vault_id, server, files_deleted, dry_run"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let place = Redaction.redacted(TextSafety.line(server.text))
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        if call.has(dryRun) {
            let count = try await remote.list(.all).count
            return try call.answer(DestroyAnswer(vaultID: vault.vaultID, files: count, place: place, isPlan: true))
        }
        try Confirmation.requireID(
            vault.vaultID, "This removes the vault at \(place) for ever, and its id can not be used there again.", call)
        let result = try await vault.destroyRemote(remote)
        return try call.answer(DestroyAnswer(vaultID: result.vaultID, files: result.files, place: place, isPlan: false))
    }
}

/// What is gone, told.
private struct DestroyAnswer: Rendered {
    let vaultID: VaultID
    let files: Int?
    let place: String
    let isPlan: Bool

    func writeText(to text: TextRenderer) throws {
        let counted = files.map { ", " + text.counted($0, "file") } ?? ""
        if isPlan { return try text.line("Would destroy vault \(vaultID.text) at \(place)\(counted)") }
        try text.line("Destroyed vault \(vaultID.text) at \(place)\(counted)")
        try text.line("Its id can not be used there again; 'vaultctl rekey' gives this clone a new one")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "vault_id": .string(vaultID.text),
            "server": .string(place),
            "files_deleted": files.map { .count($0) } ?? .null,
            "dry_run": .bool(isPlan),
        ])
    }
}
