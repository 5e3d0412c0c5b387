internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki import`.
enum PkiImportCommand {
    /// Whatever begins like this is a link and no file name.
    private static let linkStart = Array("vaultctl-id:".utf8)
    private static let limit = 1 << 20
    static let force = OptionSpec.flag(
        "--force",
        help: "replace a contact that is damaged or had another signing key; take a signing key that another has")

    static let verb = Verb(
        words: ["pki", "import"], group: .identities, summary: "keep somebody's public keys as a contact",
        paragraph: """
            Reads a public bundle or the line of 'pki id' and keeps it as a contact. Both fingerprints are computed from \
            the keys; what the bundle claims is not believed. Anybody can write any label and pair any two keys: compare \
            both fingerprints with their owner before you rely on them. A contact with the same keys is replaced, label \
            included. Another key of the same fingerprint is refused, and so are another signing key beside a known \
            encryption key and a known signing key beside another encryption key, unless --force is given.
            """,
        synopsis: ["pki import [--force] [--home DIR] BUNDLE"], options: [force, PkiCommand.home],
        positionals: [
            Positional(
                "BUNDLE", help: "a file, '-' for standard input, or the line of 'pki id' itself", required: true,
                completion: .file)
        ],
        exits: [
            .init(.ok), .init(.integrity, "it is no public bundle, or the contact is there and damaged"),
            .init(
                .refused,
                "the fingerprint is that of another key, or the signing key is not, or not only, this contact's"),
            .init(.unsupported, "a bundle of another version"),
        ],
        examples: [
            .init("vaultctl pki import bert.json", "Keeps the keys in a file as a contact."),
            .init("xclip -o | vaultctl pki import -", "Keeps those of a line that was copied from a message."),
        ],
        document: .init(
            "vaultctl/pki-import/1",
            "label, fingerprint, signing_fingerprint, replaced, warnings[{code,message}]"),
        changes: true,
        action: .local { call in
            let store = try PkiStore(call)
            let argument = call.arguments.allPositionals.first ?? []
            let bytes =
                argument.starts(with: linkStart)
                ? argument : try InputFile(call: call, typed: argument).bytes(limit: limit, "a public bundle has")
            let imported = try store.keys.importContact(
                try PublicBundle(parsing: bytes), replacingSigningKey: call.has(force))
            if !call.isJSON { call.tell(imported.warnings) }
            return try call.answer(ImportAnswer(imported: imported))
        })
}

/// A contact that was imported, told.
private struct ImportAnswer: Rendered {
    let imported: ContactImport

    func writeText(to text: TextRenderer) throws {
        let contact = imported.contact
        try text.line("\(imported.replaced ? "Replaced" : "Imported") contact \(TextSafety.label(contact.label))")
        try text.line("Fingerprint: \(contact.fingerprint)")
        try text.line("Signing fingerprint: \(contact.signingFingerprint?.text ?? "none")")
    }

    func jsonMembers() -> [JSONMember] {
        JSONValue.identity(imported.contact)
            + .record(["replaced": .bool(imported.replaced), "warnings": .warnings(imported.warnings)])
    }
}
