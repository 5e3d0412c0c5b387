import COpenSSL

/// A P-256 key that makes ECDSA signatures with SHA-256.
@safe
package final class P256PrivateKey: Sendable {
    // nonisolated: the handle is only read after init, and OpenSSL takes references to it from several threads.
    nonisolated(unsafe) private let key: OpaquePointer
    private let scalar: SecretBytes
    private let point: [UInt8]
    /// The most bytes a DER signature takes: both numbers with a sign byte.
    private static let maximumSignatureCount = 2 + 2 * (2 + 1 + P256Encoding.scalarCount)

    /// What a key is made of, as it was read; the point is nil where the text had none.
    private struct Parts: ~Copyable {
        let scalar: SecretBytes
        let point: [UInt8]?
    }

    /// The other half.
    package let publicKey: P256PublicKey

    /// Makes a new random key.
    package static func generate() throws(CryptoError) -> P256PrivateKey {
        try OpenSSL.start()
        // unsafe: all three objects are freed in this scope; the number is cleared first.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_name(nil, "EC", nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_keygen_init(context))
        try unsafe OpenSSL.check(EVP_PKEY_CTX_set_group_name(context, SN_X9_62_prime256v1))
        var made: OpaquePointer?
        try unsafe OpenSSL.check(EVP_PKEY_generate(context, &made))
        defer { unsafe EVP_PKEY_free(made) }
        var number: OpaquePointer?
        try unsafe OpenSSL.check(EVP_PKEY_get_bn_param(made, OSSL_PKEY_PARAM_PRIV_KEY, &number))
        defer { unsafe BN_clear_free(number) }
        let scalar = try SecretBytes(count: P256Encoding.scalarCount) { output throws(CryptoError) in
            try unsafe output.withUnsafeMutableBufferPointer { target throws(CryptoError) in
                // Padded: BN_bn2bin would drop leading zeros.
                let written = unsafe BN_bn2binpad(number, target.baseAddress, Int32(target.count))
                guard Int(written) == target.count else { throw OpenSSL.failure() }
            }
        }
        return try P256PrivateKey(Parts(scalar: scalar, point: nil))
    }

    /// Reads PEM PKCS#8, not encrypted: P-256, strict DER, and a public half, if there is one, that belongs to it.
    ///
    /// Anything else is `invalidKey`.
    package convenience init(pem: Span<UInt8>) throws(CryptoError) {
        let der = try PEM.privateKey(in: pem)
        let parts = try der.withBytes { bytes throws(CryptoError) in try Self.parts(pkcs8: bytes) }
        try self.init(parts)
    }

    /// Reads DER PKCS#8, by the same rules.
    package convenience init(pkcs8: Span<UInt8>) throws(CryptoError) {
        try self.init(try Self.parts(pkcs8: pkcs8))
    }

    private static func parts(pkcs8: Span<UInt8>) throws(CryptoError) -> Parts {
        try P256Encoding.withPrivateKey(pkcs8) { scalar, point throws(CryptoError) in
            Parts(scalar: try SecretBytes(copying: scalar), point: point)
        }
    }

    /// Computes the point from the scalar, and refuses one that was given and differs.
    private init(_ parts: consuming Parts) throws(CryptoError) {
        try OpenSSL.start()
        let expected = parts.point
        let scalar = parts.scalar
        point = try scalar.withBytes { bytes throws(CryptoError) in try P256Handle.point(ofScalar: bytes) }
        guard expected == nil || expected == point else { throw CryptoError(.invalidKey) }
        publicKey = try P256PublicKey(point: point)
        let point = point
        unsafe key = try scalar.withBytes { bytes throws(CryptoError) in
            try unsafe P256Handle.make(scalar: bytes, point: point)
        }
        self.scalar = scalar
    }

    deinit {
        unsafe EVP_PKEY_free(key)  // unsafe: the handle of init; OpenSSL clears the number
    }

    /// The key as PEM PKCS#8 in the one canonical form.
    package func pem() throws(CryptoError) -> SecretBytes {
        try withPKCS8 { bytes throws(CryptoError) in try PEM.privateKey(bytes) }
    }

    /// Lets `body` read the key as DER PKCS#8 in the one canonical form.
    package func withPKCS8<R: ~Copyable>(
        _ body: (Span<UInt8>) throws(CryptoError) -> R
    ) throws(CryptoError) -> R {
        let der = try scalar.withBytes { bytes throws(CryptoError) in
            try P256Encoding.privateKeyInfo(scalar: bytes, point: point)
        }
        return try der.withBytes { bytes throws(CryptoError) in try body(bytes) }
    }

    /// Signs the SHA-256 digest of a message; the signature is r ‖ s, 64 bytes, and differs from call to call.
    package func sign(_ message: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        let digest = try SHA256.hash(message)
        return try sign(digest: digest.span)
    }

    /// Signs a SHA-256 digest of 32 bytes, as of a message too long for the memory.
    package func sign(digest: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        guard digest.count == SHA256.digestCount else { throw CryptoError(.invalidLength) }
        let digest = [UInt8](copying: digest)
        // unsafe: the context is freed in this scope.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_sign_init(context))
        let der = try [UInt8](capacity: Self.maximumSignatureCount) { output throws(CryptoError) in
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                // unsafe: OpenSSL writes no more than `written` says beforehand, and then says how much it was.
                var written = buffer.count
                try unsafe OpenSSL.check(
                    EVP_PKEY_sign(context, buffer.baseAddress, &written, digest, digest.count))
                initialized = written
            }
        }
        guard let raw = ECDSASignature.raw(der: der.span) else { throw CryptoError(.library) }
        return raw
    }
}
