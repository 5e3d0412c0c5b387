internal import VaultCrypto
internal import VaultFormat

/// Envelopes of version 1 and 2: one recipient, `{"v", "w", "i", "c", "s", "f"}`, and `sf` of this project.
enum VersionedEnvelope {
    /// Separates the signature over a whole envelope from every other use of a signing key.
    private static let label: StaticString = "vaultctl/envelope-signature/1"
    private static let knowledgeInfo: StaticString = "vaultctl/envelope-signer/1"
    private static let writtenVersion: UInt8 = 2

    static func seal(
        _ message: Message, to recipient: EncryptionPublicKey, signer: SigningPrivateKey?,
        as object: inout EnvelopeObject
    ) throws(PKIError) {
        let key = try SealedEnvelope.contentKey()
        let wrapped = try SealedEnvelope.wrap(key, to: recipient)
        let iv = try SealedEnvelope.randomBytes(AESGCM.ivCount)
        object.add("v", number: Int(writtenVersion))
        object.add("w", base64: wrapped)
        object.add("i", base64: iv)
        guard let signer else {
            try object.add("c", encrypting: message, key: key, iv: iv) { _ in }
            return
        }
        var hash = try CiphertextHash()
        try object.add("c", encrypting: message, key: key, iv: iv) { (bytes) throws(PKIError) in
            try hash.add(bytes)
        }
        let digest = try hash.finish()
        let name = signer.publicKey.fingerprint.text
        let whole = try wholeDigest(
            version: writtenVersion, recipient: recipient, wrapped: wrapped, iv: iv, ciphertextHash: digest,
            contentKey: key, signer: name)
        object.add("s", base64: try signer.sign(digest: digest))
        object.add("f", .string(name))
        object.add("sf", base64: try signer.sign(digest: whole))
    }

    static func open(
        _ text: consuming EnvelopeText, _ form: EnvelopeForm, with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        let value = text.value
        guard let wrapped = EnvelopeText.bytes(value, "w"), let iv = EnvelopeText.bytes(value, "i") else {
            throw SealedEnvelope.cannotOpen()
        }
        guard let ciphertext = text.takeCiphertext() else { throw SealedEnvelope.cannotOpen() }
        let signature = try SignatureMembers(value)
        let contentKey = try SealedEnvelope.unwrap(wrapped, with: key)
        let known = signature.flatMap { signers[$0.signer] }
        guard let signature, let known, let signingKey = known.identity.signing else {
            let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: contentKey) { _ in }
            let status = signature.map { EnvelopeSignature.unknownSigner(claimed: $0.signer) } ?? .unsigned
            return OpenedEnvelope(form: form, signature: status, content: plaintext)
        }
        var hash = try CiphertextHash()
        let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: contentKey) { (bytes) throws(PKIError) in
            try hash.add(bytes)
        }
        let digest = try hash.finish()
        var status = EnvelopeSignature.invalid(known)
        if signingKey.isValid(signature.ciphertext, digest: digest) {
            if let whole = signature.whole {
                let covered = try wholeDigest(
                    version: form == .version1 ? 1 : 2, recipient: key.publicKey, wrapped: wrapped, iv: iv,
                    ciphertextHash: digest, contentKey: contentKey, signer: signature.signer)
                if signingKey.isValid(whole, digest: covered) { status = .verified(known, covers: .whole) }
            } else {
                status = .verified(known, covers: .ciphertext)
            }
        }
        return OpenedEnvelope(form: form, signature: status, content: plaintext)
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

    /// What `sf` signs: everything that the older signature leaves open, the recipient's key included.
    ///
    /// A value that only who has the content key can compute is part of it: otherwise somebody on the way, who cannot
    /// read the message, could take its signatures away and sign it as his own.
    private static func wholeDigest(
        version: UInt8, recipient: EncryptionPublicKey, wrapped: [UInt8], iv: [UInt8], ciphertextHash: [UInt8],
        contentKey: borrowing SecretBytes, signer: String
    ) throws(PKIError) -> [UInt8] {
        var fields = SignedFields(label)
        fields.append([version])
        fields.append(try FileDigest.of(recipient.subjectPublicKeyInfo))
        fields.append(wrapped)
        fields.append(iv)
        fields.append(ciphertextHash)
        let knowledge = try SealedMessage.derive(contentKey, knowledgeInfo)
        fields.append(knowledge.withBytes { bytes in [UInt8](copying: bytes) })
        fields.append(Array(signer.utf8))
        return try fields.signedDigest()
    }
}
