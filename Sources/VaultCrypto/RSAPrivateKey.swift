import COpenSSL

/// An RSA key that decrypts what ``RSAPublicKey`` encrypts.
@safe
package final class RSAPrivateKey: Sendable {
    // nonisolated: the handle is only read after init, and OpenSSL takes references to it from several threads.
    nonisolated(unsafe) private let key: OpaquePointer
    private let pkcs8: SecretBytes

    /// The other half.
    package let publicKey: RSAPublicKey

    /// How much of a key is checked when it is read.
    package enum Check: Sendable {
        /// The products and inverses: enough for a key that was written by this program or the reference.
        case arithmetic
        /// Also that both primes are primes, which takes a third of a second: for a key from elsewhere.
        case primes
    }

    /// Reads DER PKCS#8: two primes, strict DER, all numbers belonging to each other.
    ///
    /// Anything else is `invalidKey`.
    package convenience init(pkcs8: Span<UInt8>, check: Check = .arithmetic) throws(CryptoError) {
        try self.init(owning: try SecretBytes(copying: pkcs8), check: check)
    }

    init(owning pkcs8: consuming SecretBytes, check: Check) throws(CryptoError) {
        try OpenSSL.start()
        let bytes = pkcs8
        let ranges = try bytes.withBytes { bytes throws(CryptoError) in
            let ranges = try RSAEncoding.privateRanges(inPKCS8: bytes)
            try RSAArithmetic.check(ranges, bytes)
            return ranges
        }
        publicKey = try bytes.withBytes { bytes throws(CryptoError) in
            try RSAPublicKey(
                modulus: [UInt8](copying: bytes.extracting(ranges.modulus)),
                exponent: [UInt8](copying: bytes.extracting(ranges.publicExponent)))
        }
        let made = try unsafe bytes.withBytes { bytes throws(CryptoError) in
            try unsafe RSAArithmetic.makeKey(ranges, bytes)
        }
        self.pkcs8 = bytes
        unsafe key = made
        if check == .primes { try checkPrimes() }
    }

    deinit {
        unsafe EVP_PKEY_free(key)  // unsafe: the handle of init; OpenSSL clears the numbers
    }

    /// Lets `body` read the key as DER PKCS#8.
    package func withPKCS8<R: ~Copyable>(
        _ body: (Span<UInt8>) throws(CryptoError) -> R
    ) throws(CryptoError) -> R {
        try pkcs8.withBytes { bytes throws(CryptoError) in try body(bytes) }
    }

    /// Decrypts a message of exactly the length of the modulus.
    ///
    /// Every failure is `authenticationFailed`, so that it tells nothing about the plaintext.
    package func decrypt(_ ciphertext: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        guard ciphertext.count == publicKey.ciphertextCount else { throw CryptoError(.authenticationFailed) }
        // unsafe: the context is freed in this scope.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_decrypt_init(context))
        try unsafe OAEP.choose(context)
        var count = publicKey.ciphertextCount
        let padded = try SecretBytes(count: count) { output throws(CryptoError) in
            // unsafe: OpenSSL writes no more than `count` says beforehand, and then says how much it was.
            let result = unsafe output.withUnsafeMutableBufferPointer { target in
                unsafe ciphertext.withUnsafeBufferPointer { source in
                    unsafe EVP_PKEY_decrypt(context, target.baseAddress, &count, source.baseAddress, source.count)
                }
            }
            try OpenSSL.check(result, or: .authenticationFailed)
        }
        return try padded.withBytes { bytes throws(CryptoError) in
            guard count <= bytes.count else { throw CryptoError(.library) }
            return try SecretBytes(copying: bytes.extracting(first: count))
        }
    }

    private func checkPrimes() throws(CryptoError) {
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_pairwise_check(context), or: .invalidKey)
        try unsafe OpenSSL.check(EVP_PKEY_private_check(context), or: .invalidKey)
    }
}
