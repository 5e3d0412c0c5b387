internal import VaultCrypto
internal import VaultFormat

/// A message sealed to several recipients: `{"sealed": 1, "r": [{"k", "w"}, …], "i", "c", "h", "f", "sf"}`.
///
/// `docs/pki-format.md` has the format. The content key of all recipients is one; a key for the ciphertext and one for
/// the code over the head are derived from it. The code also ties the ciphertext to the content key, which GCM alone
/// does not.
struct SealedMessage {
    static let version: Int64 = 1

    private static let payloadInfo: StaticString = "vaultctl/sealed-payload/1"
    private static let headerInfo: StaticString = "vaultctl/sealed-header/1"
    private static let signatureLabel: StaticString = "vaultctl/sealed-signature/1"

    /// One recipient: the SHA-256 of the public key, and the content key wrapped for it.
    struct Recipient {
        let keyHash: [UInt8]
        let wrapped: [UInt8]

        var json: JSONValue {
            .record(["k": .string(Hex.text(keyHash.span)), "w": .string(Base64.text(wrapped.span))])
        }

        /// The name of the recipient's key, which the hash begins with.
        var fingerprint: Fingerprint? {
            Fingerprint("sha256:" + Hex.text(keyHash.span.extracting(first: Fingerprint.digitCount / 2)))
        }
    }

    let recipients: [Recipient]
    let iv: [UInt8]
    let code: [UInt8]
    /// Both or neither.
    let signature: (signer: String, bytes: [UInt8])?

    /// The parts of a parsed object.
    /// - Throws: `objectCorrupt`.
    init(_ text: borrowing EnvelopeText) throws(PKIError) {
        let value = text.value
        let damaged = PKIError(.objectCorrupt, "the sealed message is damaged")
        guard let items = value["r"]?.items, (1...PKILimits.recipients).contains(items.count),
            let iv = EnvelopeText.bytes(value, "i"), iv.count == AESGCM.ivCount,
            let count = text.ciphertextCount, count >= AESGCM.tagCount,
            let code = EnvelopeText.bytes(value, "h"), code.count == HMACSHA256.tagCount
        else { throw damaged }
        var recipients: [Recipient] = []
        var seen: Set<[UInt8]> = []
        for item in items {
            guard let text = item["k"]?.text, let hash = Self.keyHash(text), seen.insert(hash).inserted,
                let wrapped = EnvelopeText.bytes(item, "w")
            else { throw damaged }
            recipients.append(Recipient(keyHash: hash, wrapped: wrapped))
        }
        switch (value["f"], value["sf"]) {
        case (nil, nil): signature = nil
        case (.string(let signer), .string(let text)):
            guard Fingerprint(signer) != nil, let bytes = EnvelopeText.bytes(text) else { throw damaged }
            signature = (signer, bytes)
        default: throw damaged
        }
        self.recipients = recipients
        self.iv = iv
        self.code = code
    }

    static func seal(
        _ message: Message, to keys: [EncryptionPublicKey], signer: SigningPrivateKey?, as object: inout EnvelopeObject
    ) throws(PKIError) {
        var seen: Set<[UInt8]> = []
        let keys = keys.filter { seen.insert($0.subjectPublicKeyInfo).inserted }
        guard (1...PKILimits.recipients).contains(keys.count) else {
            throw PKIError(.usage, "a message is sealed to at least 1 and at most \(PKILimits.recipients) recipients")
        }
        let contentKey = try SealedEnvelope.contentKey()
        var recipients: [Recipient] = []
        for key in keys {
            let wrapped = try SealedEnvelope.wrap(contentKey, to: key)
            recipients.append(Recipient(keyHash: try keyHash(key), wrapped: wrapped))
        }
        let payloadKey = try derive(contentKey, payloadInfo)
        let iv = try SealedEnvelope.randomBytes(AESGCM.ivCount)
        let name = signer?.publicKey.fingerprint.text
        let code = try headerCode(contentKey, recipients, iv: iv, signer: name)

        object.add("sealed", number: Int(version))
        object.add("r", .array(recipients.map(\.json)))
        object.add("i", base64: iv)
        guard let signer, let name else {
            try object.add("c", encrypting: message, key: payloadKey, iv: iv) { _ in }
            object.add("h", base64: code)
            return
        }
        var hash = try CiphertextHash()
        try object.add("c", encrypting: message, key: payloadKey, iv: iv) { (bytes) throws(PKIError) in
            try hash.add(bytes)
        }
        let digest = try signedDigest(
            recipients, iv: iv, ciphertextHash: try hash.finish(), code: code, signer: name)
        object.add("h", base64: code)
        object.add("f", .string(name))
        object.add("sf", base64: try signer.sign(digest: digest))
    }

    static func open(
        _ text: consuming EnvelopeText, with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        let message = try SealedMessage(text)
        guard let ciphertext = text.takeCiphertext() else { throw SealedEnvelope.cannotOpen() }
        return try message.open(ciphertext, with: key, signers: signers)
    }

    private func open(
        _ ciphertext: consuming CiphertextText, with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        let own = try Self.keyHash(key.publicKey)
        guard let recipient = recipients.first(where: { $0.keyHash == own }) else {
            throw PKIError(
                .decryptFailed, "the message is not sealed to \(key.publicKey.fingerprint)",
                hint: "ask its sender to seal it to your key too")
        }
        let contentKey = try SealedEnvelope.unwrap(recipient.wrapped, with: key)
        let expected = try Self.headerCode(contentKey, recipients, iv: iv, signer: signature?.signer)
        guard ConstantTime.equal(expected.span, code.span) else { throw SealedEnvelope.cannotOpen() }
        let payloadKey = try Self.derive(contentKey, Self.payloadInfo)
        let known = signature.flatMap { signers[$0.signer] }
        guard let signature, let known, let signingKey = known.identity.signing else {
            let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: payloadKey) { _ in }
            let status = signature.map { EnvelopeSignature.unknownSigner(claimed: $0.signer) } ?? .unsigned
            return OpenedEnvelope(form: .sealed, signature: status, content: plaintext)
        }
        var hash = try CiphertextHash()
        let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: payloadKey) { (bytes) throws(PKIError) in
            try hash.add(bytes)
        }
        let digest = try Self.signedDigest(
            recipients, iv: iv, ciphertextHash: try hash.finish(), code: code, signer: signature.signer)
        let isValid = signingKey.isValid(signature.bytes, digest: digest)
        return OpenedEnvelope(
            form: .sealed, signature: isValid ? .verified(known, covers: .whole) : .invalid(known), content: plaintext)
    }

    private static func keyHash(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count == 2 * SHA256.digestCount, Hex.isLower(digits.span) else { return nil }
        return Hex.decode(digits.span)
    }

    private static func keyHash(_ key: EncryptionPublicKey) throws(PKIError) -> [UInt8] {
        let keyInfo = key.subjectPublicKeyInfo
        return try crypto("hashing a key") { () throws(CryptoError) in try SHA256.hash(keyInfo.span) }
    }

    /// A key for one use, of a content key.
    static func derive(_ key: borrowing SecretBytes, _ info: StaticString) throws(PKIError) -> SecretBytes {
        let info = Array(info.description.utf8)
        return try crypto("deriving a key") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in
                try HKDF.sha256(ikm: key, salt: [UInt8]().span, info: info.span, count: AESGCM.keyCount)
            }
        }
    }

    /// The code over everything but the ciphertext, which has GCM's.
    private static func headerCode(
        _ contentKey: borrowing SecretBytes, _ recipients: [Recipient], iv: [UInt8], signer: String?
    ) throws(PKIError) -> [UInt8] {
        var fields = SignedFields(headerInfo)
        append(recipients, to: &fields)
        fields.append(iv)
        fields.append(Array((signer ?? "").utf8))
        let bytes = fields.bytes
        let key = try derive(contentKey, headerInfo)
        return try crypto("authenticating") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in try HMACSHA256(key: key).authenticate(bytes.span) }
        }
    }

    private static func signedDigest(
        _ recipients: [Recipient], iv: [UInt8], ciphertextHash: [UInt8], code: [UInt8], signer: String
    ) throws(PKIError) -> [UInt8] {
        var fields = SignedFields(signatureLabel)
        append(recipients, to: &fields)
        fields.append(iv)
        fields.append(ciphertextHash)
        fields.append(code)
        fields.append(Array(signer.utf8))
        return try fields.signedDigest()
    }

    /// How many recipients there are, in two bytes, and both parts of each.
    private static func append(_ recipients: [Recipient], to fields: inout SignedFields) {
        fields.append([UInt8(truncatingIfNeeded: recipients.count >> 8), UInt8(truncatingIfNeeded: recipients.count)])
        for recipient in recipients {
            fields.append(recipient.keyHash)
            fields.append(recipient.wrapped)
        }
    }
}
