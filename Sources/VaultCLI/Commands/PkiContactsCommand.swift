internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki contacts`.
enum PkiContactsCommand {
    static let verb = Verb(
        words: ["pki", "contacts"], group: .identities, summary: "list those whose public keys you have",
        paragraph: """
            Lists the contacts of the key store: whose files you can encrypt to and whose signatures are known. A label \
            is what its owner chose; only the fingerprint says which key it is.
            """,
        synopsis: ["pki contacts [--home DIR]"], options: [PkiCommand.home], exits: [.init(.ok)],
        examples: [
            .init("vaultctl pki contacts", "Lists your contacts."),
            .init("vaultctl pki contacts --json", "The same for a program."),
        ],
        document: .init(
            "vaultctl/pki-contacts/1", "contacts[{label,fingerprint,signing_fingerprint}], warnings[{code,message}]"),
        action: .local { call in
            let listing = try PkiStore(call).keys.contacts()
            if !call.isJSON { call.tell(listing.warnings) }
            return try call.answer(ContactsAnswer(contacts: listing.items, warnings: listing.warnings))
        })
}

/// Contacts, told.
private struct ContactsAnswer: Rendered {
    let contacts: [PublicIdentity]
    let warnings: [PKIWarning]

    func writeText(to text: TextRenderer) throws {
        for contact in contacts {
            let note = contact.signing == nil ? "  (can not sign)" : ""
            try text.line("\(contact.fingerprint)  \(TextSafety.label(contact.label))\(note)")
        }
        if contacts.isEmpty { try text.line("no contacts") }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "contacts": .array(contacts.map { .object(JSONValue.identity($0)) }), "warnings": .warnings(warnings),
        ])
    }
}
