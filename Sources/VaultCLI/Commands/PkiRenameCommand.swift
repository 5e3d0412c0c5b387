internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki rename`.
enum PkiRenameCommand {
    static let verb = Verb(
        words: ["pki", "rename"], group: .identities, summary: "give a key pair or a contact another label",
        paragraph: """
            Changes the label of a key pair, or with --contact of a contact, in this key store. Keys and fingerprints stay, \
            and bundles that were given away keep the old label. NAME is \(PkiCommand.naming).
            """,
        synopsis: ["pki rename [--contact] [--home DIR] NAME LABEL"], options: [PkiCommand.contact, PkiCommand.home],
        positionals: [
            Positional("NAME", help: "whose label", required: true, completion: .keyPair),
            Positional("LABEL", help: "the new one", required: true),
        ],
        exits: [.init(.ok), .init(.notFound, "no key has this name, or several have it")],
        examples: [
            .init("vaultctl pki rename default 'Ann Example'", "Gives a key pair a better label."),
            .init("vaultctl pki rename --contact 51b0 Bert", "Calls a contact by the name that you know."),
        ],
        document: .init("vaultctl/pki-rename/1", "label, fingerprint, signing_fingerprint, source, old_label"),
        changes: true,
        action: .local { call in
            let store = try PkiStore(call)
            let label = try call.textPositional(1) ?? ""
            let old: PublicIdentity
            if call.has(PkiCommand.contact) {
                old = try store.contact(at: 0)
                try store.keys.renameContact(old.fingerprint, to: label)
            } else {
                old = try store.identity(at: 0).identity
                try store.keys.renameIdentity(old.fingerprint, to: label)
            }
            let new = PublicIdentity(label: label, encryption: old.encryption, signing: old.signing)
            return try call.answer(
                RenameAnswer(identity: new, oldLabel: old.label, isContact: call.has(PkiCommand.contact)))
        })
}

/// A new label, told.
private struct RenameAnswer: Rendered {
    let identity: PublicIdentity
    let oldLabel: String
    let isContact: Bool

    func writeText(to text: TextRenderer) throws {
        try text.line("Renamed \(TextSafety.label(oldLabel)) to \(PkiStore.named(identity))")
    }

    func jsonMembers() -> [JSONMember] {
        let source: KnownKey.Source = isContact ? .contact : .ownKey
        return JSONValue.identity(identity)
            + .record(["source": .string(source.rawValue), "old_label": .string(oldLabel)])
    }
}
