internal import VaultCrypto

/// An RSA key that opens what was sealed to its public half.
public final class EncryptionPrivateKey: Sendable {
    let key: RSAPrivateKey
    /// The half to give away.
    public let publicKey: EncryptionPublicKey

    /// Reads PEM: PKCS#8, plain or encrypted, or PKCS#1.
    ///
    /// All numbers are checked against each other, and that the primes are primes, which takes a third of a second.
    /// - Throws: `objectCorrupt`, `keyWrong`, `keyMissing` when it is encrypted and the passphrase is empty,
    ///   `formatUnsupported`.
    public convenience init(pem: [UInt8], passphrase: borrowing Passphrase) throws(PKIError) {
        try self.init(pem: pem, passphrase: passphrase, check: .primes, name: "the encryption key")
    }

    convenience init(
        pem: [UInt8], passphrase: borrowing Passphrase, check: RSAPrivateKey.Check, name: String
    ) throws(PKIError) {
        let key = try readingKey(name) { () throws(CryptoError) in
            try passphrase.withBytes { passphrase throws(CryptoError) in
                try EncryptedPrivateKey.open(pem: pem.span, passphrase: passphrase) { bytes throws(CryptoError) in
                    try RSAPrivateKey(pkcs8: bytes, check: check)
                }
            }
        }
        try self.init(key)
    }

    init(_ key: RSAPrivateKey) throws(PKIError) {
        self.key = key
        publicKey = try EncryptionPublicKey(key.publicKey)
    }

    /// The key as encrypted PKCS#8 in PEM.
    func sealedPEM(passphrase: borrowing Passphrase, random: any RandomSource) throws(PKIError) -> [UInt8] {
        try crypto("encrypting a key") { () throws(CryptoError) in
            try passphrase.withBytes { passphrase throws(CryptoError) in
                try key.withPKCS8 { bytes throws(CryptoError) in
                    try EncryptedPrivateKey.seal(pkcs8: bytes, passphrase: passphrase, random: random)
                }
            }
        }
    }
}

/// A P-256 key that signs.
public final class SigningPrivateKey: Sendable {
    let key: P256PrivateKey
    /// The half to give away.
    public let publicKey: SigningPublicKey

    /// Reads PEM: PKCS#8, plain or encrypted, or SEC 1; the public half is computed, and one that is there must fit.
    /// - Throws: `objectCorrupt`, `keyWrong`, `keyMissing` when it is encrypted and the passphrase is empty,
    ///   `formatUnsupported`.
    public convenience init(pem: [UInt8], passphrase: borrowing Passphrase) throws(PKIError) {
        try self.init(pem: pem, passphrase: passphrase, name: "the signing key")
    }

    convenience init(pem: [UInt8], passphrase: borrowing Passphrase, name: String) throws(PKIError) {
        let key = try readingKey(name) { () throws(CryptoError) in
            try passphrase.withBytes { passphrase throws(CryptoError) in
                try EncryptedPrivateKey.open(pem: pem.span, passphrase: passphrase) { bytes throws(CryptoError) in
                    try P256PrivateKey(pkcs8: bytes)
                }
            }
        }
        try self.init(key)
    }

    init(_ key: P256PrivateKey) throws(PKIError) {
        self.key = key
        publicKey = try SigningPublicKey(key.publicKey)
    }

    /// A signature over a SHA-256 digest: 64 bytes r ‖ s.
    func sign(digest: [UInt8]) throws(PKIError) -> [UInt8] {
        try crypto("signing") { () throws(CryptoError) in try key.sign(digest: digest.span) }
    }

    /// The key as encrypted PKCS#8 in PEM.
    func sealedPEM(passphrase: borrowing Passphrase, random: any RandomSource) throws(PKIError) -> [UInt8] {
        try crypto("encrypting a key") { () throws(CryptoError) in
            try passphrase.withBytes { passphrase throws(CryptoError) in
                try key.withPKCS8 { bytes throws(CryptoError) in
                    try EncryptedPrivateKey.seal(pkcs8: bytes, passphrase: passphrase, random: random)
                }
            }
        }
    }
}
