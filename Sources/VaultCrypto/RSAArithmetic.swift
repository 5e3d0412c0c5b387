import COpenSSL

/// What the numbers of an RSA private key must have to do with each other, and the handle made of them.
enum RSAArithmetic {
    /// Throws `invalidKey` unless n = p·q, all exponents are the inverses they claim to be, and so is the coefficient.
    ///
    /// OpenSSL's readers check none of it, and a wrong number can give a private key away in its first use. Whether p
    /// and q are primes is not looked at.
    static func check(_ ranges: RSAEncoding.PrivateRanges, _ bytes: Span<UInt8>) throws(CryptoError) {
        let work = try Numbers()
        let (n, e) = (try unsafe work.load(ranges.modulus, bytes), try unsafe work.load(ranges.publicExponent, bytes))
        let d = try unsafe work.load(ranges.privateExponent, bytes)
        let (p, q) = (try unsafe work.load(ranges.firstPrime, bytes), try unsafe work.load(ranges.secondPrime, bytes))
        let dP = try unsafe work.load(ranges.firstExponent, bytes)
        let dQ = try unsafe work.load(ranges.secondExponent, bytes)
        let coefficient = try unsafe work.load(ranges.coefficient, bytes)
        let result = try unsafe work.new()

        // unsafe: all numbers belong to `work`, which lives to the end of this function.
        guard unsafe BN_is_odd(p) == 1, unsafe BN_is_odd(q) == 1, unsafe BN_is_one(p) != 1, unsafe BN_is_one(q) != 1,
            unsafe BN_cmp(d, n) < 0
        else { throw CryptoError(.invalidKey) }
        try unsafe OpenSSL.check(BN_mul(result, p, q, work.context))
        guard unsafe BN_cmp(result, n) == 0 else { throw CryptoError(.invalidKey) }

        try unsafe checkExponent(dP, prime: p, d: d, e: e, work)
        try unsafe checkExponent(dQ, prime: q, d: d, e: e, work)
        guard unsafe BN_cmp(coefficient, p) < 0 else { throw CryptoError(.invalidKey) }
        try unsafe OpenSSL.check(BN_mod_mul(result, coefficient, q, p, work.context))
        guard unsafe BN_is_one(result) == 1 else { throw CryptoError(.invalidKey) }
    }

    /// Throws `invalidKey` unless the exponent is d modulo one less than the prime, and the inverse of e there.
    private static func checkExponent(
        _ exponent: OpaquePointer, prime: OpaquePointer, d: OpaquePointer, e: OpaquePointer, _ work: Numbers
    ) throws(CryptoError) {
        let (result, less) = (try unsafe work.new(), try unsafe work.new())
        // unsafe: all numbers belong to `work`, which the caller holds.
        try unsafe OpenSSL.check(BN_sub(less, prime, BN_value_one()))
        try unsafe OpenSSL.check(BN_nnmod(result, d, less, work.context))
        guard unsafe BN_cmp(result, exponent) == 0 else { throw CryptoError(.invalidKey) }
        try unsafe OpenSSL.check(BN_mod_mul(result, exponent, e, less, work.context))
        guard unsafe BN_is_one(result) == 1 else { throw CryptoError(.invalidKey) }
    }

    /// OpenSSL's key of the numbers, for the caller to free.
    static func makeKey(
        _ ranges: RSAEncoding.PrivateRanges, _ bytes: Span<UInt8>
    ) throws(CryptoError) -> OpaquePointer {
        let names: [(StaticString, Range<Int>)] = [
            ("n", ranges.modulus), ("e", ranges.publicExponent), ("d", ranges.privateExponent),
            ("rsa-factor1", ranges.firstPrime), ("rsa-factor2", ranges.secondPrime),
            ("rsa-exponent1", ranges.firstExponent), ("rsa-exponent2", ranges.secondExponent),
            ("rsa-coefficient1", ranges.coefficient),
        ]
        // OpenSSL takes numbers in the byte order of the machine; the mirror image of the whole holds each of them so.
        let isLittleEndian = 1.littleEndian == 1
        let count = bytes.count
        let ordered = try SecretBytes(count: count) { output throws(CryptoError) in
            for index in bytes.indices { output[isLittleEndian ? count - 1 - index : index] = bytes[index] }
        }
        // unsafe: the parameters point into the secret, which lives through the call that copies from it.
        return try unsafe ordered.withBytes { ordered throws(CryptoError) in
            try unsafe ordered.withUnsafeBytes { ordered throws(CryptoError) in
                var parts = unsafe [OSSL_PARAM]()
                for (name, range) in names {
                    let place = isLittleEndian ? count - range.upperBound..<count - range.lowerBound : range
                    unsafe parts.append(
                        KeyParameters.parameter(
                            name, OSSL_PARAM_UNSIGNED_INTEGER, UnsafeRawBufferPointer(rebasing: ordered[place])))
                }
                return try unsafe KeyParameters.makeKey("RSA", COPENSSL_SELECT_KEY_PAIR, parts)
            }
        }
    }

    /// OpenSSL's numbers, all cleared and freed together.
    @safe
    private final class Numbers {
        let context: OpaquePointer
        private var made: [OpaquePointer] = unsafe []

        init() throws(CryptoError) {
            unsafe context = try OpenSSL.check(BN_CTX_secure_new(), or: .outOfMemory)
        }

        deinit {
            // unsafe: the numbers and the context of this object, freed here only.
            while let number = unsafe made.popLast() { unsafe BN_clear_free(number) }
            unsafe BN_CTX_free(context)
        }

        /// A number, zero at first.
        func new() throws(CryptoError) -> OpaquePointer {
            let number = try unsafe OpenSSL.check(BN_secure_new(), or: .outOfMemory)
            unsafe made.append(number)
            unsafe BN_set_flags(number, BN_FLG_CONSTTIME)
            return unsafe number
        }

        /// The number that lies in a part of the bytes.
        func load(_ range: Range<Int>, _ bytes: Span<UInt8>) throws(CryptoError) -> OpaquePointer {
            let number = try unsafe new()
            let filled = unsafe bytes.extracting(range).withUnsafeBufferPointer { source in
                unsafe BN_bin2bn(source.baseAddress, Int32(source.count), number)
            }
            _ = try unsafe OpenSSL.check(filled, or: .outOfMemory)
            return unsafe number
        }
    }
}
