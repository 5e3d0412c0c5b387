/// Base64 with the standard alphabet, padded and without line breaks.
package enum Base64 {
    /// The characters for `bytes` as ASCII.
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(encodedCount(bytes.count))
        append(bytes, to: &result)
        return result
    }

    /// The characters for `bytes` as text.
    package static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: encode(bytes), as: UTF8.self)
    }

    /// Appends the characters for `bytes`.
    package static func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        var index = 0
        while index + 2 < bytes.count {
            let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2])
            output.append(character(group >> 18))
            output.append(character(group >> 12))
            output.append(character(group >> 6))
            output.append(character(group))
            index += 3
        }
        switch bytes.count - index {
        case 1:
            let group = UInt32(bytes[index]) << 16
            output.append(character(group >> 18))
            output.append(character(group >> 12))
            output.append(0x3D)
            output.append(0x3D)
        case 2:
            let group = UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
            output.append(character(group >> 18))
            output.append(character(group >> 12))
            output.append(character(group >> 6))
            output.append(0x3D)
        default: break
        }
    }

    /// Characters needed for `count` bytes.
    package static func encodedCount(_ count: Int) -> Int {
        (count + 2) / 3 * 4
    }

    /// The bytes that `text` spells; nil unless it is exactly what `encode` writes.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(text.count / 4 * 3)
        return decode(text, into: &result) ? result : nil
    }

    /// Replaces `output` by the bytes that `text` spells, keeping its storage; false when it is not base64.
    package static func decode(_ text: Span<UInt8>, into output: inout [UInt8]) -> Bool {
        output.removeAll(keepingCapacity: true)
        guard text.count % 4 == 0 else { return false }
        if text.isEmpty { return true }
        var padding = 0
        if text[text.count - 1] == 0x3D { padding = text[text.count - 2] == 0x3D ? 2 : 1 }
        let body = text.count - (padding == 0 ? 0 : 4)
        var index = 0
        while index < body {
            let first = table[Int(text[index])]
            let second = table[Int(text[index + 1])]
            let third = table[Int(text[index + 2])]
            let fourth = table[Int(text[index + 3])]
            guard (first | second | third | fourth) & 0x80 == 0 else { return false }
            let group = UInt32(first) << 18 | UInt32(second) << 12 | UInt32(third) << 6 | UInt32(fourth)
            output.append(UInt8(truncatingIfNeeded: group >> 16))
            output.append(UInt8(truncatingIfNeeded: group >> 8))
            output.append(UInt8(truncatingIfNeeded: group))
            index += 4
        }
        guard padding > 0 else { return true }
        let first = table[Int(text[index])]
        let second = table[Int(text[index + 1])]
        guard (first | second) & 0x80 == 0 else { return false }
        if padding == 2 {
            guard second & 0x0F == 0 else { return false }
            output.append(first << 2 | second >> 4)
        } else {
            let third = table[Int(text[index + 2])]
            guard third & 0x80 == 0, third & 0x03 == 0 else { return false }
            output.append(first << 2 | second >> 4)
            output.append(second << 4 | third >> 2)
        }
        return true
    }

    private static func character(_ bits: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: bits & 63)
        switch value {
        case 0..<26: return 0x41 + value
        case 26..<52: return 0x47 + value
        case 52..<62: return value - 4
        case 62: return 0x2B
        default: return 0x2F
        }
    }

    /// The value of every byte; 0x80 for those outside the alphabet.
    private static let table: [UInt8] = {
        var table = [UInt8](repeating: 0x80, count: 256)
        for value in 0..<64 {
            table[Int(character(UInt32(value)))] = UInt8(value)
        }
        return table
    }()
}
