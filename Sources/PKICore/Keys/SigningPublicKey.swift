internal import VaultCrypto

/// A P-256 key that signatures are verified with.
///
/// Two are equal when their points are, however they were written.
public final class SigningPublicKey: Sendable, Equatable {
    let key: P256PublicKey
    /// The first 64 bits of the key's hash, which signatures name.
    public let fingerprint: Fingerprint

    /// Reads PEM SubjectPublicKeyInfo by the strict rules of 08-pki §2.
    /// - Throws: `objectCorrupt`.
    public convenience init(pem: [UInt8]) throws(PKIError) {
        let key = try readingKey("the signing key") { () throws(CryptoError) in try P256PublicKey(pem: pem.span) }
        try self.init(key)
    }

    /// Reads DER SubjectPublicKeyInfo by the same rules.
    convenience init(subjectPublicKeyInfo: [UInt8]) throws(PKIError) {
        let key = try readingKey("the signing key") { () throws(CryptoError) in
            try P256PublicKey(subjectPublicKeyInfo: subjectPublicKeyInfo.span)
        }
        try self.init(key)
    }

    init(_ key: P256PublicKey) throws(PKIError) {
        self.key = key
        fingerprint = try Fingerprint(subjectPublicKeyInfo: key.subjectPublicKeyInfo)
    }

    /// The key as PEM in its one canonical form, ended by a newline.
    public var pem: [UInt8] { key.pem }

    /// The key as DER SubjectPublicKeyInfo in its one canonical form.
    public var subjectPublicKeyInfo: [UInt8] { key.subjectPublicKeyInfo }

    /// Whether 64 bytes r ‖ s are a signature over a SHA-256 digest.
    func isValid(_ signature: [UInt8], digest: [UInt8]) -> Bool {
        key.isValid(signature: signature.span, digest: digest.span)
    }

    public static func == (left: SigningPublicKey, right: SigningPublicKey) -> Bool {
        left.key.subjectPublicKeyInfo == right.key.subjectPublicKeyInfo
    }
}
