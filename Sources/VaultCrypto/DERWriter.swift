/// The distinguished encoding (X.690 §10) of values that are no secret, each in its one form.
///
/// Private keys are never put together here: their encodings are copied in one piece behind a head of this making, in
/// memory of ``SecretBytes``.
enum DERWriter {
    /// Tag and length of a value of `count` bytes.
    static func head(_ tag: UInt8, count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [tag, UInt8(count)] }
        var length: [UInt8] = []
        var rest = count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length
    }

    /// A value with its content.
    static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        head(tag, count: content.count) + content
    }

    /// A sequence of values.
    static func sequence(_ parts: [UInt8]...) -> [UInt8] {
        value(DERReader.Tag.sequence, Array(parts.joined()))
    }

    /// A number that is not negative, given without leading zero bytes; the sign gets one where it needs it.
    static func unsigned(_ magnitude: [UInt8]) -> [UInt8] {
        let isPadded = magnitude.first.map { $0 >= 0x80 } ?? true
        return value(DERReader.Tag.integer, (isPadded ? [0] : []) + magnitude)
    }

    /// A number that is not negative.
    static func number(_ number: Int) -> [UInt8] {
        var magnitude: [UInt8] = []
        var rest = number
        while rest > 0 {
            magnitude.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return unsigned(magnitude)
    }

    /// A secret value behind a public head, in memory for secrets.
    static func secret(_ head: [UInt8], _ content: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        try SecretBytes(count: head.count + content.count) { output throws(CryptoError) in
            for index in head.indices { output[index] = head[index] }
            for index in content.indices { output[head.count + index] = content[index] }
        }
    }
}
