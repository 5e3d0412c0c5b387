/// The DER forms of RSA keys that are accepted and written (08-pki §2, RFC 8017 §A.1, RFC 5208 §5).
enum RSAEncoding {
    /// The smallest and largest modulus in bits: below, nothing is encrypted to; above, OpenSSL refuses to compute.
    static let modulusBits = 2048...16384
    /// The most bytes of a public exponent; OpenSSL takes no longer one with a modulus above 3072 bits.
    static let maximumExponentCount = 8

    /// `SEQUENCE { rsaEncryption, NULL }`.
    private static let algorithm: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    /// Version 0: of PKCS#8, and of an RSAPrivateKey with two primes.
    private static let version: [UInt8] = [0x02, 0x01, 0x00]
    private static let numberCount = 8

    /// Where the numbers of a private key lie in its PKCS#8 structure, without sign bytes.
    struct PrivateRanges {
        let modulus: Range<Int>
        let publicExponent: Range<Int>
        let privateExponent: Range<Int>
        let firstPrime: Range<Int>
        let secondPrime: Range<Int>
        let firstExponent: Range<Int>
        let secondExponent: Range<Int>
        let coefficient: Range<Int>
    }

    /// SubjectPublicKeyInfo for two numbers without leading zero bytes.
    static func subjectPublicKeyInfo(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        let key = DERWriter.sequence(DERWriter.unsigned(modulus), DERWriter.unsigned(exponent))
        return DERWriter.sequence(algorithm, DERWriter.value(DERReader.Tag.bitString, [0] + key))
    }

    /// The numbers of a SubjectPublicKeyInfo.
    static func publicNumbers(
        inSubjectPublicKeyInfo bytes: Span<UInt8>
    ) throws(CryptoError) -> (modulus: [UInt8], exponent: [UInt8]) {
        var outer = DERReader(bytes)
        var info = try outer.nested(DERReader.Tag.sequence, bytes)
        try outer.finish()
        try expectAlgorithm(&info, bytes)
        let bits = try info.content(DERReader.Tag.bitString, bytes)
        try info.finish()
        // The first byte counts unused bits of the last one, and there are none.
        guard let first = bits.first, bytes[first] == 0 else { throw CryptoError(.invalidKey) }
        var inner = DERReader(bits.dropFirst())
        var key = try inner.nested(DERReader.Tag.sequence, bytes)
        try inner.finish()
        let (modulus, exponent) = (try key.unsigned(bytes), try key.unsigned(bytes))
        try key.finish()
        try check(modulus: bytes.extracting(modulus), exponent: bytes.extracting(exponent))
        return ([UInt8](copying: bytes.extracting(modulus)), [UInt8](copying: bytes.extracting(exponent)))
    }

    /// Where the numbers of a PKCS#8 structure lie; whether they belong together is not looked at.
    static func privateRanges(inPKCS8 bytes: Span<UInt8>) throws(CryptoError) -> PrivateRanges {
        var outer = DERReader(bytes)
        var info = try outer.nested(DERReader.Tag.sequence, bytes)
        try outer.finish()
        guard try info.number(bytes) == 0 else { throw CryptoError(.invalidKey) }
        try expectAlgorithm(&info, bytes)
        let octets = try info.content(DERReader.Tag.octetString, bytes)
        try info.finish()
        var inner = DERReader(octets)
        var key = try inner.nested(DERReader.Tag.sequence, bytes)
        try inner.finish()
        guard try key.number(bytes) == 0 else { throw CryptoError(.invalidKey) }
        var ranges: [Range<Int>] = []
        for _ in 0..<numberCount {
            ranges.append(try key.unsigned(bytes))
        }
        try key.finish()
        try check(modulus: bytes.extracting(ranges[0]), exponent: bytes.extracting(ranges[1]))
        // None of the numbers is longer than the modulus, so the work on them is bounded by its size.
        guard ranges.allSatisfy({ $0.count <= ranges[0].count }) else { throw CryptoError(.invalidKey) }
        return PrivateRanges(
            modulus: ranges[0], publicExponent: ranges[1], privateExponent: ranges[2], firstPrime: ranges[3],
            secondPrime: ranges[4], firstExponent: ranges[5], secondExponent: ranges[6], coefficient: ranges[7])
    }

    /// PKCS#8 around an RSAPrivateKey structure, which is not looked at.
    static func pkcs8(rsaPrivateKey bytes: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        let octets = DERWriter.head(DERReader.Tag.octetString, count: bytes.count)
        let count = version.count + algorithm.count + octets.count + bytes.count
        let head = DERWriter.head(DERReader.Tag.sequence, count: count) + version + algorithm + octets
        return try DERWriter.secret(head, bytes)
    }

    private static func expectAlgorithm(_ reader: inout DERReader, _ bytes: Span<UInt8>) throws(CryptoError) {
        var found = try reader.nested(DERReader.Tag.sequence, bytes)
        let expected = algorithm[4..<algorithm.count - 2]
        guard try found.objectID(bytes).elementsEqual(expected) else { throw CryptoError(.invalidKey) }
        try found.null(bytes)
        try found.finish()
    }

    /// Refuses sizes out of range, an even modulus, and a public exponent that is even or below 3.
    private static func check(modulus: Span<UInt8>, exponent: Span<UInt8>) throws(CryptoError) {
        let bits = modulus.count * 8 - modulus[0].leadingZeroBitCount
        let isSmall = exponent.count == 1 && exponent[0] < 3
        guard modulusBits.contains(bits), modulus[modulus.count - 1] & 1 == 1,
            exponent.count <= maximumExponentCount, exponent[exponent.count - 1] & 1 == 1, !isSmall
        else { throw CryptoError(.invalidKey) }
    }
}
