internal import VaultCrypto

/// What a signature or a code covers, in one unambiguous sequence of bytes.
///
/// A label and a zero byte, then each field behind its length in 8 bytes, most significant first. The label keeps one
/// use of a key from being taken for another. A ciphertext enters as its SHA-256.
struct SignedFields {
    private(set) var bytes: [UInt8]

    init(_ label: StaticString) {
        bytes = Array(label.description.utf8) + [0]
    }

    mutating func append(_ field: [UInt8]) {
        let length = UInt64(field.count)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: length >> shift))
        }
        bytes += field
    }

    /// What a signature is made over: the first 32 bytes of SHA-384, which is what ECDSA with P-256 takes of a longer
    /// digest (FIPS 186-5 §6.4.1).
    ///
    /// Files are signed by their SHA-256. With the same hash, a signature that somebody makes of a file which another
    /// brought, spelling these bytes, would be one over an envelope.
    func signedDigest() throws(PKIError) -> [UInt8] {
        let bytes = bytes
        let digest = try crypto("hashing") { () throws(CryptoError) in try SHA384.hash(bytes.span) }
        return Array(digest.prefix(SHA256.digestCount))
    }
}

/// The SHA-256 of a ciphertext and its tag, computed while they go by.
struct CiphertextHash: ~Copyable {
    private var hash: SHA256

    init() throws(PKIError) {
        hash = try crypto("hashing") { () throws(CryptoError) in try SHA256() }
    }

    mutating func add(_ bytes: Span<UInt8>) throws(PKIError) {
        do throws(CryptoError) {
            try hash.update(bytes)
        } catch {
            throw PKIError(.internalError, "hashing failed", cause: error)
        }
    }

    consuming func finish() throws(PKIError) -> [UInt8] {
        do throws(CryptoError) {
            return try hash.finish()
        } catch {
            throw PKIError(.internalError, "hashing failed", cause: error)
        }
    }
}
