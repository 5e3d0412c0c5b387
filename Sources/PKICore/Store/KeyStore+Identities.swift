internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// An own identity as it lies in a store.
public struct StoredIdentity: Sendable {
    /// Label and public halves.
    public let identity: PublicIdentity
    /// When it was made, in milliseconds since 1970, as its metadata say; nil where they say no moment up to 9999.
    public let createdMs: Int64?
    /// What the encryption key is for: `RSA-OAEP`.
    public var algorithm: String { IdentityFiles.algorithm }

    /// Free text that the owner chose.
    public var label: String { identity.label }
    /// The name of the identity.
    public var fingerprint: Fingerprint { identity.fingerprint }
    /// The name that its signatures carry.
    public var signingFingerprint: Fingerprint? { identity.signingFingerprint }
    /// The length of the modulus in bits.
    public var keySize: Int { identity.encryption.bits }
}

/// The files of an identity's folder.
enum IdentityFiles {
    static let encryptionPrivate = Array("private_key.pem".utf8)
    static let encryptionPublic = Array("public_key.pem".utf8)
    static let signingPrivate = Array("signing_private.pem".utf8)
    static let signingPublic = Array("signing_public.pem".utf8)
    static let metadata = Array("metadata.json".utf8)
    static let algorithm = "RSA-OAEP"
    static let defaultLabel = "default"

    /// Readable by others as far as the umask allows, as the reference writes them.
    static let publicMode: UInt32 = 0o644
    static let privateMode: UInt32 = 0o600
}

extension KeyStore {
    /// The years 1970 to 9999 in milliseconds: what lies outside was no moment of making, and has no RFC 3339 form.
    private static let moments = Int64(0)...253_402_300_799_999

    /// The own identities whose folders are in order; nothing needs a passphrase.
    ///
    /// Fingerprints are computed from the public keys; a folder that does not fit its name is left out.
    public func identities() throws(PKIError) -> Listing<StoredIdentity> {
        guard let keys = try open(Self.keysName) else { return Listing(items: [], warnings: []) }
        var items: [StoredIdentity] = []
        var warnings: [PKIWarning] = []
        for (fingerprint, name) in try fingerprints(in: keys, suffix: "") {
            do throws(PKIError) {
                guard let directory = try folder(name, in: keys),
                    let item = try readIdentity(fingerprint, in: directory)
                else { continue }
                items.append(item)
            } catch {
                warnings.append(PKIWarning("unreadable_key_pair", "\(fingerprint) is left out: \(error.message)"))
            }
        }
        return Listing(items: items, warnings: warnings)
    }

    /// The own identity that a person names: a fingerprint in any case, its first four digits or more, or a label.
    ///
    /// - Throws: `keyNotFound`, also when several are meant.
    public func identity(named name: String) throws(PKIError) -> StoredIdentity {
        try KeyReference(name).choose(
            from: try identities().items, kind: "key pair", hint: "see vaultctl pki list"
        ) { ($0.fingerprint, $0.label) }
    }

    /// Adds an identity, its private keys under a passphrase each with its own salt.
    ///
    /// * `label`: `default` when empty.
    /// - Throws: `usage` for an empty passphrase, `nameTaken` when the identity is there already.
    public func add(
        _ pair: KeyPair, label: String, passphrase: borrowing Passphrase
    ) throws(PKIError) -> StoredIdentity {
        guard !passphrase.isEmpty else { throw PKIError(.usage, "a passphrase is required") }
        let label = label.isEmpty ? IdentityFiles.defaultLabel : label
        try checkLabel(label)
        let identity = pair.publicIdentity(label: label)
        let created = clock.nowMs
        let keys = try openCreating(Self.keysName)
        // Both are slow, so nothing is written before they are done.
        let encryption = try pair.encryption.sealedPEM(passphrase: passphrase, random: random)
        let signing = try pair.signing.sealedPEM(passphrase: passphrase, random: random)
        removeLeftovers()
        try withTemporaryFolder(in: keys) { (temporary) throws(PKIError) in
            try put(pair, as: identity, created, encryption, signing, by: temporary, in: keys)
        }
        return StoredIdentity(identity: identity, createdMs: created)
    }

    /// Writes the files of an identity into a folder, which then gets its name.
    private func put(
        _ pair: KeyPair, as identity: PublicIdentity, _ created: Int64, _ encryption: [UInt8], _ signing: [UInt8],
        by temporary: [UInt8], in keys: any Directory
    ) throws(PKIError) {
        let parent = try attempt("cannot write to the key store \(folder.text)", path: folder) {
            () throws(Errno) in
            try keys.createDirectory(temporary, mode: 0o700)
            return try keys.openDirectory(temporary)
        }
        do throws(PKIError) {
            let (own, open) = (IdentityFiles.privateMode, IdentityFiles.publicMode)
            try write(encryption, as: IdentityFiles.encryptionPrivate, in: parent, mode: own)
            try write(pair.encryption.publicKey.pem, as: IdentityFiles.encryptionPublic, in: parent, mode: open)
            try write(signing, as: IdentityFiles.signingPrivate, in: parent, mode: own)
            try write(pair.signing.publicKey.pem, as: IdentityFiles.signingPublic, in: parent, mode: open)
            try write(metadata(identity, created: created), as: IdentityFiles.metadata, in: parent, mode: open)
            do throws(Errno) {
                try keys.rename(temporary, to: keys, as: identity.fingerprint.fileName, replacing: false)
                try keys.sync()
            } catch {
                guard error == .fileExists || error == .directoryNotEmpty else {
                    throw PKIError.io(error, "cannot write to the key store \(folder.text)", path: folder)
                }
                throw PKIError(.nameTaken, "the store holds a key pair \(identity.fingerprint) already")
            }
        } catch {
            try? keys.removeTree(temporary)
            throw error
        }
    }

    /// Gives an own identity another label; everything else in its metadata stays.
    /// - Throws: `keyNotFound`, `usage` for an empty label.
    public func renameIdentity(_ fingerprint: Fingerprint, to label: String) throws(PKIError) {
        guard !label.isEmpty else { throw PKIError(.usage, "a label is required") }
        try checkLabel(label)
        removeLeftovers()
        let directory = try identityFolder(fingerprint)
        let value = try PKIDocument.object(
            try read(IdentityFiles.metadata, in: directory), limit: PKILimits.keyFile, what: "metadata.json")
        try write(
            JSONWriter.bytes(Self.relabelled(value, label), .pythonIndented2), as: IdentityFiles.metadata,
            in: directory, mode: IdentityFiles.publicMode)
    }

    /// Removes an own identity with its private keys, for good.
    ///
    /// What was sealed to it can never be opened again without a copy of the keys.
    /// - Throws: `keyNotFound`.
    public func deleteIdentity(_ fingerprint: Fingerprint) throws(PKIError) {
        let name = fingerprint.fileName
        removeLeftovers()
        guard let keys = try open(Self.keysName) else { throw Self.notFound(fingerprint) }
        let isThere = try withTemporaryFolder(in: keys) { (temporary) throws(PKIError) in
            try attempt("cannot remove \(fingerprint)", path: folder) { () throws(Errno) in
                guard try keys.statusIfPresent(of: name) != nil else { return false }
                // Whole or not at all: half of a pair would be left out of every list with its private key still there.
                try keys.rename(name, to: keys, as: temporary, replacing: false)
                try keys.sync()
                try keys.removeTree(temporary)
                try keys.sync()
                return true
            }
        }
        guard isThere else { throw Self.notFound(fingerprint) }
    }

    private func readIdentity(
        _ fingerprint: Fingerprint, in directory: any Directory
    ) throws(PKIError) -> StoredIdentity? {
        guard let bytes = try readIfPresent(IdentityFiles.metadata, in: directory) else { return nil }
        let what = "metadata.json"
        let value = try PKIDocument.object(bytes, limit: PKILimits.keyFile, what: what)
        let label = try PKIDocument.optionalText(value, "label", what: what) ?? ""
        let encryption = try EncryptionPublicKey(pem: try read(IdentityFiles.encryptionPublic, in: directory))
        let signing = try SigningPublicKey(pem: try read(IdentityFiles.signingPublic, in: directory))
        guard encryption.fingerprint == fingerprint else {
            throw PKIError(.objectCorrupt, "its encryption key has the fingerprint \(encryption.fingerprint)")
        }
        let identity = PublicIdentity(label: label, encryption: encryption, signing: signing)
        let created = value["created"]?.int.flatMap { Self.moments.contains($0) ? $0 : nil }
        return StoredIdentity(identity: identity, createdMs: created)
    }

    private func metadata(_ identity: PublicIdentity, created: Int64) -> [UInt8] {
        let value = JSONValue.record([
            "label": .string(identity.label), "algorithm": .string(IdentityFiles.algorithm),
            "key_size": .integer(Int64(identity.encryption.bits)),
            "encryption_fingerprint": .string(identity.fingerprint.text),
            "signing_fingerprint": .string(identity.signingFingerprint?.text ?? ""), "created": .integer(created),
        ])
        return JSONWriter.bytes(value, .pythonIndented2)
    }
}
