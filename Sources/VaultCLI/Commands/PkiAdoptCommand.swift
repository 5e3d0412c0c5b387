internal import PKICore
internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pki adopt`.
enum PkiAdoptCommand {
    private static let limit = 1 << 20

    static let verb = Verb(
        words: ["pki", "adopt"], group: .identities, summary: "take over an identity from its two private keys",
        paragraph: """
            Reads a private RSA key and a private P-256 key in PEM, checks every number in them, computes the public \
            halves, and keeps both in the key store. Where they are encrypted, the passphrase opens them and protects \
            them from then on; else a new one is asked for. The files stay as they are: remove them when they hold the \
            only copy that others could find.
            """,
        synopsis: ["pki adopt [--label TEXT] [--home DIR] ENC_PEM SIGN_PEM"],
        options: [PkiCommand.label, PkiCommand.home],
        positionals: [
            Positional(
                "ENC_PEM", help: "file of the RSA key; '-' is standard input", required: true, completion: .file),
            Positional(
                "SIGN_PEM", help: "file of the P-256 key; '-' is standard input", required: true, completion: .file),
        ],
        exits: [
            .init(.ok),
            .init(.rejected, "the key store holds this identity already"), .init(.auth, "the passphrase is wrong"),
            .init(.integrity, "one of them is no such key, or is damaged"),
            .init(.unsupported, "a key is encrypted in an unknown way"),
            .init(.inputNeeded, "no source gives a passphrase"),
        ],
        examples: [
            .init("vaultctl pki adopt --label ann private_key.pem signing_private.pem", "Takes over an identity."),
            .init(
                "openssl pkey -in old.pem | vaultctl pki adopt - sign.pem",
                "Takes a key from a pipe, so that no plain copy lies on the disk."),
        ],
        document: .init("vaultctl/pki-adopt/1", PkiListCommand.members),
        changes: true,
        action: .local { call in
            let store = try PkiStore(call)
            let label = try call.text(PkiCommand.label) ?? ""
            let files = call.arguments.allPositionals.map { InputFile(call: call, typed: $0) }
            guard files.filter(\.isStandardInput).count < 2 else {
                throw Usage.error("standard input gives one key, not both", about: [call.verb])
            }
            let input = PassphraseInput(call: call)
            try input.checkStandardInput(isTaken: files.contains(where: \.isStandardInput))
            var pems = try files.map { try $0.bytes(limit: limit, "a key has") }
            defer { for index in pems.indices { SecretText.wipe(&pems[index]) } }
            return try call.answer(
                MadeIdentity(verb: "Adopted", identity: try add(pems, label: label, to: store.keys, input)))
        })

    private static func add(
        _ pems: [[UInt8]], label: String, to keys: KeyStore, _ input: PassphraseInput
    ) throws -> StoredIdentity {
        if let pair = try plainPair(pems) {
            let passphrase = try input.newPassphrase(for: "the adopted key pair")
            return try keys.add(pair, label: label, passphrase: passphrase)
        }
        let passphrase = try input.passphrase(of: "the keys to adopt", isEncrypted: true)
        let pair = try KeyPair(encryptionPEM: pems[0], signingPEM: pems[1], passphrase: passphrase)
        return try keys.add(pair, label: label, passphrase: passphrase)
    }

    /// The pair of two keys that are not encrypted; nil when one is.
    private static func plainPair(_ pems: [[UInt8]]) throws -> KeyPair? {
        let none = try Passphrase.none()
        do throws(PKIError) {
            return try KeyPair(encryptionPEM: pems[0], signingPEM: pems[1], passphrase: none)
        } catch {
            guard error.code == .keyMissing else { throw error }
            return nil
        }
    }
}
