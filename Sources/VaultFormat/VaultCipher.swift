package import VaultCrypto

/// Seals and opens everything a vault stores, under its read key (01-keys-and-crypto §3–5).
///
/// Envelope 1 is IV ‖ ciphertext ‖ tag of AES-256-GCM. Envelope 2 is the magic `NUL sgz1` before an envelope 1 of the
/// deflated plaintext; only blobs are written so, and only where the vault's index asks for it.
package final class VaultCipher: Sendable {
    /// The cipher itself, for content that is streamed.
    package let aead: AESGCM
    private let hmac: HMACSHA256

    /// What an envelope 2 begins with.
    package static let deflateMagic: [UInt8] = [0x00, 0x73, 0x67, 0x7A, 0x31]
    /// Bytes an envelope 1 is longer than its plaintext.
    package static let overhead = 28

    package init(readKey: ReadKey) throws(FormatError) {
        let parts = try withCryptoErrors { () throws(CryptoError) in
            try readKey.withBytes { bytes throws(CryptoError) in
                (try AESGCM(key: bytes), try HMACSHA256(key: bytes))
            }
        }
        aead = parts.0
        hmac = parts.1
    }

    /// Opens an object of either envelope.
    ///
    /// - Throws: `.decryptFailed` for a wrong key or damaged bytes, `.malformed` when the content of an envelope 2 does
    ///   not inflate, `.limitExceeded` when the plaintext is longer than `limit`.
    package func open(_ object: Span<UInt8>, limit: Int) throws(FormatError) -> [UInt8] {
        if Self.isDeflated(object), let deflated = try? openSealed(object.extracting(Self.deflateMagic.count...)) {
            return try Inflater.inflate(deflated.span, limit: limit)
        }
        guard object.count - Self.overhead <= limit else { throw .limit("the object is larger than is allowed") }
        return try openSealed(object)
    }

    /// Whether an object may be an envelope 2; only its tag decides.
    package static func isDeflated(_ object: Span<UInt8>) -> Bool {
        guard object.count > deflateMagic.count + 12 else { return false }
        for index in deflateMagic.indices where object[index] != deflateMagic[index] { return false }
        return true
    }

    /// Opens an envelope 1 without looking for the magic of envelope 2.
    func openSealed(_ sealed: Span<UInt8>) throws(FormatError) -> [UInt8] {
        guard sealed.count >= Self.overhead else {
            throw FormatError(code: .decryptFailed, detail: "the data is too short to be sealed")
        }
        return try withCryptoErrors { () throws(CryptoError) in try aead.open(sealed, aad: nil) }
    }

    /// Seals with a random IV: commits, refs, the index, keys, tags and cache objects.
    package func sealRandom(
        _ plaintext: Span<UInt8>, random: any RandomSource
    ) throws(FormatError) -> [UInt8] {
        let iv = try random.formatBytes(12)
        return try withCryptoErrors { () throws(CryptoError) in try aead.seal(plaintext, iv: iv.span, aad: nil) }
    }

    /// Seals with an IV that follows from the plaintext, so that equal plaintexts give equal bytes: trees.
    package func sealDeterministic(_ plaintext: Span<UInt8>) throws(FormatError) -> [UInt8] {
        try withCryptoErrors { () throws(CryptoError) in
            let digest = try hmac.authenticate(plaintext)
            return try aead.seal(plaintext, iv: digest.span.extracting(first: 12), aad: nil)
        }
    }

    /// Seals a file's content; deflated (envelope 2) when `deflate` is set and that makes it smaller.
    package func sealBlob(
        _ plaintext: Span<UInt8>, deflate: Bool, random: any RandomSource
    ) throws(FormatError) -> [UInt8] {
        guard deflate else { return try sealRandom(plaintext, random: random) }
        let deflated = try Deflater.deflate(plaintext)
        let magic = Self.deflateMagic
        guard deflated.count + magic.count < plaintext.count else {
            return try sealRandom(plaintext, random: random)
        }
        let iv = try random.formatBytes(12)
        var sealed = try withCryptoErrors { () throws(CryptoError) in
            try aead.seal(deflated.span, iv: iv.span, aad: nil, prefix: magic.count)
        }
        for index in magic.indices { sealed[index] = magic[index] }
        return sealed
    }

    /// Seals one text of a tree as base64, always in the same way.
    ///
    /// - Throws: `.limitExceeded` when the text has more than 740 bytes.
    package func sealText(_ text: Span<UInt8>) throws(FormatError) -> String {
        guard text.count <= Limits.metadataText else { throw Self.textTooLong() }
        let sealed = try sealDeterministic(text)
        return Base64.text(sealed.span)
    }

    /// Seals a commit message as base64, with a random IV.
    ///
    /// - Throws: `.limitExceeded` when the text has more than 740 bytes.
    package func sealTextRandom(
        _ text: Span<UInt8>, random: any RandomSource
    ) throws(FormatError) -> String {
        guard text.count <= Limits.metadataText else { throw Self.textTooLong() }
        let sealed = try sealRandom(text, random: random)
        return Base64.text(sealed.span)
    }

    /// Opens a text that one of the two functions above sealed.
    package func openText(_ base64: Span<UInt8>) throws(FormatError) -> [UInt8] {
        guard base64.count <= Limits.metadataEncoded else { throw Self.textTooLong() }
        guard let sealed = Base64.decode(base64) else { throw .malformed("an encrypted text is not base64") }
        return try openSealed(sealed.span)
    }

    private static func textTooLong() -> FormatError {
        .limit("a name or message is longer than 740 bytes")
    }
}
