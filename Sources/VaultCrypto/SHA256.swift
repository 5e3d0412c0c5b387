import COpenSSL

/// SHA-256 (FIPS 180-4), at once or piece by piece.
///
/// OpenSSL's plain functions are used, not `EVP`: the state is a value without memory of its own, so a digest of a
/// small object costs no allocation but that of the result, and they use the same SHA instructions.
package struct SHA256: ~Copyable {
    /// The length of a digest in bytes.
    package static let digestCount = 32

    private var context: SHA256_CTX

    package init() throws(CryptoError) {
        try OpenSSL.start()
        var context = SHA256_CTX()
        try unsafe OpenSSL.check(SHA256_Init(&context))  // unsafe: writes the state only
        self.context = context
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: Span<UInt8>) throws(CryptoError) {
        // unsafe: the pointer is valid for the length given; a null pointer comes with length 0.
        let result = unsafe bytes.withUnsafeBytes { unsafe SHA256_Update(&context, $0.baseAddress, $0.count) }
        try OpenSSL.check(result)
    }

    /// Ends the message and gives the 32 bytes of its digest.
    package consuming func finish() throws(CryptoError) -> [UInt8] {
        try [UInt8](capacity: Self.digestCount) { output throws(CryptoError) in
            // unsafe: SHA256_Final writes exactly 32 bytes.
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                try unsafe OpenSSL.check(SHA256_Final(buffer.baseAddress, &context))
                initialized = Self.digestCount
            }
        }
    }

    /// The digest of a message that lies in memory as a whole.
    package static func hash(_ bytes: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        var hash = try SHA256()
        try hash.update(bytes)
        return try hash.finish()
    }
}
