internal import VaultCrypto

/// What a signature or a code covers, in one unambiguous sequence of bytes.
///
/// A label and a zero byte, then each field behind its length in 8 bytes, most significant first. The label keeps one
/// use of a key from being taken for another.
struct SignedFields: ~Copyable {
    private var hash: SHA256?
    private var collected: [UInt8]

    /// Starts a digest, for large fields.
    init(digesting label: StaticString) throws(PKIError) {
        let start = Array(label.description.utf8) + [0]
        collected = []
        hash = try crypto("hashing") { () throws(CryptoError) in
            var hash = try SHA256()
            try hash.update(start.span)
            return hash
        }
    }

    /// Starts the bytes themselves, for small fields.
    init(collecting label: StaticString) {
        hash = nil
        collected = Array(label.description.utf8) + [0]
    }

    /// Adds a field.
    mutating func append(_ field: Span<UInt8>) throws(PKIError) {
        try begin(count: field.count)
        try add(field)
    }

    /// Begins a field of this many bytes, which are then added piece by piece.
    mutating func begin(count: Int) throws(PKIError) {
        let length = (0..<8).map { UInt8(truncatingIfNeeded: UInt64(count) >> (56 - 8 * UInt64($0))) }
        try add(length.span)
    }

    /// Adds a piece of a field that was begun.
    mutating func add(_ piece: Span<UInt8>) throws(PKIError) {
        guard var hash = hash.take() else {
            collected.append(copying: piece)
            return
        }
        do throws(CryptoError) {
            try hash.update(piece)
        } catch {
            throw PKIError(.internalError, "hashing failed", cause: error)
        }
        self.hash = consume hash
    }

    mutating func append(_ field: [UInt8]) throws(PKIError) {
        try append(field.span)
    }

    /// The bytes that were collected.
    var bytes: [UInt8] { collected }

    /// The SHA-256 digest of everything.
    consuming func digest() throws(PKIError) -> [UInt8] {
        guard let hash = hash.take() else { throw PKIError(.internalError, "nothing was hashed") }
        do throws(CryptoError) {
            return try hash.finish()
        } catch {
            throw PKIError(.internalError, "hashing failed", cause: error)
        }
    }
}
