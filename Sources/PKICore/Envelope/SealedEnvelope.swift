internal import VaultCrypto
internal import VaultFormat
package import VaultSystem

/// Messages that only the owner of a private key can read (08-pki §9, `docs/pki-format.md`).
///
/// A message is opened in memory as a whole, and base64 twice makes the text 16/9 of it.
public enum SealedEnvelope {
    /// The most bytes of an envelope that are read or written: 256 MiB.
    public static let maximumEnvelopeCount = 256 << 20
    /// The most bytes of a message that are sealed: 140 MiB, which fits with the most recipients.
    public static let maximumPlaintextCount = 140 << 20

    /// Seals a message to one recipient, in the version 2 that the reference reads.
    ///
    /// * `signer`: Who signs: the ciphertext, as the reference verifies it, and the whole envelope in a member that the
    ///   reference ignores.
    /// - Throws: `refused` for a message above the limit.
    public static func seal(
        _ plaintext: [UInt8], to recipient: EncryptionPublicKey, signer: SigningPrivateKey? = nil
    ) throws(PKIError) -> [UInt8] {
        try seal(.bytes(plaintext), to: .one(recipient), signer: signer)
    }

    /// Seals a message to several recipients, each of whom sees the fingerprints of the others.
    ///
    /// * `recipients`: At least one and at most 1024; one named twice counts once.
    /// * `signer`: Who signs all of it, recipients included.
    /// - Throws: `refused` for a message above the limit, `usage` for too few or too many recipients.
    public static func seal(
        _ plaintext: [UInt8], toAll recipients: [EncryptionPublicKey], signer: SigningPrivateKey? = nil
    ) throws(PKIError) -> [UInt8] {
        try seal(.bytes(plaintext), to: .several(recipients), signer: signer)
    }

    /// Whom a message is sealed to, and so the form that it gets.
    package enum Addressee {
        /// Version 2.
        case one(EncryptionPublicKey)
        /// Sealed.
        case several([EncryptionPublicKey])
    }

    package static func seal(
        _ message: Message, to addressee: Addressee, signer: SigningPrivateKey?
    ) throws(PKIError) -> [UInt8] {
        guard message.expectedCount <= maximumPlaintextCount else { throw tooLarge() }
        var object = EnvelopeObject(reserving: message.expectedCount, output: nil)
        try seal(message, to: addressee, signer: signer, as: &object)
        return try object.finish()
    }

    /// Seals a message into a file, of which nothing is of use unless this returns; its number of bytes.
    ///
    /// The file is written on a second thread, a piece at a time.
    package static func seal(
        _ message: Message, to addressee: Addressee, signer: SigningPrivateKey?, writingTo file: any File, name: String
    ) throws(PKIError) -> Int {
        guard message.expectedCount <= maximumPlaintextCount else { throw tooLarge() }
        return try PieceOutput.run(to: file, name: name) { (output) throws(PKIError) in
            var object = EnvelopeObject(reserving: 0, output: output)
            try seal(message, to: addressee, signer: signer, as: &object)
            _ = try object.finish()
            return object.count
        }
    }

    private static func seal(
        _ message: Message, to addressee: Addressee, signer: SigningPrivateKey?, as object: inout EnvelopeObject
    ) throws(PKIError) {
        switch addressee {
        case .one(let recipient): try VersionedEnvelope.seal(message, to: recipient, signer: signer, as: &object)
        case .several(let recipients): try SealedMessage.seal(message, to: recipients, signer: signer, as: &object)
        }
    }

    /// What an envelope says of itself, without a key.
    /// - Throws: `objectCorrupt`, `formatUnsupported`, `refused` above the limit.
    public static func summary(of bytes: consuming [UInt8]) throws(PKIError) -> EnvelopeSummary {
        try summary(of: try EnvelopeText(bytes))
    }

    /// What an envelope that was read says of itself.
    package static func summary(of text: borrowing EnvelopeText) throws(PKIError) -> EnvelopeSummary {
        let form = try form(of: text.value)
        let recipients = form == .sealed ? try SealedMessage(text).recipients.compactMap(\.fingerprint) : []
        return EnvelopeSummary(form: form, recipients: recipients, claimedSigner: text.value["f"]?.text)
    }

    /// Opens an envelope of any form and looks at its signature.
    ///
    /// * `bytes`: Given away, they are not copied.
    /// - Throws: `decryptFailed` when it is not for this key or was changed, without telling which;
    ///   `objectCorrupt` when it is no envelope; `formatUnsupported` for another version; `refused` above the limit.
    ///   A bad signature is no error here but in ``OpenedEnvelope/plaintext()``.
    public static func open(
        _ bytes: consuming [UInt8], with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        try open(try EnvelopeText(bytes), with: key, signers: signers)
    }

    /// The same for an envelope that was read.
    package static func open(
        _ text: consuming EnvelopeText, with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        switch try form(of: text.value) {
        case .sealed: return try SealedMessage.open(text, with: key, signers: signers)
        case .version1: return try VersionedEnvelope.open(text, .version1, with: key, signers: signers)
        case .version2: return try VersionedEnvelope.open(text, .version2, with: key, signers: signers)
        }
    }

    private static func form(of value: JSONValue) throws(PKIError) -> EnvelopeForm {
        if value["v"] == nil, let sealed = value["sealed"] {
            guard sealed.int == SealedMessage.version else {
                throw PKIError(.formatUnsupported, "this version of a sealed message is not supported")
            }
            return .sealed
        }
        switch value["v"] {
        case .integer(1): return .version1
        case .integer(2): return .version2
        case nil: throw PKIError(.objectCorrupt, "the envelope has no version")
        default: throw PKIError(.formatUnsupported, "this version of an envelope is not supported")
        }
    }

    static func tooLarge() -> PKIError {
        PKIError(
            .refused, "a message that is sealed has at most \(maximumPlaintextCount >> 20) MiB: it is held in memory",
            hint: "put it into a vault, or split it")
    }

    /// The one answer to everything that goes wrong between a text and its plaintext, without a cause: which step it was
    /// is nobody's business.
    static func cannotOpen() -> PKIError {
        PKIError(
            .decryptFailed, "the envelope does not open with this key: it is for another one, or was changed")
    }

    static func randomBytes(_ count: Int) throws(PKIError) -> [UInt8] {
        try crypto("drawing random bytes") { () throws(CryptoError) in try SecureRandom().bytes(count) }
    }

    /// A new content key.
    static func contentKey() throws(PKIError) -> SecretBytes {
        try crypto("drawing a key") { () throws(CryptoError) in try SecretBytes(random: AESGCM.keyCount) }
    }

    static func wrap(_ key: borrowing SecretBytes, to recipient: EncryptionPublicKey) throws(PKIError) -> [UInt8] {
        try crypto("wrapping a key") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in try recipient.key.encrypt(key) }
        }
    }

    /// The content key of exactly 32 bytes.
    static func unwrap(_ wrapped: [UInt8], with key: EncryptionPrivateKey) throws(PKIError) -> SecretBytes {
        do throws(CryptoError) {
            let content = try key.key.decrypt(wrapped.span)
            guard content.count == AESGCM.keyCount else { throw CryptoError(.authenticationFailed) }
            return content
        } catch {
            throw cannotOpen()
        }
    }

    /// The plaintext of a ciphertext that ends with its tag.
    ///
    /// * `observe`: Sees the bytes of the ciphertext and the tag; what it learns is of use only when this returns.
    static func decrypt(
        _ ciphertext: consuming CiphertextText, iv: [UInt8], key: borrowing SecretBytes,
        observe: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) -> [UInt8] {
        guard iv.count == AESGCM.ivCount else { throw cannotOpen() }
        let opener = try crypto("decrypting") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in try AESGCM(key: key).makeOpener(iv: iv.span) }
        }
        return try ciphertext.decrypt(with: opener, observe: observe)
    }
}
