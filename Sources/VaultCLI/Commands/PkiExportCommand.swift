internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki export`.
enum PkiExportCommand {
    static let output = PkiCommand.output("write to FILE instead of standard output")

    static let verb = Verb(
        words: ["pki", "export"], group: .identities, summary: "print the public keys of an identity, to give away",
        paragraph: """
            Prints the public bundle of a key pair, the JSON that 'pki import' and sgit read. It holds no secret. NAME is \
            \(PkiCommand.naming); without it the only key pair is meant. 'pki id' says the same in one line.
            """,
        synopsis: ["pki export [-o FILE] [--force] [--home DIR] [NAME]"],
        options: [output, PkiCommand.force, PkiCommand.home],
        positionals: [Positional("NAME", help: "whose keys", completion: .keyPair)],
        exits: [
            .init(.ok), .init(.notFound, "no key has this name, or several have it"),
            .init(.refused, "FILE exists and --force was not given"),
        ],
        examples: [
            .init("vaultctl pki export > ann.json", "Writes your only bundle to a file."),
            .init("vaultctl pki export d4c4ab77 -o ann.json", "The same for one of several key pairs."),
        ],
        document: .init("vaultctl/pki-export/1", "label, fingerprint, signing_fingerprint, bundle (text), path"),
        action: .local { call in
            let identity = try PkiStore(call).identity(at: 0).identity
            let bundle = PublicBundle(identity).bytes()
            // With --json the bundle stands in the document, also where no file is written.
            let place =
                call.has(output) || !call.isJSON ? try ResultPlace(call, output, otherwise: nil) : nil
            try place?.write(bundle)
            if let place, place.isStandardOutput { return .ok }
            return try call.answer(BundleAnswer(identity: identity, bundle: bundle, place: place))
        })
}

/// A bundle, told.
private struct BundleAnswer: Rendered {
    let identity: PublicIdentity
    let bundle: [UInt8]
    let place: ResultPlace?

    func writeText(to text: TextRenderer) throws {
        try text.line("Exported \(PkiStore.named(identity)) to \(place?.shown ?? "")")
    }

    func jsonMembers() -> [JSONMember] {
        JSONValue.identity(identity)
            + .record([
                "bundle": .string(String(decoding: bundle, as: UTF8.self)), "path": place?.json ?? .null,
            ])
    }
}
