internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki decrypt`.
enum PkiDecryptCommand {
    static let output = PkiCommand.output("write to FILE instead of FILE without .enc")
    static let contentOnly = OptionSpec.flag(
        "--content-only", help: "with --signed-by: a signature over the content alone will do, as sgit makes it")

    static let verb = Verb(
        words: ["pki", "decrypt"], group: .identities, summary: "decrypt a file that was encrypted to you",
        paragraph: """
            Opens what 'pki encrypt' or sgit encrypted and tells whose signature it carries. Nothing is written before all \
            of it is checked: when a signature names somebody you know who did not make it, the verb ends with exit 8 and \
            writes nothing. The signature of an unknown key is told and proves nothing. With --signed-by nothing is \
            written unless this NAME signed all of it, for you: scripts should say so. The result can be read by you \
            alone. NAME is \(PkiCommand.naming).
            """,
        synopsis: [
            "pki decrypt [--fingerprint NAME] [--signed-by NAME [--content-only]] [-o FILE] [--force] [--home DIR] FILE"
        ],
        options: [PkiCommand.openWith, PkiCommand.signedBy, contentOnly, output, PkiCommand.force, PkiCommand.home],
        positionals: [
            Positional(
                "FILE", help: "what to decrypt; '-' is standard input, and then the result goes to standard output",
                required: true, completion: .file)
        ],
        exits: OpenAnswer.exits,
        examples: [
            .init("vaultctl pki decrypt plan.txt.enc", "Writes plan.txt and tells who signed it."),
            .init(
                "vaultctl pki decrypt --signed-by Ann -o - notes.tar.enc | tar x",
                "Decrypts into a pipe what Ann signed, and nothing else."),
        ],
        document: .init("vaultctl/pki-decrypt/1", OpenAnswer.members),
        changes: true,
        action: .local { call in
            guard !call.has(contentOnly) || call.has(PkiCommand.signedBy) else {
                throw Usage.error("--content-only says what --signed-by asks for", about: [call.verb])
            }
            let store = try PkiStore(call)
            let file = InputFile(call: call, typed: call.arguments.allPositionals.first ?? [])
            let place = try ResultPlace(call, output, otherwise: file.named(removing: ".enc"))
            let signer = try store.demandedSigner()
            let identity = try store.identity(of: PkiCommand.openWith)
            try PassphraseInput(call: call).checkStandardInput(isTaken: file.isStandardInput)
            let opened = try file.opened(signers: try store.keys.knownSigners(preferring: signer)) {
                try store.encryptionKey(of: identity)
            }
            guard opened.form != .sealed else {
                throw VaultError(
                    .formatUnsupported, "\(file.name) is a sealed file", hint: "vaultctl pki open")
            }
            return try OpenAnswer(
                verb: "Decrypted", opened: opened, place: place, signer: signer,
                covering: call.has(contentOnly) ? .ciphertext : .whole
            ).answer(call)
        })
}

/// An envelope that was opened, told.
struct OpenAnswer: Rendered {
    static let members =
        "path, bytes, form, signature{status (unsigned, verified or unknown_signer), "
        + "signing_fingerprint, signer_label, signer_source, covers (ciphertext or whole)}"
    static let exits: [Verb.Exit] = [
        .init(.ok), .init(.notFound, "no key has this name, or several have it"),
        .init(.auth, "the passphrase is wrong"),
        .init(.integrity, "it does not open with this key, or its signature is false or not the demanded one"),
        .init(.refused, "the result exists already, or FILE is too large"),
        .init(.unsupported, "another form or version"), .init(.inputNeeded, "no source gives the passphrase"),
    ]

    private let verb: String
    private let form: EnvelopeForm
    private let signature: EnvelopeSignature
    private let place: ResultPlace
    private let plaintext: [UInt8]

    /// * `signer`: Who has to have signed it; nil for anybody or nobody.
    /// * `covering`: What that signature has to cover.
    /// - Throws: `signatureBad`, before anything is written.
    init(
        verb: String, opened: OpenedEnvelope, place: ResultPlace, signer: PublicIdentity?,
        covering: EnvelopeSignature.Coverage = .whole
    ) throws {
        self.verb = verb
        form = opened.form
        signature = opened.signature
        plaintext =
            if let signer { try opened.plaintext(signedBy: signer, covering: covering) } else { try opened.plaintext() }
        self.place = place
    }

    /// Writes what was inside, then tells of it.
    func answer(_ call: Call) throws -> ExitCode {
        try place.write(plaintext, access: .owner)
        if case .unknownSigner(let claimed) = signature {
            call.messages.warning(
                "signed by a key that is not known here (\(claimed.quotedForDisplay)): the signature is not verified",
                isSecurity: true)
        }
        guard !place.isStandardOutput else {
            if let line = signatureLine { call.messages.note(line) }
            return .ok
        }
        return try call.answer(self)
    }

    /// What is told where the signature is no reason for a warning.
    private var signatureLine: String? {
        switch signature {
        case .unsigned: return "not signed"
        case .verified(let key, let covers):
            let rest = covers == .whole ? "" : "; it covers the ciphertext, not for whom or by whom it was encrypted"
            return "signature verified (signer: \(told(key)))\(rest)"
        case .unknownSigner, .invalid: return nil
        }
    }

    func writeText(to text: TextRenderer) throws {
        try text.line("\(verb) to \(place.shown)")
        if let line = signatureLine { try text.line(line.prefix(1).uppercased() + line.dropFirst()) }
    }

    func jsonMembers() -> [JSONMember] {
        let told: [JSONMember] =
            switch signature {
            case .unsigned: signature(status: "unsigned", nil, nil, nil)
            case .verified(let key, let covers):
                signature(status: "verified", key.identity.signingFingerprint?.text, key, covers.rawValue)
            case .unknownSigner(let claimed): signature(status: "unknown_signer", claimed, nil, nil)
            case .invalid(let key): signature(status: "invalid", key.identity.signingFingerprint?.text, key, nil)
            }
        return .record([
            "path": place.json, "bytes": .count(plaintext.count), "form": .string(form.name),
            "signature": .object(told),
        ])
    }

    private func signature(
        status: String, _ fingerprint: String?, _ signer: KnownKey?, _ covers: String?
    ) -> [JSONMember] {
        .record([
            "status": .string(status), "signing_fingerprint": .optional(fingerprint),
            "signer_label": .optional(signer?.identity.label), "signer_source": .optional(signer?.source.rawValue),
            "covers": .optional(covers),
        ])
    }

    private func told(_ key: KnownKey) -> String { PkiVerifyCommand.signer(key) }
}
