/// The two forms of an ECDSA signature over P-256: r ‖ s with 32 bytes each, as the formats here store it, and the DER
/// structure that OpenSSL works with.
package enum ECDSASignature {
    /// The length of the raw form.
    package static let rawCount = 64
    private static let half = P256Encoding.scalarCount
    private static let sequenceTag: UInt8 = 0x30
    private static let integerTag: UInt8 = 0x02

    /// DER for a raw signature; nil unless it has 64 bytes and both numbers are above zero and below n.
    package static func der(raw: Span<UInt8>) -> [UInt8]? {
        guard raw.count == rawCount else { return nil }
        let (r, s) = (raw.extracting(first: half), raw.extracting(last: half))
        guard P256Encoding.isInRange(r), P256Encoding.isInRange(s) else { return nil }
        // No more than 2 + 33 bytes each, so every length fits in one byte.
        var der: [UInt8] = [sequenceTag, 0]
        der.reserveCapacity(2 + 2 * (2 + half + 1))
        append(r, to: &der)
        append(s, to: &der)
        der[1] = UInt8(der.count - 2)
        return der
    }

    /// The raw form of a DER signature; nil unless it is the one DER encoding of two numbers below 2^256.
    package static func raw(der: Span<UInt8>) -> [UInt8]? {
        guard der.count >= 2, der[0] == sequenceTag, der[1] < 0x80, Int(der[1]) == der.count - 2 else { return nil }
        var raw = [UInt8](repeating: 0, count: rawCount)
        var offset = 2
        for end in [half, rawCount] {
            guard offset + 2 <= der.count, der[offset] == integerTag else { return nil }
            let count = Int(der[offset + 1])
            offset += 2
            guard count >= 1, count <= half + 1, offset + count <= der.count else { return nil }
            var number = der.extracting(offset..<offset + count)
            offset += count
            // Neither negative, nor a zero byte more or less than the sign needs.
            guard number[0] < 0x80 else { return nil }
            if count > 1, number[0] == 0 {
                guard number[1] >= 0x80 else { return nil }
                number = number.extracting(droppingFirst: 1)
            }
            guard number.count <= half else { return nil }
            for index in number.indices {
                raw[end - number.count + index] = number[index]
            }
        }
        return offset == der.count ? raw : nil
    }

    /// Appends one number as a DER INTEGER: no leading zero byte but the one that keeps it from being negative.
    private static func append(_ number: Span<UInt8>, to der: inout [UInt8]) {
        var first = 0
        while first < number.count - 1, number[first] == 0 { first += 1 }
        let needsZero = number[first] >= 0x80
        der.append(integerTag)
        der.append(UInt8(number.count - first + (needsZero ? 1 : 0)))
        if needsZero { der.append(0) }
        for index in first..<number.count { der.append(number[index]) }
    }
}
