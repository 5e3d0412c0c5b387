internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki id`.
enum PkiIdCommand {
    static let verb = Verb(
        words: ["pki", "id"], group: .identities, summary: "print an identity as one line of text, to give away",
        paragraph: """
            Prints the public keys and the label of a key pair as one line that survives mail and chat; 'pki import' reads \
            it. It holds no secret. sgit does not know it: give sgit the file of 'pki export'. NAME is \
            \(PkiCommand.naming); without it the only key pair is meant.
            """,
        synopsis: ["pki id [--home DIR] [NAME]"], options: [PkiCommand.home],
        positionals: [Positional("NAME", help: "whose keys", completion: .keyPair)],
        exits: [.init(.ok), .init(.notFound, "no key has this name, or several have it")],
        examples: [
            .init("vaultctl pki id", "Prints your only identity as a line."),
            .init("vaultctl pki id 'Ann Example' --json", "Prints it in a document, with the fingerprints."),
        ],
        document: .init("vaultctl/pki-id/1", "label, fingerprint, signing_fingerprint, link"),
        action: .local { call in
            let identity = try PkiStore(call).identity(at: 0).identity
            return try call.answer(LinkAnswer(identity: identity, link: PublicBundle(identity).link()))
        })
}

/// A link text, told.
private struct LinkAnswer: Rendered {
    let identity: PublicIdentity
    let link: String

    func writeText(to text: TextRenderer) throws {
        try text.line(link)
    }

    func jsonMembers() -> [JSONMember] {
        JSONValue.identity(identity) + .record(["link": .string(link)])
    }
}
