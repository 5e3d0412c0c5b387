internal import VaultCrypto
internal import VaultFormat

/// Envelopes of version 1 and 2: one recipient, `{"v", "w", "i", "c", "s", "f"}`, and `sf` of this project.
enum VersionedEnvelope {
    /// Separates the signature over a whole envelope from every other use of a signing key.
    private static let label: StaticString = "vaultctl/envelope-signature/1"
    private static let writtenVersion: UInt8 = 2

    static func seal(
        _ plaintext: [UInt8], to recipient: EncryptionPublicKey, signer: SigningPrivateKey?
    ) throws(PKIError) -> [UInt8] {
        try SealedEnvelope.checkSize(plaintext)
        let key = try SealedEnvelope.contentKey()
        let wrapped = try SealedEnvelope.wrap(key, to: recipient)
        let sealed = try SealedEnvelope.encrypt(plaintext, key: key)
        let iv = Array(sealed.prefix(AESGCM.ivCount))
        let ciphertext = sealed.span.extracting(droppingFirst: AESGCM.ivCount)
        var object = EnvelopeObject(reserving: Base64.encodedCount(sealed.count) + 2048)
        object.add("v", number: Int(writtenVersion))
        object.add("w", base64: wrapped)
        object.add("i", base64: iv)
        object.add("c", base64: ciphertext)
        if let signer {
            let name = signer.publicKey.fingerprint.text
            let digest = try hash(ciphertext)
            object.add("s", base64: try signer.sign(digest: digest))
            object.add("f", .string(name))
            let whole = try wholeDigest(
                version: writtenVersion, recipient: recipient, wrapped: wrapped, iv: iv, ciphertext: ciphertext,
                signer: name)
            object.add("sf", base64: try signer.sign(digest: whole))
        }
        return try EnvelopeText.text(object.finish())
    }

    static func open(
        _ value: JSONValue, _ form: EnvelopeForm, with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        guard let wrapped = EnvelopeText.bytes(value, "w"), let iv = EnvelopeText.bytes(value, "i"),
            let ciphertext = EnvelopeText.bytes(value, "c")
        else { throw SealedEnvelope.cannotOpen() }
        let signature = try SignatureMembers(value)
        let contentKey = try SealedEnvelope.unwrap(wrapped, with: key)
        let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: contentKey)
        guard let signature else { return OpenedEnvelope(form: form, signature: .unsigned, content: plaintext) }
        guard let known = signers[signature.signer], let signingKey = known.identity.signing else {
            return OpenedEnvelope(
                form: form, signature: .unknownSigner(claimed: signature.signer), content: plaintext)
        }
        var result = EnvelopeSignature.invalid(known)
        if signingKey.isValid(signature.ciphertext, digest: try hash(ciphertext.span)) {
            if let whole = signature.whole {
                let digest = try wholeDigest(
                    version: form == .version1 ? 1 : 2, recipient: key.publicKey, wrapped: wrapped, iv: iv,
                    ciphertext: ciphertext.span, signer: signature.signer)
                if signingKey.isValid(whole, digest: digest) { result = .verified(known, covers: .whole) }
            } else {
                result = .verified(known, covers: .ciphertext)
            }
        }
        return OpenedEnvelope(form: form, signature: result, content: plaintext)
    }

    /// The members about the signature; nil when the envelope counts as unsigned.
    private struct SignatureMembers {
        let ciphertext: [UInt8]
        let signer: String
        let whole: [UInt8]?

        init?(_ value: JSONValue) throws(PKIError) {
            let what = "the envelope"
            let texts = [
                try PKIDocument.optionalText(value, "s", what: what),
                try PKIDocument.optionalText(value, "sf", what: what),
            ]
            let decoded = texts.map { $0.map(EnvelopeText.bytes) ?? [] }
            guard let ciphertext = decoded[0], let whole = decoded[1] else {
                throw PKIError(.objectCorrupt, "the envelope's signature is no base64 text")
            }
            let name = try PKIDocument.optionalText(value, "f", what: what) ?? ""
            guard !ciphertext.isEmpty, !name.isEmpty else { return nil }
            self.ciphertext = ciphertext
            signer = name
            self.whole = texts[1] == nil ? nil : whole
        }
    }

    private static func hash(_ bytes: Span<UInt8>) throws(PKIError) -> [UInt8] {
        do throws(CryptoError) {
            return try SHA256.hash(bytes)
        } catch {
            throw PKIError(.internalError, "hashing failed", cause: error)
        }
    }

    /// What `sf` signs: everything that the older signature leaves open, the recipient's key included.
    private static func wholeDigest(
        version: UInt8, recipient: EncryptionPublicKey, wrapped: [UInt8], iv: [UInt8], ciphertext: Span<UInt8>,
        signer: String
    ) throws(PKIError) -> [UInt8] {
        let keyInfo = recipient.subjectPublicKeyInfo
        var fields = try SignedFields(digesting: label)
        try fields.append([version])
        try fields.append(try hash(keyInfo.span))
        try fields.append(wrapped)
        try fields.append(iv)
        try fields.append(ciphertext)
        try fields.append(Array(signer.utf8))
        return try fields.digest()
    }
}
