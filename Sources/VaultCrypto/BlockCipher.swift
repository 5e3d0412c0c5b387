import COpenSSL

/// Block ciphers in CBC mode with the padding of RFC 8018 §6.1: what encrypted private keys use, and nothing else.
///
/// There is no authentication; a wrong key passes the check of the padding about once in 256 times.
enum BlockCipher: CaseIterable {
    case aes128, aes192, aes256, tripleDES

    /// The length of a key in bytes.
    var keyCount: Int {
        switch self {
        case .aes128: 16
        case .aes192, .tripleDES: 24
        case .aes256: 32
        }
    }

    /// The length of a block and of an IV in bytes.
    var blockCount: Int { self == .tripleDES ? 8 : 16 }

    private var method: OpaquePointer? {
        switch self {
        case .aes128: unsafe EVP_aes_128_cbc()
        case .aes192: unsafe EVP_aes_192_cbc()
        case .aes256: unsafe EVP_aes_256_cbc()
        case .tripleDES: unsafe EVP_des_ede3_cbc()
        }
    }

    /// Pads and encrypts.
    func encrypt(_ plaintext: Span<UInt8>, key: borrowing SecretBytes, iv: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        let sealed = try run(plaintext, key: key, iv: iv, encrypts: true)
        return sealed.withBytes { bytes in [UInt8](copying: bytes) }
    }

    /// Decrypts and removes the padding; a wrong one is `authenticationFailed`.
    func decrypt(
        _ ciphertext: Span<UInt8>, key: borrowing SecretBytes, iv: Span<UInt8>
    ) throws(CryptoError) -> SecretBytes {
        guard ciphertext.count > 0, ciphertext.count % blockCount == 0 else { throw CryptoError(.invalidLength) }
        return try run(ciphertext, key: key, iv: iv, encrypts: false)
    }

    private func run(
        _ input: Span<UInt8>, key: borrowing SecretBytes, iv: Span<UInt8>, encrypts: Bool
    ) throws(CryptoError) -> SecretBytes {
        guard key.count == keyCount, iv.count == blockCount else { throw CryptoError(.invalidLength) }
        guard input.count <= Int(Int32.max) - blockCount else { throw CryptoError(.invalidLength) }
        try OpenSSL.start()
        // unsafe: the context, which holds the key, is cleared and freed in this scope.
        let context = try unsafe OpenSSL.check(EVP_CIPHER_CTX_new(), or: .outOfMemory)
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let started = key.withBytes { key in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe iv.withUnsafeBufferPointer { iv in
                    unsafe EVP_CipherInit_ex2(
                        context, method, key.baseAddress, iv.baseAddress, encrypts ? 1 : 0, nil)
                }
            }
        }
        try OpenSSL.check(started)
        var count = 0
        let output = try SecretBytes(count: input.count + blockCount) { output throws(CryptoError) in
            // unsafe: both calls together write no more than the input and one block.
            try unsafe output.withUnsafeMutableBufferPointer { target throws(CryptoError) in
                var (written, rest): (Int32, Int32) = (0, 0)
                let result = unsafe input.withUnsafeBufferPointer { source in
                    source.isEmpty
                        ? 1
                        : unsafe EVP_CipherUpdate(
                            context, target.baseAddress, &written, source.baseAddress, Int32(source.count))
                }
                try OpenSSL.check(result)
                let end = unsafe target.baseAddress?.advanced(by: Int(written))
                try unsafe OpenSSL.check(EVP_CipherFinal_ex(context, end, &rest), or: .authenticationFailed)
                count = Int(written) + Int(rest)
            }
        }
        return try output.withBytes { bytes throws(CryptoError) in
            try SecretBytes(copying: bytes.extracting(first: count))
        }
    }
}
