internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl pki list`.
enum PkiListCommand {
    /// What is told of each key pair, here and by the verbs that make one.
    static let members = "keys[{label,fingerprint,signing_fingerprint,algorithm,key_size,created_at}]"

    static let verb = Verb(
        words: ["pki", "list"], group: .identities, summary: "list your identities",
        paragraph: """
            Lists the key pairs of the key store: fingerprint, label, kind. Fingerprints are computed from the keys. What \
            is damaged is left out with a warning. No passphrase is needed.
            """,
        synopsis: ["pki list [--home DIR]"], options: [PkiCommand.home], exits: [.init(.ok)],
        examples: [
            .init("vaultctl pki list", "Lists your key pairs."),
            .init("vaultctl pki list --json --home ./keys", "Lists those of another store, for a program."),
        ],
        document: .init("vaultctl/pki-list/1", members + ", warnings[{code,message}]"),
        action: .local { call in
            let listing = try PkiStore(call).keys.identities()
            if !call.isJSON { call.tell(listing.warnings) }
            return try call.answer(IdentitiesAnswer(identities: listing.items, warnings: listing.warnings))
        })

    static func members(of identity: StoredIdentity) -> [JSONMember] {
        JSONValue.identity(identity.identity)
            + .record([
                "algorithm": .string(identity.algorithm), "key_size": .count(identity.keySize),
                "created_at": .optional(identity.createdMs.map { LocalTime.utc(ms: $0, milliseconds: true) }),
            ])
    }
}

/// Key pairs, told.
private struct IdentitiesAnswer: Rendered {
    let identities: [StoredIdentity]
    let warnings: [PKIWarning]

    func writeText(to text: TextRenderer) throws {
        for identity in identities {
            let kind = "(\(TextSafety.line(identity.algorithm)) \(identity.keySize))"
            try text.line("\(identity.fingerprint)  \(TextSafety.label(identity.label))  \(kind)")
        }
        if identities.isEmpty { try text.line("no key pairs") }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "keys": .array(identities.map { .object(PkiListCommand.members(of: $0)) }),
            "warnings": .warnings(warnings),
        ])
    }
}
