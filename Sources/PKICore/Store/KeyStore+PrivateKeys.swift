internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Which of the two private keys of an identity.
public enum KeyHalf: Sendable {
    /// The RSA key that opens messages.
    case encryption
    /// The P-256 key that signs.
    case signing

    var file: [UInt8] { self == .encryption ? IdentityFiles.encryptionPrivate : IdentityFiles.signingPrivate }
    var name: String { self == .encryption ? "encryption" : "signing" }
}

extension KeyStore {
    /// Whether a private key needs a passphrase; so that nobody is asked for one in vain.
    /// - Throws: `keyNotFound`, `objectCorrupt`.
    public func isEncrypted(_ fingerprint: Fingerprint, _ half: KeyHalf) throws(PKIError) -> Bool {
        var pem = try read(half.file, in: try identityFolder(fingerprint))
        defer { pem.wipe() }
        return try readingKey("the \(half.name) key of \(fingerprint)") { () throws(CryptoError) in
            try EncryptedPrivateKey.isEncrypted(pem: pem.span)
        }
    }

    /// Opens the key that opens messages to an identity.
    ///
    /// * `passphrase`: Empty for a key that has none.
    /// - Throws: `keyNotFound`, `keyMissing`, `keyWrong`, `formatUnsupported`, `objectCorrupt`, also when the key does
    ///   not belong into its folder.
    public func encryptionKey(
        of fingerprint: Fingerprint, passphrase: borrowing Passphrase
    ) throws(PKIError) -> EncryptionPrivateKey {
        // A key without a passphrase lies there as it is.
        var pem = try read(KeyHalf.encryption.file, in: try identityFolder(fingerprint))
        defer { pem.wipe() }
        let key = try EncryptionPrivateKey(
            pem: pem, passphrase: passphrase, check: .arithmetic, name: "the encryption key of \(fingerprint)")
        guard key.publicKey.fingerprint == fingerprint else { throw misplaced(.encryption, fingerprint) }
        return key
    }

    /// Opens the key that signs for an identity.
    ///
    /// * `passphrase`: Empty for a key that has none.
    /// - Throws: as ``encryptionKey(of:passphrase:)``.
    public func signingKey(
        of fingerprint: Fingerprint, passphrase: borrowing Passphrase
    ) throws(PKIError) -> SigningPrivateKey {
        let directory = try identityFolder(fingerprint)
        let expected = try SigningPublicKey(pem: try read(IdentityFiles.signingPublic, in: directory))
        var pem = try read(KeyHalf.signing.file, in: directory)
        defer { pem.wipe() }
        let key = try SigningPrivateKey(
            pem: pem, passphrase: passphrase, name: "the signing key of \(fingerprint)")
        guard key.publicKey == expected else { throw misplaced(.signing, fingerprint) }
        return key
    }

    private func misplaced(_ half: KeyHalf, _ fingerprint: Fingerprint) -> PKIError {
        PKIError(
            .objectCorrupt, "the \(half.name) key in the folder of \(fingerprint) is another identity's",
            path: folder.text)
    }

    static func notFound(_ fingerprint: Fingerprint) -> PKIError {
        PKIError(.keyNotFound, "no key pair \(fingerprint)", hint: "see vaultctl pki list")
    }

    /// The folder of an own identity; its name comes from a fingerprint and is never a path.
    func identityFolder(_ fingerprint: Fingerprint) throws(PKIError) -> any Directory {
        guard let keys = try open(Self.keysName), let directory = try folder(fingerprint.fileName, in: keys) else {
            throw Self.notFound(fingerprint)
        }
        return directory
    }

    /// Opens a folder below another, following no link; nil where there is none.
    func folder(_ name: [UInt8], in parent: any Directory) throws(PKIError) -> (any Directory)? {
        do throws(Errno) {
            return try parent.openDirectory(name)
        } catch {
            if error == .noSuchFile { return nil }
            throw .io(error, "cannot open \(QuotedName.text(name))", path: folder)
        }
    }

    func readIfPresent(_ name: [UInt8], in directory: any Directory) throws(PKIError) -> [UInt8]? {
        do throws(Errno) {
            return try directory.readFileIfPresent(name, limit: PKILimits.keyFile)
        } catch {
            if error == .fileTooLarge {
                throw PKIError(.objectCorrupt, "\(QuotedName.text(name)) is larger than any key", cause: error)
            }
            throw .io(error, "cannot read \(QuotedName.text(name))", path: folder)
        }
    }

    func read(_ name: [UInt8], in directory: any Directory) throws(PKIError) -> [UInt8] {
        guard let bytes = try readIfPresent(name, in: directory) else {
            throw PKIError(.objectCorrupt, "\(QuotedName.text(name)) is missing", path: folder.text)
        }
        return bytes
    }

    func checkLabel(_ label: String) throws(PKIError) {
        guard label.utf8.count <= PKILimits.label else {
            throw PKIError(.usage, "a label has at most \(PKILimits.label) bytes")
        }
    }

    /// A document with another label and everything else as it was.
    static func relabelled(_ value: JSONValue, _ label: String) -> JSONValue {
        var members = value.members ?? []
        let changed = JSONMember(name: "label", value: .string(label))
        if let place = members.firstIndex(where: { $0.isNamed("label") }) {
            members[place] = changed
        } else {
            members.insert(changed, at: 0)
        }
        return .object(members)
    }
}
