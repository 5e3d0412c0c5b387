/// Private keys under a passphrase: EncryptedPrivateKeyInfo (RFC 5958 §3) with PBES2 (08-pki §4).
package enum EncryptedPrivateKey {
    /// The rounds of PBKDF2 in what is written.
    package static let writtenIterations = 600_000
    /// The length of salt and IV in what is written, in bytes.
    private static let randomCount = 16

    /// Encrypts PKCS#8 and gives PEM: PBKDF2-HMAC-SHA-256 with a salt of 16 bytes, AES-256-CBC, no key length.
    ///
    /// * `iterations`: Fewer than ``writtenIterations`` are for tests.
    package static func seal(
        pkcs8: Span<UInt8>, passphrase: Span<UInt8>, random: any RandomSource, iterations: Int = writtenIterations
    ) throws(CryptoError) -> [UInt8] {
        let drawn = try random.bytes(2 * randomCount)
        guard drawn.count == 2 * randomCount else { throw CryptoError(.library) }
        let scheme = PBES2Scheme(
            salt: Array(drawn.prefix(randomCount)), iv: Array(drawn.suffix(randomCount)), iterations: iterations)
        let key = try scheme.key(passphrase: passphrase)
        let sealed = try scheme.cipher.encrypt(pkcs8, key: key, iv: scheme.iv.span)
        let der = DERWriter.sequence(
            scheme.encoded(iterations: iterations), DERWriter.value(DERReader.Tag.octetString, sealed))
        return PEM.block(.encryptedPrivateKey, der.span)
    }

    /// Whether the first private key in the text is encrypted.
    ///
    /// - Throws: `invalidKey` where there is none.
    package static func isEncrypted(pem: Span<UInt8>) throws(CryptoError) -> Bool {
        try PEM.privateKey(PEM.Label.privateKeys, in: pem).label == .encryptedPrivateKey
    }

    /// Opens the first private key in the text and lets `body` read it as PKCS#8.
    ///
    /// What `body` refuses as `invalidKey` in a key that was encrypted is `authenticationFailed`: a wrong passphrase
    /// passes the check of the padding about once in 256 times.
    ///
    /// - Throws: `invalidKey`, `unsupported`, `passphraseMissing`, `passphraseUnexpected`, `authenticationFailed`.
    package static func open<R: ~Copyable>(
        pem: Span<UInt8>, passphrase: Span<UInt8>, _ body: (Span<UInt8>) throws(CryptoError) -> R
    ) throws(CryptoError) -> R {
        let block = try PEM.privateKey(PEM.Label.privateKeys, in: pem)
        guard block.label == .encryptedPrivateKey else {
            guard passphrase.isEmpty else { throw CryptoError(.passphraseUnexpected) }
            let pkcs8 = try plainPKCS8(block)
            return try pkcs8.withBytes { bytes throws(CryptoError) in try body(bytes) }
        }
        guard !passphrase.isEmpty else { throw CryptoError(.passphraseMissing) }
        let pkcs8 = try block.content.withBytes { bytes throws(CryptoError) in
            try decrypt(bytes, passphrase: passphrase)
        }
        do throws(CryptoError) {
            return try pkcs8.withBytes { bytes throws(CryptoError) in try body(bytes) }
        } catch {
            throw error.code == .invalidKey ? CryptoError(.authenticationFailed) : error
        }
    }

    /// Opens an EncryptedPrivateKeyInfo in DER; what comes out is not looked at.
    static func decrypt(_ bytes: Span<UInt8>, passphrase: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        var outer = DERReader(bytes)
        var info = try outer.nested(DERReader.Tag.sequence, bytes)
        try outer.finish()
        let scheme = try PBES2Scheme(&info, bytes)
        let ciphertext = bytes.extracting(try info.content(DERReader.Tag.octetString, bytes))
        try info.finish()
        guard ciphertext.count > 0, ciphertext.count % scheme.cipher.blockCount == 0 else {
            throw CryptoError(.invalidKey)
        }
        let key = try scheme.key(passphrase: passphrase)
        return try scheme.cipher.decrypt(ciphertext, key: key, iv: scheme.iv.span)
    }

    private static func plainPKCS8(_ block: borrowing PEM.PrivateBlock) throws(CryptoError) -> SecretBytes {
        try block.content.withBytes { bytes throws(CryptoError) in
            switch block.label {
            case .privateKey: try SecretBytes(copying: bytes)
            case .ecPrivateKey: try P256Encoding.pkcs8(ecPrivateKey: bytes)
            case .rsaPrivateKey: try RSAEncoding.pkcs8(rsaPrivateKey: bytes)
            case .publicKey, .encryptedPrivateKey: throw CryptoError(.invalidKey)
            }
        }
    }
}
