public import VaultCrypto

/// What a private key is encrypted under: bytes as they were given, without any normalisation (08-pki §4.3).
///
/// NFC and NFD spellings differ, blanks and NUL bytes count. An empty one stands for none.
public struct Passphrase: ~Copyable, Sendable {
    private let secret: SecretBytes

    /// Copies bytes into memory for secrets; the original is the caller's to clear.
    public init(_ bytes: [UInt8]) throws(PKIError) {
        secret = try crypto("allocating memory for a passphrase") { () throws(CryptoError) in
            try SecretBytes(copying: bytes.span)
        }
    }

    /// Takes over a secret.
    public init(_ secret: consuming SecretBytes) {
        self.secret = secret
    }

    /// The passphrase of a key that has none.
    public static func none() throws(PKIError) -> Passphrase {
        try Passphrase([])
    }

    /// Whether this stands for no passphrase.
    public var isEmpty: Bool { secret.count == 0 }

    /// Lets `body` read the bytes.
    borrowing func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }
}
