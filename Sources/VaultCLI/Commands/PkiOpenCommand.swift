internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki open`.
enum PkiOpenCommand {
    static let output = PkiCommand.output("write to FILE instead of FILE without .sealed")

    static let verb = Verb(
        words: ["pki", "open"], group: .identities, summary: "open a file that was sealed to you",
        paragraph: """
            Opens what 'pki seal' made, with the key pair it is sealed to, and tells who signed it. A verified signature \
            covers everything, you as its recipient included. Nothing is written before all of it is checked: when a \
            signature names somebody you know who did not make it, the verb ends with exit 8 and writes nothing. With \
            --signed-by nothing is written unless this NAME is the signer: scripts should say so. The result can be read \
            by you alone. What 'pki encrypt' made is opened by 'pki decrypt', because a signature says less there. NAME \
            is \(PkiCommand.naming).
            """,
        synopsis: ["pki open [--fingerprint NAME] [--signed-by NAME] [-o FILE] [--force] [--home DIR] FILE"],
        options: [PkiCommand.openWith, PkiCommand.signedBy, output, PkiCommand.force, PkiCommand.home],
        positionals: [
            Positional(
                "FILE", help: "what to open; '-' is standard input, and then the result goes to standard output",
                required: true, completion: .file)
        ],
        exits: OpenAnswer.exits,
        examples: [
            .init("vaultctl pki open plan.txt.sealed", "Writes plan.txt and tells who signed it."),
            .init(
                "vaultctl pki open --signed-by Ann -o - notes.key.sealed | vaultctl clone - notes",
                "Uses a vault key that Ann handed over, without a plain copy on the disk."),
        ],
        document: .init("vaultctl/pki-open/1", OpenAnswer.members),
        changes: true,
        action: .local { call in
            let store = try PkiStore(call)
            let file = InputFile(call: call, typed: call.arguments.allPositionals.first ?? [])
            let place = try ResultPlace(call, output, otherwise: file.named(removing: ".sealed"))
            let signer = try store.demandedSigner()
            try PassphraseInput(call: call).checkStandardInput(isTaken: file.isStandardInput)
            let sealed = try file.envelope()
            let summary = try SealedEnvelope.summary(of: sealed)
            let key = try store.encryptionKey(of: try recipient(call, store, summary, file))
            let opened = try SealedEnvelope.open(
                sealed, with: key, signers: try store.keys.knownSigners(preferring: signer))
            guard opened.form == .sealed else { throw notSealed(file) }
            return try OpenAnswer(verb: "Opened", opened: opened, place: place, signer: signer).answer(call)
        })

    /// The key pair that is named, else the first that the file says it is for.
    private static func recipient(
        _ call: Call, _ store: PkiStore, _ summary: EnvelopeSummary, _ file: InputFile
    ) throws -> StoredIdentity {
        guard !call.has(PkiCommand.openWith) else { return try store.identity(of: PkiCommand.openWith) }
        let own = try store.keys.identities().items
        guard own.count > 1 else { return try store.identity(of: PkiCommand.openWith) }
        guard summary.form == .sealed else { throw notSealed(file) }
        guard let fitting = own.first(where: { summary.recipients.contains($0.fingerprint) }) else {
            throw VaultError(
                .decryptFailed, "\(file.name) is sealed to none of your key pairs", hint: "vaultctl pki list")
        }
        return fitting
    }

    private static func notSealed(_ file: InputFile) -> VaultError {
        VaultError(.formatUnsupported, "\(file.name) is encrypted but not sealed", hint: "vaultctl pki decrypt")
    }
}
