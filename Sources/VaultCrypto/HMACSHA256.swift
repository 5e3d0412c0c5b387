import COpenSSL

/// HMAC-SHA256 (RFC 2104) under one key.
///
/// The two SHA-256 states after the padded key are computed once; each message starts from copies of them. That is
/// what ``PBKDF2`` needs of HMAC, and it makes one value usable by any number of threads without a lock.
@safe
package final class HMACSHA256: Sendable {
    /// The length of an authentication code in bytes.
    package static let tagCount = 32
    private static let blockCount = 64

    /// Two states: after the key with the inner pad, after the key with the outer pad.
    nonisolated(unsafe) private let states: UnsafeMutablePointer<SHA256_CTX>

    /// Takes a key of any length; one longer than 64 bytes is hashed first, as RFC 2104 says.
    package init(key: Span<UInt8>) throws(CryptoError) {
        try OpenSSL.start()
        unsafe states = UnsafeMutablePointer<SHA256_CTX>.allocate(capacity: 2)
        // unsafe: two elements are allocated and both are written here, before anyone else sees them.
        unsafe states.initialize(repeating: SHA256_CTX(), count: 2)
        try unsafe withUnsafeTemporaryAllocation(
            of: UInt8.self, capacity: Self.blockCount
        ) { block throws(CryptoError) in
            defer { unsafe OPENSSL_cleanse(block.baseAddress, block.count) }
            unsafe block.initialize(repeating: 0)
            if key.count > Self.blockCount {
                try unsafe Self.digest(key, into: block.baseAddress, scratch: states)
            } else {
                for index in key.indices {
                    unsafe block[index] = key[index]
                }
            }
            try unsafe Self.absorb(block, pad: 0x36, into: states)
            try unsafe Self.absorb(block, pad: 0x36 ^ 0x5C, into: states + 1)
        }
    }

    deinit {
        // unsafe: the memory of init; the states stand for the key, so they are cleared before it is given back.
        unsafe OPENSSL_cleanse(states, 2 * MemoryLayout<SHA256_CTX>.stride)
        unsafe states.deallocate()
    }

    /// The code of a message: 32 bytes.
    package func authenticate(_ message: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        try [UInt8](capacity: Self.tagCount) { output throws(CryptoError) in
            // unsafe: SHA256_Final writes exactly 32 bytes.
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                try unsafe authenticate(message, into: buffer.baseAddress)
                initialized = Self.tagCount
            }
        }
    }

    /// Writes the code of a message to 32 bytes at `target`.
    @unsafe
    func authenticate(_ message: Span<UInt8>, into target: UnsafeMutablePointer<UInt8>?) throws(CryptoError) {
        var context = unsafe states[0]
        defer { unsafe OPENSSL_cleanse(&context, MemoryLayout<SHA256_CTX>.size) }
        let result = unsafe message.withUnsafeBytes { unsafe SHA256_Update(&context, $0.baseAddress, $0.count) }
        try OpenSSL.check(result)
        try unsafe OpenSSL.check(SHA256_Final(target, &context))
        unsafe context = states[1]
        try unsafe OpenSSL.check(SHA256_Update(&context, target, Self.tagCount))
        try unsafe OpenSSL.check(SHA256_Final(target, &context))
    }

    /// Lets `body` read the chaining values, eight words each, that follow the inner and the outer padded key.
    @unsafe
    func withChainingValues(_ body: (_ inner: UnsafePointer<UInt32>, _ outer: UnsafePointer<UInt32>) -> Void) {
        unsafe withUnsafePointer(to: states[0].h) { inner in
            unsafe withUnsafePointer(to: states[1].h) { outer in
                unsafe body(
                    UnsafeRawPointer(inner).assumingMemoryBound(to: UInt32.self),
                    UnsafeRawPointer(outer).assumingMemoryBound(to: UInt32.self))
            }
        }
    }

    /// Applies a pad to the block in place and starts a state with it.
    private static func absorb(
        _ block: UnsafeMutableBufferPointer<UInt8>, pad: UInt8, into state: UnsafeMutablePointer<SHA256_CTX>
    ) throws(CryptoError) {
        for index in block.indices {
            unsafe block[index] ^= pad
        }
        try unsafe OpenSSL.check(SHA256_Init(state))
        try unsafe OpenSSL.check(SHA256_Update(state, block.baseAddress, block.count))
    }

    private static func digest(
        _ bytes: Span<UInt8>, into target: UnsafeMutablePointer<UInt8>?, scratch: UnsafeMutablePointer<SHA256_CTX>
    ) throws(CryptoError) {
        try unsafe OpenSSL.check(SHA256_Init(scratch))
        let result = unsafe bytes.withUnsafeBytes { unsafe SHA256_Update(scratch, $0.baseAddress, $0.count) }
        try OpenSSL.check(result)
        try unsafe OpenSSL.check(SHA256_Final(target, scratch))
    }
}
