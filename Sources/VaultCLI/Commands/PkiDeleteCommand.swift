internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki delete`.
enum PkiDeleteCommand {
    static let dryRun = OptionSpec.flag("--dry-run", help: "tell what would be deleted, change nothing")

    static let verb = Verb(
        words: ["pki", "delete"], group: .identities, summary: "remove a key pair or a contact for good",
        paragraph: """
            Removes a key pair with its private keys, or with --contact a contact, after asking; -y answers. What was \
            encrypted to a deleted pair can never be opened again, unless a copy of its keys is kept. NAME is \
            \(PkiCommand.naming). A pair whose files are damaged is named by its whole fingerprint.
            """,
        synopsis: ["pki delete [--contact] [--dry-run] [--home DIR] NAME"],
        options: [PkiCommand.contact, dryRun, PkiCommand.home],
        positionals: [Positional("NAME", help: "whose keys", required: true, completion: .keyPair)],
        exits: [
            .init(.ok), .init(.negative, "declined"), .init(.notFound, "no key has this name, or several have it"),
            .init(.inputNeeded, "nobody can be asked"),
        ],
        examples: [
            .init("vaultctl pki delete d4c4ab77bf610487", "Deletes a key pair after asking."),
            .init("vaultctl pki delete --contact Bert -y", "Deletes a contact without asking."),
        ],
        document: .init("vaultctl/pki-delete/1", "label, fingerprint, source, dry_run"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let store = try PkiStore(call)
        let isContact = call.has(PkiCommand.contact)
        let found = try isContact ? contact(store) : pair(store)
        let name = "\(TextSafety.label(found.label ?? "damaged")) (\(found.fingerprint))"
        if !call.has(dryRun) {
            try Confirmation.require(
                isContact
                    ? "delete the contact \(name)?"
                    : "delete the private keys of \(name), so that nothing encrypted to it opens any more?", call)
            if isContact {
                try store.keys.deleteContact(found.fingerprint)
            } else {
                try store.keys.deleteIdentity(found.fingerprint)
            }
        }
        return try call.answer(
            DeleteAnswer(
                label: found.label, fingerprint: found.fingerprint, isContact: isContact, name: name,
                isPlan: call.has(dryRun)))
    }

    private typealias Found = (label: String?, fingerprint: Fingerprint)

    private static func contact(_ store: PkiStore) throws -> Found {
        do {
            let contact = try store.contact(at: 0)
            return (contact.label, contact.fingerprint)
        } catch let error as PKIError {
            return try damaged(store, error, try store.keys.contacts().warnings)
        }
    }

    private static func pair(_ store: PkiStore) throws -> Found {
        do {
            let pair = try store.identity(at: 0)
            return (pair.label, pair.fingerprint)
        } catch let error as PKIError {
            return try damaged(store, error, try store.keys.identities().warnings)
        }
    }

    /// What a list leaves out with a warning, because it is damaged; it goes by its whole fingerprint.
    private static func damaged(_ store: PkiStore, _ error: PKIError, _ warnings: [PKIWarning]) throws -> Found {
        let name = UTF8Text.trimmed(try store.call.textPositional(0) ?? "").lowercased()
        guard error.code == .keyNotFound, let fingerprint = Fingerprint(name),
            warnings.contains(where: { $0.message.hasPrefix(fingerprint.text) })
        else { throw error }
        return (nil, fingerprint)
    }
}

/// What was deleted, told.
private struct DeleteAnswer: Rendered {
    let label: String?
    let fingerprint: Fingerprint
    let isContact: Bool
    let name: String
    let isPlan: Bool

    func writeText(to text: TextRenderer) throws {
        try text.line("\(isPlan ? "Would delete" : "Deleted") \(isContact ? "contact" : "key pair") \(name)")
    }

    func jsonMembers() -> [JSONMember] {
        let source: KnownKey.Source = isContact ? .contact : .ownKey
        return .record([
            "label": .optional(label), "fingerprint": .string(fingerprint.text), "source": .string(source.rawValue),
            "dry_run": .bool(isPlan),
        ])
    }
}
