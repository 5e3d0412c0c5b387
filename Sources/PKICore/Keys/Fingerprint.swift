internal import VaultCrypto
internal import VaultFormat

/// The name of a public key: `sha256:` and 16 lower-case hex digits (08-pki §3).
///
/// They are the first 64 bits of SHA-256 over the canonical SubjectPublicKeyInfo. Two keys of one fingerprint can be
/// made by whoever spends 2^32 attempts, so it names a key and proves nothing; compare keys where they are at hand.
public struct Fingerprint: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// All 23 characters.
    public let text: String

    public var description: String { text }

    /// Takes exactly this form; nil for anything else, upper-case digits included.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        let digits = Array(bytes.dropFirst(Self.prefix.count))
        guard bytes.starts(with: Self.prefix), digits.count == Self.digitCount, Hex.isLower(digits.span) else {
            return nil
        }
        self.text = text
    }

    /// The name of the folder or file of this key: a colon would not be portable.
    package var fileName: [UInt8] { Array("sha256_".utf8) + digits }

    /// The 16 digits.
    package var digits: [UInt8] { Array(text.utf8.dropFirst(Self.prefix.count)) }

    /// The fingerprint that a file name stands for; nil when it is not exactly such a name.
    package init?(fileName: [UInt8]) {
        let start = Array("sha256_".utf8)
        guard fileName.starts(with: start) else { return nil }
        self.init("sha256:" + String(decoding: fileName.dropFirst(start.count), as: UTF8.self))
    }

    /// Of a key in DER.
    init(subjectPublicKeyInfo: [UInt8]) throws(PKIError) {
        let digest = try crypto("hashing a key") { () throws(CryptoError) in try SHA256.hash(subjectPublicKeyInfo.span)
        }
        text = "sha256:" + Hex.text(digest.span.extracting(first: Self.digitCount / 2))
    }

    public static func < (left: Fingerprint, right: Fingerprint) -> Bool {
        left.digits.lexicographicallyPrecedes(right.digits)
    }

    static let prefix = Array("sha256:".utf8)
    static let digitCount = 16
}
