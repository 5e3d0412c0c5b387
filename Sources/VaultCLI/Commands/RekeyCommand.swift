internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

/// The verb `vaultctl rekey`.
enum RekeyCommand {
    static let to = OptionSpec.value(
        "--to", argument: "URL", help: "publish the new vault there, not at the recorded server [net]")
    static let deleteOld = OptionSpec.flag(
        "--delete-old", help: "afterwards destroy the old vault, at its server and here; needs --confirm [net]")
    static let resume = OptionSpec.flag("--resume", help: "go on with a rekey that was interrupted")
    static let abandon = OptionSpec.flag("--abandon", help: "give an interrupted rekey up; the old vault is untouched")

    static let verb = Verb(
        words: ["rekey"], group: .maintain, summary: "give the vault a new key and id",
        paragraph: """
            Makes a new key, encrypts the whole history anew under it beside the old vault, checks the result, publishes \
            it at the recorded server (at --to; nowhere without a server; a recorded folder is the old vault's alone, so \
            that --to is needed there), reads all of it back, and then puts it \
            in the place of the old vault, which stays in .sg_vault_old_... until --delete-old. All ids change; other \
            clones are cloned anew with the new key, which is shown once on the terminal and can be written by --key-out. \
            The old one is not destroyed while its server has commits that the new one lacks, or while backups are in its \
            folder. Interrupted anywhere, \
            --resume goes on and --abandon gives up. What was fetched with the old key stays readable with it.
            """,
        synopsis: [
            "rekey [--to URL] [--key-out F] [--print-key] [--delete-old --confirm ID]",
            "rekey --resume [--key-out F] [--print-key] [--delete-old --confirm ID]", "rekey --abandon",
        ],
        options: [
            to, InitCommand.keyOut, InitCommand.printKey, deleteOld, Confirmation.confirm, resume, abandon,
        ],
        exits: [
            .init(.ok), .init(.negative, "declined"), .init(.notFound),
            .init(.rejected, "the old vault's server has commits that the new one lacks"), .init(.auth),
            .init(.network, "the old vault is untouched; --resume goes on"), .init(.integrity),
            .init(.refused, "stashes, tags not pushed, backups, a clone of a part, or a rekey that is pending"),
            .init(.unsupported),
            .init(.inputNeeded),
        ],
        examples: [
            .init("vaultctl rekey --key-out ../notes.key", "A new key, kept in a file with mode 0600 as well."),
            .init(
                "vaultctl rekey --to /srv/vaults/notes-2 --delete-old --confirm a1b2c3d4e5f6",
                "Moves a vault in a folder to another one and destroys the old one."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/rekey/1",
            "result, old_vault_id, new_vault_id, old_head, new_head, commits, objects, unsigned, server, old_folder, "
                + "old_destroyed, key?"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        guard [resume, abandon].count(where: { call.has($0) }) < 2, !call.has(abandon) || !call.has(deleteOld),
            !call.has(to) || !(call.has(resume) || call.has(abandon))
        else { throw Usage.error("these options of 'rekey' exclude each other", about: [verb]) }
        if call.has(InitCommand.printKey) { try SecretOutput(call: call).checkOutput() }
        let vault = try VaultPlace.open(call)
        if call.has(abandon) {
            try vault.abandonRekey()
            return try call.answer(RekeyAnswer(outcome: .abandoned, vaultID: vault.vaultID))
        }
        let pending = try vault.pendingRekey()
        let isSwapped = pending?.phase == .swapped
        if call.has(deleteOld) {
            let id = isSwapped ? pending?.oldVaultID ?? vault.vaultID : vault.vaultID
            try Confirmation.requireID(
                id, "This destroys the old vault \(id) for ever, at its server and here, once the new one is in place.",
                call)
            // Before anything is begun; those of a vault that was replaced already are looked for where they are.
            if !isSwapped { try vault.refuseBackupLoss() }
        }
        if call.has(resume) {
            guard let pending else {
                throw VaultError(.refused, "no rekey was begun here", hint: "vaultctl rekey")
            }
            guard !isSwapped else { return try await afterwards(vault, nil, pending, nil, call) }
        } else {
            if let pending, !isSwapped {
                throw VaultError(
                    .refused, "a rekey is pending here already, which makes the vault \(pending.newVaultID.text)",
                    hint: "vaultctl rekey --resume goes on with it, vaultctl rekey --abandon gives it up")
            }
            let server = try target(call, vault)
            if !call.has(deleteOld) {
                try Confirmation.require("Give the vault \(vault.vaultID) a new key and id?", call)
            }
            if let file = call.arguments.last(InitCommand.keyOut) { try SecretOutput(call: call).checkPlace(file) }
            try vault.beginRekey(
                to: try VaultKey.generate(using: call.surroundings.vault.random), server: server?.text)
        }
        let key = try tellKey(vault, call)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let result = try await vault.finishRekey(
            publishingTo: { pending in
                guard let server = pending.newServer else { return nil }
                let address = try ServerAddress.recorded(server)
                return try RemoteOpener.open(address, vaultID: pending.newVaultID, call: call, vault: vault)
            }, observer: observer)
        return try await afterwards(vault, result, nil, key, call)
    }

    /// Where the new vault goes: `--to`, else the recorded server, else nowhere.
    private static func target(_ call: Call, _ vault: Vault) throws -> ServerAddress? {
        guard let text = try call.text(to) else {
            guard let recorded = try vault.recordedServer() else { return nil }
            let address = try ServerAddress.recorded(recorded)
            if case .folder = address.place {
                throw VaultError(
                    .refused, "the folder \(TextSafety.line(recorded)) belongs to the old vault alone",
                    hint: "--to names another folder or a server")
            }
            return address
        }
        let address = try ServerAddress.parse(text, relativeTo: call.workingDirectory)
        try ServerPlace.check(address, clone: vault.rootPath, call)
        return address
    }

    /// Shows the new key, and writes it where that was asked for, before anything else happens to the old vault.
    private static func tellKey(_ vault: Vault, _ call: Call) throws -> String? {
        let secret = try vault.pendingKeyText()
        call.messages.secrets.remember(secret)
        if let file = call.arguments.last(InitCommand.keyOut) {
            // A rekey that is gone on with may have written it before it was interrupted.
            let output = SecretOutput(call: call)
            if !output.holds(secret, in: file) { try output.write(secret, to: file) }
        }
        let text = SecretOutput.text(secret)
        guard !call.has(InitCommand.printKey) else { return text }
        SecretOutput(call: call).show(["The new vault key, shown once; keep it safe:", text])
        call.messages.note("the new key is kept in .sg_vault/local/vault_key once the rekey is done")
        return nil
    }

    /// What is left when the vaults have changed places.
    private static func afterwards(
        _ vault: Vault, _ result: RekeyResult?, _ pending: PendingRekey?, _ key: String?, _ call: Call
    ) async throws -> ExitCode {
        var answer = RekeyAnswer(outcome: .rekeyed, vaultID: vault.vaultID, result: result, pending: pending, key: key)
        if call.has(deleteOld) {
            let now = result == nil ? vault : try VaultPlace.open(root: vault.rootPath, call)
            do {
                let destroyed = try await now.destroyReplaced { pending in
                    guard let server = pending.oldServer else { return nil }
                    let address = try ServerAddress.recorded(server)
                    return try RemoteOpener.open(address, vaultID: pending.oldVaultID, call: call, vault: now)
                }
                answer.oldDestroyed = true
                _ = destroyed
            } catch let error as VaultError {
                // Where the old vault went on, or its key is gone, the same again is of no use.
                let own = error.code == .remoteMoved || error.code == .keyMissing ? error.hint : nil
                throw error.following(
                    "the vault has its new key", hint: own ?? "vaultctl rekey --resume --delete-old --confirm ID")
            }
        }
        return try call.answer(answer)
    }
}

/// What a rekey came to, told.
private struct RekeyAnswer: Rendered {
    enum Outcome: String {
        case rekeyed, abandoned
    }

    let outcome: Outcome
    /// The vault that the clone was of.
    let vaultID: VaultID
    var result: RekeyResult?
    var pending: PendingRekey?
    var key: String?
    var oldDestroyed = false

    func writeText(to text: TextRenderer) throws {
        guard outcome == .rekeyed else {
            try text.line("Gave the rekey up; vault \(vaultID.text) is as it was")
            return try text.line("A file that it wrote the new key to (--key-out) is of no use any more")
        }
        if let result {
            try text.line(
                "Vault \(result.oldVaultID.text) is now \(result.newVaultID.text): "
                    + "\(text.counted(result.commits, "commit")), \(text.counted(result.objects, "object"))")
            if let server = result.server {
                try text.line("Published at \(Redaction.redacted(TextSafety.line(server))) and read back")
            } else {
                try text.line("Published nowhere; 'vaultctl push --server URL --set-default' does that")
            }
            if result.unsigned > 0 {
                try text.line(
                    "\(text.counted(result.unsigned, "commit")) of others can not be signed anew and are unsigned now")
            }
        }
        if oldDestroyed {
            try text.line("Destroyed the old vault")
        } else if let folder = result?.oldFolder ?? pending?.oldFolder {
            try text.line("The old vault is in \(folder); 'vaultctl rekey --resume --delete-old' destroys it")
        }
        if let key { try text.line(key) }
    }

    func jsonMembers() -> [JSONMember] {
        let members: [JSONMember] = .record([
            "result": .string(outcome.rawValue),
            "old_vault_id": .string((result?.oldVaultID ?? pending?.oldVaultID ?? vaultID).text),
            "new_vault_id": .optional((result?.newVaultID ?? pending?.newVaultID)?.text),
            "old_head": .id(result?.oldHead),
            "new_head": .id(result?.newHead),
            "commits": result.map { .count($0.commits) } ?? .null,
            "objects": result.map { .count($0.objects) } ?? .null,
            "unsigned": result.map { .count($0.unsigned) } ?? .null,
            "server": .optional(result?.server ?? pending?.newServer),
            "old_folder": .optional(oldDestroyed ? nil : result?.oldFolder ?? pending?.oldFolder),
            "old_destroyed": .bool(oldDestroyed),
        ])
        return members + (key.map { .record(["key": .string($0)]) } ?? [])
    }
}
