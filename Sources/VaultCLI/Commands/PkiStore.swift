internal import PKICore
internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The key store of a run: where it is, whose keys are meant, and their private halves opened.
struct PkiStore {
    let call: Call
    let keys: KeyStore

    init(_ call: Call) throws {
        self.call = call
        keys = KeyStore(
            folder: try Self.place(call), fileSystem: call.surroundings.vault.fileSystem,
            clock: call.surroundings.vault.clock)
    }

    /// `--home`, else the setting `keys.store`, in which a leading `~/` stands for `HOME`.
    private static func place(_ call: Call) throws -> FilePath {
        if let typed = call.arguments.last(PkiCommand.home) { return try call.place(typed) }
        let text = try call.settings().text(SettingKey.keyStore) ?? ""
        guard text.hasPrefix("~/") else {
            guard text.hasPrefix("/") else {
                throw Usage.error("the setting keys.store has to begin with '/' or '~/'", hint: "vaultctl config list")
            }
            return FilePath(text)
        }
        guard let home = call.surroundings.environment["HOME"], !home.isEmpty else {
            throw VaultError(
                .usage, "the key store is in the home folder, and HOME is not set", hint: "--home names it")
        }
        return call.workingDirectory.appending(relative: home).appending(FilePath(String(text.dropFirst(2))))
    }

    // MARK: whose keys

    /// The key pair that an option names, else the only one there is.
    func identity(of option: OptionSpec) throws -> StoredIdentity {
        guard let name = try call.text(option) else { return try onlyIdentity("name one with '\(option.name)'") }
        return try identity(named: name)
    }

    /// The key pair that an argument names, else the only one there is.
    func identity(at index: Int) throws -> StoredIdentity {
        guard let name = try call.textPositional(index) else { return try onlyIdentity("name one") }
        return try identity(named: name)
    }

    /// The key pair of a name.
    func identity(named name: String) throws -> StoredIdentity {
        try keys.identity(named: Self.checked(name, call))
    }

    /// The contact that an argument names.
    func contact(at index: Int) throws -> PublicIdentity {
        guard let name = try call.textPositional(index) else {
            throw Usage.error("'--contact' needs the name of one", about: [call.verb])
        }
        return try keys.contact(named: Self.checked(name, call))
    }

    /// Who has to be the signer, by `--signed-by`; nil when anybody may be.
    func demandedSigner() throws -> PublicIdentity? {
        guard let name = try call.text(PkiCommand.signedBy) else { return nil }
        return try keys.signer(named: Self.checked(name, call)).identity
    }

    /// A name of a key: none can be empty, which an unset variable of a script leaves.
    static func checked(_ name: String, _ call: Call) throws -> String {
        guard !name.isEmpty else { throw Usage.error("the name of a key is empty", about: [call.verb]) }
        return name
    }

    private func onlyIdentity(_ advice: String) throws -> StoredIdentity {
        let listing = try keys.identities()
        call.tell(listing.warnings)
        if let only = listing.items.first, listing.items.count == 1 { return only }
        guard !listing.items.isEmpty else {
            throw VaultError(.keyNotFound, "there is no key pair here", hint: "vaultctl pki keygen")
        }
        throw Usage.error("there are \(listing.items.count) key pairs; \(advice)", hint: "vaultctl pki list")
    }

    // MARK: private halves

    /// The key that signs for an identity, opened.
    func signingKey(of identity: StoredIdentity) throws -> SigningPrivateKey {
        let passphrase = try passphrase(of: identity, .signing)
        return try keys.signingKey(of: identity.fingerprint, passphrase: passphrase)
    }

    /// The key that opens what was encrypted to an identity, opened.
    func encryptionKey(of identity: StoredIdentity) throws -> EncryptionPrivateKey {
        let passphrase = try passphrase(of: identity, .encryption)
        return try keys.encryptionKey(of: identity.fingerprint, passphrase: passphrase)
    }

    private func passphrase(of identity: StoredIdentity, _ half: KeyHalf) throws -> Passphrase {
        try PassphraseInput(call: call).passphrase(
            of: Self.named(identity.identity),
            isEncrypted: try keys.isEncrypted(identity.fingerprint, half))
    }

    /// An identity for a message: the label, which anybody can choose, never without the fingerprint.
    static func named(_ identity: PublicIdentity) -> String {
        "\(TextSafety.label(identity.label)) (\(identity.fingerprint))"
    }
}
