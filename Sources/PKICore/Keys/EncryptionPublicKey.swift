internal import VaultCrypto

/// An RSA key that messages are sealed to, at least 2048 bits.
///
/// Two are equal when their numbers are, however they were written.
public final class EncryptionPublicKey: Sendable, Equatable {
    let key: RSAPublicKey
    /// The first 64 bits of the key's hash: the name of the whole identity.
    public let fingerprint: Fingerprint

    /// Reads PEM SubjectPublicKeyInfo by the strict rules of 08-pki §2.
    /// - Throws: `objectCorrupt`.
    public convenience init(pem: [UInt8]) throws(PKIError) {
        let key = try readingKey("the encryption key") { () throws(CryptoError) in try RSAPublicKey(pem: pem.span) }
        try self.init(key)
    }

    /// Reads DER SubjectPublicKeyInfo by the same rules.
    convenience init(subjectPublicKeyInfo: [UInt8]) throws(PKIError) {
        let key = try readingKey("the encryption key") { () throws(CryptoError) in
            try RSAPublicKey(subjectPublicKeyInfo: subjectPublicKeyInfo.span)
        }
        try self.init(key)
    }

    init(_ key: RSAPublicKey) throws(PKIError) {
        self.key = key
        fingerprint = try Fingerprint(subjectPublicKeyInfo: key.subjectPublicKeyInfo)
    }

    /// The key as PEM in its one canonical form, ended by a newline.
    public var pem: [UInt8] { key.pem }

    /// The key as DER SubjectPublicKeyInfo in its one canonical form.
    public var subjectPublicKeyInfo: [UInt8] { key.subjectPublicKeyInfo }

    /// The length of the modulus.
    public var bits: Int { key.modulusBits }

    public static func == (left: EncryptionPublicKey, right: EncryptionPublicKey) -> Bool {
        left.key.subjectPublicKeyInfo == right.key.subjectPublicKeyInfo
    }
}
