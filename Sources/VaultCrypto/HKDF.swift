import COpenSSL

/// HKDF with SHA-256 (RFC 5869), extract and expand in one step, by OpenSSL.
package enum HKDF {
    /// The longest output: 255 digests (RFC 5869 §2.3).
    private static let maximumCount = 255 * SHA256.digestCount

    /// Derives `count` bytes, 1 to 8160, from input key material that is not empty.
    ///
    /// An empty salt stands for 32 zero bytes, as the RFC says.
    package static func sha256(
        ikm: Span<UInt8>, salt: Span<UInt8>, info: Span<UInt8>, count: Int
    ) throws(CryptoError) -> SecretBytes {
        guard count >= 1, count <= maximumCount, ikm.count > 0 else { throw CryptoError(.invalidLength) }
        try OpenSSL.start()
        // unsafe: the context is freed in this scope, and with it the copies it made of the inputs.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_derive_init(context))
        try unsafe OpenSSL.check(EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()))
        try unsafe set(ikm) { unsafe EVP_PKEY_CTX_set1_hkdf_key(context, $0, $1) }
        try unsafe set(salt) { unsafe EVP_PKEY_CTX_set1_hkdf_salt(context, $0, $1) }
        try unsafe set(info) { unsafe EVP_PKEY_CTX_add1_hkdf_info(context, $0, $1) }
        return try SecretBytes(count: count) { output throws(CryptoError) in
            try unsafe output.withUnsafeMutableBufferPointer { target throws(CryptoError) in
                var written = target.count
                try unsafe OpenSSL.check(EVP_PKEY_derive(context, target.baseAddress, &written))
                guard written == target.count else { throw CryptoError(.library) }
            }
        }
    }

    /// Passes an input to OpenSSL; an empty one is left out, because a null pointer of length 0 is refused.
    private static func set(
        _ bytes: Span<UInt8>, with call: (UnsafePointer<UInt8>, Int32) -> Int32
    ) throws(CryptoError) {
        guard bytes.count <= Int(Int32.max) else { throw CryptoError(.invalidLength) }
        try unsafe bytes.withUnsafeBufferPointer { buffer throws(CryptoError) in
            guard let start = buffer.baseAddress, buffer.count > 0 else { return }
            try unsafe OpenSSL.check(call(start, Int32(buffer.count)))
        }
    }
}
