import COpenSSL

/// An RSA key that encrypts short messages: OAEP with SHA-256 for hash and mask, and an empty label.
@safe
package final class RSAPublicKey: Sendable {
    // nonisolated: the handle is only read after init, and OpenSSL takes references to it from several threads.
    nonisolated(unsafe) private let key: OpaquePointer
    /// The length of the modulus in bits, 2048 to 16384.
    package let modulusBits: Int
    /// The key as PEM SubjectPublicKeyInfo, always in the one canonical form.
    package let pem: [UInt8]
    /// The key as DER SubjectPublicKeyInfo, always in the one canonical form.
    package let subjectPublicKeyInfo: [UInt8]

    /// The length of an encrypted message in bytes: that of the modulus.
    package var ciphertextCount: Int { (modulusBits + 7) / 8 }

    /// Reads PEM SubjectPublicKeyInfo: `rsaEncryption`, at least 2048 bits, an odd exponent above 2, strict DER.
    ///
    /// Anything else is `invalidKey`.
    package convenience init(pem: Span<UInt8>) throws(CryptoError) {
        let der = try PEM.publicKey(in: pem)
        try self.init(subjectPublicKeyInfo: der.span)
    }

    /// Reads DER SubjectPublicKeyInfo, by the same rules.
    package convenience init(subjectPublicKeyInfo: Span<UInt8>) throws(CryptoError) {
        let numbers = try RSAEncoding.publicNumbers(inSubjectPublicKeyInfo: subjectPublicKeyInfo)
        try self.init(modulus: numbers.modulus, exponent: numbers.exponent)
    }

    /// Takes two numbers that were checked, without leading zero bytes.
    init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        try OpenSSL.start()
        let der = RSAEncoding.subjectPublicKeyInfo(modulus: modulus, exponent: exponent)
        subjectPublicKeyInfo = der
        pem = PEM.publicKey(der.span)
        modulusBits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        // OpenSSL takes numbers in the byte order of the machine.
        let isLittleEndian = 1.littleEndian == 1
        let (n, e) = isLittleEndian ? (modulus.reversed(), exponent.reversed()) : (modulus, exponent)
        // unsafe: both arrays live through the call, which copies them.
        unsafe key = try unsafe n.span.withUnsafeBytes { n throws(CryptoError) in
            try unsafe e.span.withUnsafeBytes { e throws(CryptoError) in
                let parts = unsafe [
                    KeyParameters.parameter("n", OSSL_PARAM_UNSIGNED_INTEGER, n),
                    KeyParameters.parameter("e", OSSL_PARAM_UNSIGNED_INTEGER, e),
                ]
                return try unsafe KeyParameters.makeKey("RSA", COPENSSL_SELECT_PUBLIC_KEY, parts)
            }
        }
    }

    deinit {
        unsafe EVP_PKEY_free(key)
    }

    /// Encrypts a message, which differs from call to call; one too long for the modulus is `invalidLength`.
    package func encrypt(_ message: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        // RFC 8017 §7.1.1: two digests and two bytes are taken by the padding.
        guard message.count <= ciphertextCount - 2 * SHA256.digestCount - 2 else { throw CryptoError(.invalidLength) }
        // unsafe: the context is freed in this scope.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_encrypt_init(context))
        try unsafe OAEP.choose(context)
        return try [UInt8](capacity: ciphertextCount) { output throws(CryptoError) in
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                // unsafe: OpenSSL writes no more than `written` says beforehand, and then says how much it was.
                var written = buffer.count
                let result = unsafe message.withUnsafeBufferPointer { message in
                    // An empty message still needs a pointer: a null one asks for the length only.
                    var nothing: UInt8 = 0
                    return unsafe withUnsafePointer(to: &nothing) { empty in
                        unsafe EVP_PKEY_encrypt(
                            context, buffer.baseAddress, &written, message.baseAddress ?? empty, message.count)
                    }
                }
                try OpenSSL.check(result)
                guard written == buffer.count else { throw CryptoError(.library) }
                initialized = written
            }
        }
    }
}

/// The padding of RFC 8017 §7.1 with the parameters that are used here.
enum OAEP {
    /// Sets padding, hash and mask hash; OpenSSL's default for both hashes is SHA-1.
    static func choose(_ context: OpaquePointer) throws(CryptoError) {
        try unsafe OpenSSL.check(EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING))
        try unsafe OpenSSL.check(EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()))
        try unsafe OpenSSL.check(EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()))
    }
}
