internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl pki show`.
enum PkiShowCommand {
    static let verb = Verb(
        words: ["pki", "show"], group: .identities, summary: "tell about one identity or contact",
        paragraph: """
            Tells label, fingerprints and public keys of a key pair, or with --contact of a contact. NAME is \
            \(PkiCommand.naming); without it the only key pair is meant. Private keys are never shown.
            """,
        synopsis: ["pki show [--contact] [--home DIR] [NAME]"], options: [PkiCommand.contact, PkiCommand.home],
        positionals: [Positional("NAME", help: "whose keys", completion: .keyPair)],
        exits: [.init(.ok), .init(.notFound, "no key has this name, or several have it")],
        examples: [
            .init("vaultctl pki show", "Tells about your only key pair."),
            .init("vaultctl pki show --contact 'Bert Example'", "Tells about a contact."),
        ],
        document: .init(
            "vaultctl/pki-show/1",
            "label, fingerprint, signing_fingerprint, source (contact or own key), algorithm, key_size, created_at, "
                + "encrypt, sign (public keys, PEM)"),
        action: .local { call in
            let store = try PkiStore(call)
            guard call.has(PkiCommand.contact) else {
                let own = try store.identity(at: 0)
                return try call.answer(
                    ShownIdentity(
                        identity: own.identity, source: .ownKey, algorithm: own.algorithm, createdMs: own.createdMs))
            }
            let contact = try store.contact(at: 0)
            return try call.answer(
                ShownIdentity(identity: contact, source: .contact, algorithm: "RSA-OAEP", createdMs: nil))
        })
}

/// An identity, told in full.
private struct ShownIdentity: Rendered {
    let identity: PublicIdentity
    let source: KnownKey.Source
    let algorithm: String
    let createdMs: Int64?

    func writeText(to text: TextRenderer) throws {
        try text.line("label: \(TextSafety.label(identity.label))")
        try text.line("fingerprint: \(identity.fingerprint)")
        try text.line("signing fingerprint: \(identity.signingFingerprint?.text ?? "none")")
        try text.line("known as: \(source.rawValue)")
        try text.line("kind: \(TextSafety.line(algorithm)) \(identity.encryption.bits)")
        if let createdMs { try text.line("made: \(text.time(createdMs))") }
        try text.call.output.write(identity.encryption.pem + (identity.signing?.pem ?? []))
    }

    func jsonMembers() -> [JSONMember] {
        func pem(_ bytes: [UInt8]?) -> JSONValue { .optional(bytes.map { String(decoding: $0, as: UTF8.self) }) }
        return JSONValue.identity(identity)
            + .record([
                "source": .string(source.rawValue), "algorithm": .string(algorithm),
                "key_size": .count(identity.encryption.bits),
                "created_at": .optional(createdMs.map { LocalTime.utc(ms: $0, milliseconds: true) }),
                "encrypt": pem(identity.encryption.pem), "sign": pem(identity.signing?.pem),
            ])
    }
}
