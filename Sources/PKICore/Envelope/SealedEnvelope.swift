internal import VaultCrypto
internal import VaultFormat

/// Messages that only the owner of a private key can read (08-pki §9, `docs/pki-format.md`).
///
/// A message is held in memory as a whole, and base64 twice makes the text 16/9 of it.
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
        try VersionedEnvelope.seal(plaintext, to: recipient, signer: signer)
    }

    /// Seals a message to several recipients, each of whom sees the fingerprints of the others.
    ///
    /// * `recipients`: At least one and at most 1024; one named twice counts once.
    /// * `signer`: Who signs all of it, recipients included.
    /// - Throws: `refused` for a message above the limit, `usage` for too few or too many recipients.
    public static func seal(
        _ plaintext: [UInt8], toAll recipients: [EncryptionPublicKey], signer: SigningPrivateKey? = nil
    ) throws(PKIError) -> [UInt8] {
        try SealedMessage.seal(plaintext, to: recipients, signer: signer)
    }

    /// What an envelope says of itself, without a key.
    /// - Throws: `objectCorrupt`, `formatUnsupported`, `refused` above the limit.
    public static func summary(of bytes: [UInt8]) throws(PKIError) -> EnvelopeSummary {
        let text = try EnvelopeText(bytes)
        let form = try form(of: text.value)
        let recipients = form == .sealed ? try SealedMessage(text).recipients.compactMap(\.fingerprint) : []
        return EnvelopeSummary(form: form, recipients: recipients, claimedSigner: text.value["f"]?.text)
    }

    /// Opens an envelope of any form and looks at its signature.
    ///
    /// - Throws: `decryptFailed` when it is not for this key or was changed, without telling which;
    ///   `objectCorrupt` when it is no envelope; `formatUnsupported` for another version; `refused` above the limit.
    ///   A bad signature is no error here but in ``OpenedEnvelope/plaintext()``.
    public static func open(
        _ bytes: [UInt8], with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        let text = try EnvelopeText(bytes)
        switch try form(of: text.value) {
        case .sealed: return try SealedMessage(text).open(with: key, signers: signers)
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

    static func checkSize(_ plaintext: [UInt8]) throws(PKIError) {
        guard plaintext.count <= maximumPlaintextCount else { throw tooLarge() }
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
        _ ciphertext: CiphertextText, iv: [UInt8], key: borrowing SecretBytes,
        observe: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) -> [UInt8] {
        let bodyCount = ciphertext.count - AESGCM.tagCount
        guard iv.count == AESGCM.ivCount, bodyCount >= 0 else { throw cannotOpen() }
        let opener = try crypto("decrypting") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in try AESGCM(key: key).makeOpener(iv: iv.span) }
        }
        var (plaintext, piece, tag): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
        plaintext.reserveCapacity(bodyCount)
        do throws(PKIError) {
            try ciphertext.forEachPiece { (bytes) throws(PKIError) in
                try observe(bytes)
                let count = min(bytes.count, bodyCount - plaintext.count)
                try decrypting { () throws(CryptoError) in
                    try opener.update(bytes.extracting(first: count), into: &piece)
                }
                plaintext += piece
                tag.append(copying: bytes.extracting(droppingFirst: count))
            }
            try decrypting { () throws(CryptoError) in try opener.finish(tag: tag.span) }
        } catch {
            // Nobody vouches for what came out so far.
            plaintext.wipe()
            throw error
        }
        return plaintext
    }

    private static func decrypting(_ body: () throws(CryptoError) -> Void) throws(PKIError) {
        do throws(CryptoError) {
            try body()
        } catch {
            throw cannotOpen()
        }
    }
}
