import COpenSSL

/// A P-256 key that verifies ECDSA signatures with SHA-256.
@safe
package final class P256PublicKey: Sendable {
    // nonisolated: the handle is only read after init, and OpenSSL takes references to it from several threads.
    nonisolated(unsafe) private let key: OpaquePointer
    /// The key as PEM SubjectPublicKeyInfo, always in the one canonical form: 178 bytes.
    package let pem: [UInt8]
    /// The key as DER SubjectPublicKeyInfo, always in the one canonical form: 91 bytes.
    package let subjectPublicKeyInfo: [UInt8]

    /// Reads PEM SubjectPublicKeyInfo: named curve P-256, an uncompressed point on the curve, strict DER.
    ///
    /// Anything else is `invalidKey`.
    package convenience init(pem: Span<UInt8>) throws(CryptoError) {
        let der = try PEM.publicKey(in: pem)
        try self.init(subjectPublicKeyInfo: der.span)
    }

    /// Reads DER SubjectPublicKeyInfo, by the same rules.
    package convenience init(subjectPublicKeyInfo: Span<UInt8>) throws(CryptoError) {
        try self.init(point: try P256Encoding.point(inSubjectPublicKeyInfo: subjectPublicKeyInfo))
    }

    /// Takes an uncompressed point of 65 bytes; OpenSSL refuses one that is not on the curve.
    init(point: [UInt8]) throws(CryptoError) {
        try OpenSSL.start()
        let der = P256Encoding.subjectPublicKeyInfo(point: point)
        pem = PEM.publicKey(der.span)
        subjectPublicKeyInfo = der
        unsafe key = try P256Handle.make(point: point)
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// True if the signature, 64 bytes r ‖ s, belongs to the message under this key.
    ///
    /// Every other length and form is false, and so is any failure of the library.
    package func isValid(signature: Span<UInt8>, for message: Span<UInt8>) -> Bool {
        guard let digest = try? SHA256.hash(message) else { return false }
        return isValid(signature: signature, digest: digest.span)
    }

    /// True if the signature, 64 bytes r ‖ s, belongs to a SHA-256 digest of 32 bytes under this key.
    package func isValid(signature: Span<UInt8>, digest: Span<UInt8>) -> Bool {
        guard let der = ECDSASignature.der(raw: signature), digest.count == SHA256.digestCount else { return false }
        let digest = [UInt8](copying: digest)
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_verify_init(context) == 1 else { return false }
        // unsafe: both arrays live through the call. 1 is the only answer that means valid; errors are negative.
        return unsafe EVP_PKEY_verify(context, der, der.count, digest, digest.count) == 1
    }
}
