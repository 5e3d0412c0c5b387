public import VaultCrypto

/// The key that encrypts everything in a vault: 32 bytes (01-keys-and-crypto §2).
public final class ReadKey: Sendable {
    private let secret: SecretBytes

    /// Wraps a key that is known to be 32 bytes.
    init(verified secret: consuming SecretBytes) {
        self.secret = secret
    }

    /// Reads exactly 64 hex digits, in either case.
    ///
    /// - Throws: `.invalidKey` for anything else.
    public convenience init(hex: Span<UInt8>) throws(FormatError) {
        self.init(verified: try SecretHex.decode(hex))
    }

    /// Reads a read key's text: 64 hex digits with or without a prefix and white space around it.
    package convenience init(text: Span<UInt8>) throws(FormatError) {
        try self.init(hex: text.extracting(KeyText.stripped(text)))
    }

    /// Takes 32 bytes over.
    package convenience init(bytes: consuming SecretBytes) throws(FormatError) {
        guard bytes.count == 32 else { throw .invalidKey("a read key is 32 bytes") }
        self.init(verified: bytes)
    }

    /// Lets `body` read the 32 bytes.
    public func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }

    /// The key as 64 lower-case hex digits.
    public func hex() throws(FormatError) -> SecretBytes {
        try SecretHex.encode(secret)
    }
}

/// The secret that servers ask for on writes: 32 bytes; it encrypts nothing (01-keys-and-crypto §2).
public final class WriteKey: Sendable {
    private let secret: SecretBytes

    /// Wraps a key that is known to be 32 bytes.
    init(verified secret: consuming SecretBytes) {
        self.secret = secret
    }

    /// Reads exactly 64 hex digits, in either case.
    ///
    /// - Throws: `.invalidKey` for anything else.
    public convenience init(hex: Span<UInt8>) throws(FormatError) {
        self.init(verified: try SecretHex.decode(hex))
    }

    /// Takes 32 bytes over.
    package convenience init(bytes: consuming SecretBytes) throws(FormatError) {
        guard bytes.count == 32 else { throw .invalidKey("a write key is 32 bytes") }
        self.init(verified: bytes)
    }

    /// Lets `body` read the 32 bytes.
    public func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try secret.withBytes(body)
    }

    /// The key as 64 lower-case hex digits, the form in which it is sent.
    public func hex() throws(FormatError) -> SecretBytes {
        try SecretHex.encode(secret)
    }

    /// What a server keeps of the key: the SHA-256, in hex, of the key's hex text (04-remote-api §5).
    package func ownerHash() throws(FormatError) -> String {
        let text = try hex()
        let digest = try withCryptoErrors { () throws(CryptoError) in
            try text.withBytes { bytes throws(CryptoError) in try SHA256.hash(bytes) }
        }
        return Hex.text(digest.span)
    }
}

/// Hex digits from and to secret memory, without copies elsewhere.
private enum SecretHex {
    static func decode(_ hex: Span<UInt8>) throws(FormatError) -> SecretBytes {
        guard hex.count == 64 else { throw .invalidKey("the key is not 64 hex digits") }
        for index in hex.indices where Hex.value(hex[index]) == nil {
            throw .invalidKey("the key is not 64 hex digits")
        }
        return try withCryptoErrors { () throws(CryptoError) in
            try SecretBytes(count: 32) { target in
                for index in 0..<32 {
                    let high = Hex.value(hex[2 * index]) ?? 0
                    let low = Hex.value(hex[2 * index + 1]) ?? 0
                    target[index] = high << 4 | low
                }
            }
        }
    }

    static func encode(_ secret: borrowing SecretBytes) throws(FormatError) -> SecretBytes {
        try withCryptoErrors { () throws(CryptoError) in
            try secret.withBytes { bytes throws(CryptoError) in
                try SecretBytes(count: bytes.count * 2) { target in
                    for index in bytes.indices {
                        target[2 * index] = Hex.digit(bytes[index] >> 4)
                        target[2 * index + 1] = Hex.digit(bytes[index] & 15)
                    }
                }
            }
        }
    }
}
