import COpenSSL

/// The slow functions from passphrase to key that files of other programs ask for.
enum KeyStretching {
    /// The hash inside HMAC.
    enum Hash: CaseIterable {
        case sha1, sha224, sha256, sha384, sha512
    }

    /// PBKDF2 (RFC 8018 §5.2) with HMAC over one of the hashes.
    static func pbkdf2(
        _ hash: Hash, password: Span<UInt8>, salt: Span<UInt8>, iterations: Int, count: Int
    ) throws(CryptoError) -> SecretBytes {
        let method: OpaquePointer?
        switch hash {
        case .sha256:
            return try PBKDF2.sha256(password: password, salt: salt, iterations: iterations, count: count)
        case .sha1: unsafe method = EVP_sha1()
        case .sha224: unsafe method = EVP_sha224()
        case .sha384: unsafe method = EVP_sha384()
        case .sha512: unsafe method = EVP_sha512()
        }
        guard (1...Int(Int32.max)).contains(iterations), password.count <= Int(Int32.max) else {
            throw CryptoError(.invalidParameter)
        }
        return try unsafe derive(password, salt, count: count) { password, salt, target in
            unsafe PKCS5_PBKDF2_HMAC(
                password.baseAddress, Int32(password.count), salt.baseAddress, Int32(salt.count), Int32(iterations),
                method, Int32(target.count), target.baseAddress)
        }
    }

    /// scrypt (RFC 7914 §6); a cost that OpenSSL does not take with this block size is `unsupported`.
    static func scrypt(
        password: Span<UInt8>, salt: Span<UInt8>, cost: Int, blockSize: Int, parallelism: Int, count: Int
    ) throws(CryptoError) -> SecretBytes {
        // Beside the large table there are the blocks of each lane and working memory.
        let memory = UInt64(PBES2Scheme.maximumScryptMemory) + UInt64(128 * blockSize * (parallelism + 2)) + 65536
        return try unsafe derive(password, salt, count: count, or: .unsupported) { password, salt, target in
            unsafe EVP_PBE_scrypt(
                password.baseAddress, password.count, salt.baseAddress, salt.count, UInt64(cost), UInt64(blockSize),
                UInt64(parallelism), memory, target.baseAddress, target.count)
        }
    }

    private static func derive(
        _ password: Span<UInt8>, _ salt: Span<UInt8>, count: Int, or code: CryptoError.Code = .library,
        _ body: (
            UnsafeBufferPointer<CChar>, UnsafeBufferPointer<UInt8>, UnsafeMutableBufferPointer<UInt8>
        ) -> Int32
    ) throws(CryptoError) -> SecretBytes {
        try OpenSSL.start()
        return try SecretBytes(count: count) { output throws(CryptoError) in
            // unsafe: the three buffers live through the call, which fills exactly the last one.
            let result = unsafe output.withUnsafeMutableBufferPointer { target in
                unsafe password.withUnsafeBytes { password in
                    unsafe salt.withUnsafeBufferPointer { salt in
                        unsafe body(password.bindMemory(to: CChar.self), salt, target)
                    }
                }
            }
            try OpenSSL.check(result, or: code)
        }
    }
}
