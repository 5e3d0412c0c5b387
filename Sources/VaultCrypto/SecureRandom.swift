import COpenSSL

/// The random source for everything that is real: OpenSSL's generator, seeded by the kernel.
package struct SecureRandom: RandomSource {
    package init() {}

    package func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        guard count >= 0, count <= Int(Int32.max) else { throw CryptoError(.invalidLength) }
        guard count > 0 else { return [] }
        try OpenSSL.start()
        return try [UInt8](capacity: count) { output throws(CryptoError) in
            // unsafe: RAND_bytes fills exactly `count` bytes or fails.
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                try unsafe OpenSSL.check(RAND_bytes(buffer.baseAddress, Int32(count)))
                initialized = count
            }
        }
    }
}
