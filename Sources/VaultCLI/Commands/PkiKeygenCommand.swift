internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl pki keygen`.
enum PkiKeygenCommand {
    static let verb = Verb(
        words: ["pki", "keygen"], group: .identities, summary: "make an identity: a key pair to encrypt, one to sign",
        paragraph: """
            Makes an RSA pair of 4096 bits, which messages are encrypted to, and a P-256 pair, which signs, and keeps both \
            in the key store under a passphrase. sgit uses the same store. The passphrase is asked for twice, or comes \
            from --passphrase-file and its like. Making the keys takes a few seconds.
            """,
        synopsis: ["pki keygen [--label TEXT] [--home DIR]"], options: [PkiCommand.label, PkiCommand.home],
        exits: [.init(.ok), .init(.negative, "stopped"), .init(.inputNeeded, "no source gives a passphrase")],
        examples: [
            .init("vaultctl pki keygen --label 'Ann Example'", "Makes an identity and asks for its passphrase."),
            .init(
                "vaultctl pki keygen --label ci --passphrase-file ci.pass --home ./keys",
                "Makes one for a machine, in a store of its own."),
        ],
        document: .init("vaultctl/pki-keygen/1", PkiListCommand.members),
        changes: true,
        action: .local { call in
            let store = try PkiStore(call)
            let label = try call.text(PkiCommand.label) ?? ""
            let passphrase = try PassphraseInput(call: call).newPassphrase(for: "the new key pair")
            let pair = try generate(call)
            return try call.answer(
                MadeIdentity(
                    verb: "Made", identity: try store.keys.add(pair, label: label, passphrase: passphrase)))
        })

    private static func generate(_ call: Call) throws -> KeyPair {
        let observer = call.observer()
        var found = 0
        return try call.stoppable {
            try KeyPair.generate(cancellation: call.surroundings.cancellation) { progress in
                if progress == .foundPrime { found += 1 }
                observer.step(.init(name: "generate", done: found, total: 2))
            }
        }
    }
}

/// A key pair that is in the store from now on, told.
struct MadeIdentity: Rendered {
    /// `Made` or `Adopted`.
    let verb: String
    let identity: StoredIdentity

    func writeText(to text: TextRenderer) throws {
        try text.line("\(verb) key pair \(TextSafety.label(identity.label))")
        try text.line("Fingerprint: \(identity.fingerprint)")
        if let signing = identity.signingFingerprint { try text.line("Signing fingerprint: \(signing)") }
    }

    func jsonMembers() -> [JSONMember] {
        .record(["keys": .array([.object(PkiListCommand.members(of: identity))])])
    }
}
