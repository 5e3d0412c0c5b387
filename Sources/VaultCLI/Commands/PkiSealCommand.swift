internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki seal`.
enum PkiSealCommand {
    static let to = OptionSpec.value(
        "--to", argument: "NAME", help: "a contact or key pair that can open it", repeatable: true,
        completion: .knownKey)
    static let noSign = OptionSpec.flag("--no-sign", help: "leave out the signature")
    static let output = PkiCommand.output("with one FILE: write to this file instead of FILE.sealed")

    static let verb = Verb(
        words: ["pki", "seal"], group: .identities, summary: "seal files to one or more people, signed as a whole",
        paragraph: """
            Encrypts each file to all recipients and signs the whole result, recipients included, so that nobody who opens \
            it can pass it on as if it had been meant for somebody else. The signer is --sign-with, else your only key \
            pair; --no-sign leaves the signature out. Every recipient sees the fingerprints of the others. 'pki open' opens \
            it; sgit does not know this form. NAME is \(PkiCommand.naming).
            """,
        synopsis: [
            "pki seal --to NAME [--to NAME]... [--sign-with NAME | --no-sign] [-o FILE] [--force] [--home DIR] FILE..."
        ],
        options: [to, PkiCommand.signWith, noSign, output, PkiCommand.force, PkiCommand.home],
        positionals: [
            Positional(
                "FILE", help: "what to seal; '-' is standard input, and then the result goes to standard output",
                required: true, repeatable: true, completion: .file)
        ],
        exits: [
            .init(.ok), .init(.notFound, "no key has this name, or several have it"),
            .init(.auth, "the passphrase is wrong"),
            .init(.integrity, "the signing key is damaged"),
            .init(.refused, "a result exists already, or a FILE is too large"),
            .init(.unsupported, "the signing key is encrypted in an unknown way"),
            .init(.inputNeeded, "no source gives the passphrase of the signing key"),
        ],
        examples: [
            .init("vaultctl pki seal --to Bert --to Cleo plan.txt", "Writes plan.txt.sealed, signed by you."),
            .init(
                "vaultctl -C notes keys show . | vaultctl pki seal --to Bert -o notes.key.sealed -",
                "Hands a vault key over without a plain copy on the disk."),
        ],
        document: .init(
            "vaultctl/pki-seal/1",
            "files[{path,bytes}], recipients[{label,fingerprint,signing_fingerprint}], signer{...} (null when not signed)"
        ),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let names = try call.arguments.all(to).map { try call.text($0, of: "option '--to'") }
        guard !names.isEmpty else { throw Usage.error("'pki seal' needs --to", about: [call.verb]) }
        guard !call.has(noSign) || !call.has(PkiCommand.signWith) else {
            throw Usage.error("--no-sign and --sign-with exclude each other", about: [call.verb])
        }
        let files = call.arguments.allPositionals.map { InputFile(call: call, typed: $0) }
        let readsInput = files.contains(where: \.isStandardInput)
        guard files.count == 1 || !call.has(output) && !readsInput else {
            throw Usage.error("'-o' and standard input are for one FILE", about: [call.verb])
        }
        let store = try PkiStore(call)
        let places = try files.map { try ResultPlace(call, output, otherwise: $0.named(adding: ".sealed")) }
        var recipients: [PublicIdentity] = []
        for name in names {
            let known = try store.keys.recipient(named: PkiStore.checked(name, call)).identity
            if !recipients.contains(where: { $0.fingerprint == known.fingerprint }) { recipients.append(known) }
        }
        let signer = call.has(noSign) ? nil : try store.identity(of: PkiCommand.signWith)
        if signer != nil { try PassphraseInput(call: call).checkStandardInput(isTaken: readsInput) }
        let key = try signer.map { try store.signingKey(of: $0) }
        var written: [(place: ResultPlace, bytes: Int)] = []
        for (file, place) in zip(files, places) {
            try call.checkStop()
            let count = try place.seal(
                try file.message(), to: .several(recipients.map(\.encryption)), signer: key)
            written.append((place, count))
        }
        guard !places.contains(where: \.isStandardOutput) else { return .ok }
        return try call.answer(
            EncryptAnswer(
                verb: "Sealed", files: written, recipients: recipients, signer: signer?.identity, isList: true))
    }
}
