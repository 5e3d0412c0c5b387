import COpenSSL

/// SHA-384 (FIPS 180-4) of messages that lie in memory as a whole.
package enum SHA384 {
    /// The length of a digest in bytes.
    package static let digestCount = 48

    /// The digest of a message.
    package static func hash(_ bytes: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        try OpenSSL.start()
        return try [UInt8](capacity: digestCount) { output throws(CryptoError) in
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                // unsafe: the message lives through the call, which writes exactly 48 bytes.
                let result = unsafe bytes.withUnsafeBytes { message in
                    unsafe EVP_Digest(
                        message.baseAddress, message.count, buffer.baseAddress, nil, EVP_sha384(), nil)
                }
                try OpenSSL.check(result)
                initialized = digestCount
            }
        }
    }
}
