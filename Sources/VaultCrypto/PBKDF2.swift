import COpenSSL

/// PBKDF2 with HMAC-SHA256 (RFC 8018 §5.2).
///
/// The one loop of our own in this module. OpenSSL 3.0's `PKCS5_PBKDF2_HMAC` sets up HMAC anew for every iteration and
/// takes two to three times as long. Here the states after the padded key are computed once, so an iteration is two
/// calls of the compression function: one from the inner state, one from the outer. The tests compare it with
/// OpenSSL's own and with the Wycheproof vectors.
package enum PBKDF2 {
    /// Derives `count` bytes (at least one) from a password of any length, in `iterations` (at least one) rounds.
    package static func sha256(
        password: Span<UInt8>, salt: Span<UInt8>, iterations: Int, count: Int
    ) throws(CryptoError) -> SecretBytes {
        guard iterations >= 1 else { throw CryptoError(.invalidParameter) }
        // RFC 8018 §5.2 step 1: the block number has 32 bits.
        guard count >= 1, (count - 1) / SHA256.digestCount < Int(UInt32.max) else {
            throw CryptoError(.invalidLength)
        }
        let hmac = try HMACSHA256(key: password)
        var seed = [UInt8](capacity: salt.count + 4) { target in
            for index in salt.indices {
                target.append(salt[index])
            }
            target.append(repeating: 0, count: 4)
        }
        return try SecretBytes(count: count) { output throws(CryptoError) in
            let area = WorkArea()
            for offset in stride(from: 0, to: output.count, by: SHA256.digestCount) {
                let number = UInt32(offset / SHA256.digestCount + 1)
                for index in 0..<4 {
                    seed[salt.count + index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * index))
                }
                try area.run(hmac, seed: seed.span, rounds: iterations)
                for index in 0..<min(SHA256.digestCount, output.count - offset) {
                    output[offset + index] = area.resultByte(index)
                }
            }
        }
    }
}

/// The memory of the loop: everything in it depends on the password, so all of it is cleared in `deinit`.
@safe
private struct WorkArea: ~Copyable {
    /// The words of one digest.
    private static let words = 8
    /// The state whose chaining value is set before every compression.
    private let state: UnsafeMutablePointer<SHA256_CTX>
    /// The chaining value inside `state`.
    private let chain: UnsafeMutablePointer<UInt32>
    /// One padded message block: a digest, the end mark, the length of key block and digest in bits.
    private let block: UnsafeMutablePointer<UInt32>
    /// The exclusive or of all digests so far, in the byte order of the output.
    private let sum: UnsafeMutablePointer<UInt32>

    init() {
        // unsafe: every pointer is allocated here with its full length, initialised, and freed in deinit only.
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: SHA256_CTX())
        unsafe chain = UnsafeMutableRawPointer(state).advanced(by: MemoryLayout<SHA256_CTX>.offset(of: \.h) ?? 0)
            .assumingMemoryBound(to: UInt32.self)
        unsafe block = .allocate(capacity: 2 * Self.words)
        unsafe block.initialize(repeating: 0, count: 2 * Self.words)
        unsafe block[Self.words] = UInt32(0x8000_0000).bigEndian
        unsafe block[2 * Self.words - 1] = UInt32((64 + 32) * 8).bigEndian
        unsafe sum = .allocate(capacity: Self.words)
        unsafe sum.initialize(repeating: 0, count: Self.words)
    }

    deinit {
        unsafe OPENSSL_cleanse(state, MemoryLayout<SHA256_CTX>.size)
        unsafe OPENSSL_cleanse(block, 2 * Self.words * MemoryLayout<UInt32>.size)
        unsafe OPENSSL_cleanse(sum, Self.words * MemoryLayout<UInt32>.size)
        unsafe state.deallocate()
        unsafe block.deallocate()
        unsafe sum.deallocate()
    }

    /// Computes T_i of RFC 8018: U_1 from the seed, each further U from the one before, and the exclusive or of all.
    borrowing func run(_ hmac: HMACSHA256, seed: Span<UInt8>, rounds: Int) throws(CryptoError) {
        // unsafe: the code is 32 bytes long and lies in the first half of the block.
        let digest = unsafe UnsafeMutableRawPointer(block).assumingMemoryBound(to: UInt8.self)
        try unsafe hmac.authenticate(seed, into: digest)
        unsafe sum.update(from: block, count: Self.words)
        unsafe hmac.withChainingValues { inner, outer in
            for _ in 1..<rounds {
                unsafe compress(from: inner)
                unsafe compress(from: outer)
                for index in 0..<Self.words {
                    unsafe sum[index] ^= block[index]
                }
            }
        }
    }

    /// One byte of the result of the last run.
    borrowing func resultByte(_ index: Int) -> UInt8 {
        unsafe UnsafeRawPointer(sum).load(fromByteOffset: index, as: UInt8.self)
    }

    /// Compresses the block after the chaining value given, and puts the digest in its place.
    @inline(__always)
    private borrowing func compress(from start: UnsafePointer<UInt32>) {
        unsafe chain.update(from: start, count: Self.words)
        unsafe SHA256_Transform(state, block)
        for index in 0..<Self.words {
            unsafe block[index] = chain[index].bigEndian
        }
    }
}
