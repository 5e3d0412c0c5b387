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
        let iv = try SealedEnvelope.randomBytes(AESGCM.ivCount)
        var object = EnvelopeObject(reserving: Base64.encodedCount(plaintext.count) + 2048)
        object.add("v", number: Int(writtenVersion))
        object.add("w", base64: wrapped)
        object.add("i", base64: iv)
        guard let signer else {
            try object.add("c", encrypting: plaintext, key: key, iv: iv) { _ in }
            return try object.finish()
        }
        var digests = try Digests(
            version: writtenVersion, recipient: recipient, wrapped: wrapped, iv: iv,
            count: plaintext.count + AESGCM.tagCount, ofWhole: true)
        try object.add("c", encrypting: plaintext, key: key, iv: iv) { (bytes) throws(PKIError) in
            try digests.add(bytes)
        }
        let name = signer.publicKey.fingerprint.text
        let (ofCiphertext, ofWhole) = try digests.finish(signer: name)
        object.add("s", base64: try signer.sign(digest: ofCiphertext))
        object.add("f", .string(name))
        if let ofWhole { object.add("sf", base64: try signer.sign(digest: ofWhole)) }
        return try object.finish()
    }

    static func open(
        _ text: EnvelopeText, _ form: EnvelopeForm, with key: EncryptionPrivateKey, signers: KnownSigners
    ) throws(PKIError) -> OpenedEnvelope {
        let value = text.value
        guard let wrapped = EnvelopeText.bytes(value, "w"), let iv = EnvelopeText.bytes(value, "i"),
            let ciphertext = text.ciphertext
        else { throw SealedEnvelope.cannotOpen() }
        let signature = try SignatureMembers(value)
        let contentKey = try SealedEnvelope.unwrap(wrapped, with: key)
        let known = signature.flatMap { signers[$0.signer] }
        guard let signature, let known, let signingKey = known.identity.signing else {
            let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: contentKey) { _ in }
            let status = signature.map { EnvelopeSignature.unknownSigner(claimed: $0.signer) } ?? .unsigned
            return OpenedEnvelope(form: form, signature: status, content: plaintext)
        }
        var digests = try Digests(
            version: form == .version1 ? 1 : 2, recipient: key.publicKey, wrapped: wrapped, iv: iv,
            count: ciphertext.count, ofWhole: signature.whole != nil)
        let plaintext = try SealedEnvelope.decrypt(ciphertext, iv: iv, key: contentKey) { (bytes) throws(PKIError) in
            try digests.add(bytes)
        }
        let (ofCiphertext, ofWhole) = try digests.finish(signer: signature.signer)
        var status = EnvelopeSignature.invalid(known)
        if signingKey.isValid(signature.ciphertext, digest: ofCiphertext) {
            if let whole = signature.whole, let ofWhole {
                if signingKey.isValid(whole, digest: ofWhole) { status = .verified(known, covers: .whole) }
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

    /// What both signatures are over, computed while the ciphertext goes by.
    private struct Digests: ~Copyable {
        private var ciphertext: SHA256
        private var whole: SignedFields?

        /// * `count`: The length of the ciphertext with its tag.
        /// * `ofWhole`: Whether the newer signature is wanted too.
        init(
            version: UInt8, recipient: EncryptionPublicKey, wrapped: [UInt8], iv: [UInt8], count: Int, ofWhole: Bool
        ) throws(PKIError) {
            let hash = try crypto("hashing") { () throws(CryptoError) in try SHA256() }
            guard ofWhole else {
                whole = nil
                ciphertext = hash
                return
            }
            // Everything that the older signature leaves open, the recipient's key included.
            var fields = try SignedFields(digesting: label)
            try fields.append([version])
            try fields.append(try FileDigest.of(recipient.subjectPublicKeyInfo))
            try fields.append(wrapped)
            try fields.append(iv)
            try fields.begin(count: count)
            whole = consume fields
            ciphertext = hash
        }

        mutating func add(_ bytes: Span<UInt8>) throws(PKIError) {
            if var fields = whole.take() {
                try fields.add(bytes)
                whole = consume fields
            }
            do throws(CryptoError) {
                try ciphertext.update(bytes)
            } catch {
                throw PKIError(.internalError, "hashing failed", cause: error)
            }
        }

        consuming func finish(signer: String) throws(PKIError) -> (ciphertext: [UInt8], whole: [UInt8]?) {
            var digest: [UInt8]?
            if var fields = whole.take() {
                try fields.append(Array(signer.utf8))
                digest = try fields.digest()
            }
            do throws(CryptoError) {
                return (try ciphertext.finish(), digest)
            } catch {
                throw PKIError(.internalError, "hashing failed", cause: error)
            }
        }
    }
}
