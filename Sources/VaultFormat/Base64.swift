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
        var place = output.count
        // Room for all of it at once, of what the end is padded with.
        output.append(contentsOf: repeatElement(0x3D, count: encodedCount(bytes.count)))
        let held = pairs
        let pairs = held.span
        var target = output.mutableSpan
        var index = 0
        let whole = bytes.count / 3 * 3
        while index < whole {
            let group = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
            let (high, low) = (pairs[group >> 12], pairs[group & 0xFFF])
            target[place] = UInt8(truncatingIfNeeded: high >> 8)
            target[place + 1] = UInt8(truncatingIfNeeded: high)
            target[place + 2] = UInt8(truncatingIfNeeded: low >> 8)
            target[place + 3] = UInt8(truncatingIfNeeded: low)
            index += 3
            place += 4
        }
        guard whole < bytes.count else { return }
        let group = UInt32(bytes[whole]) << 16 | (whole + 1 < bytes.count ? UInt32(bytes[whole + 1]) << 8 : 0)
        target[place] = character(group >> 18)
        target[place + 1] = character(group >> 12)
        if whole + 1 < bytes.count { target[place + 2] = character(group >> 6) }
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
        output.append(contentsOf: repeatElement(0, count: body / 4 * 3))
        guard decode(text, count: body, into: output.mutableSpan) else { return false }
        let index = body
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

    /// Spells `count` characters, whole groups without padding; false when one is outside the alphabet.
    private static func decode(_ text: Span<UInt8>, count: Int, into target: consuming MutableSpan<UInt8>) -> Bool {
        let held = table
        let table = held.span
        var (index, place) = (0, 0)
        var seen: UInt8 = 0
        while index < count {
            let (first, second) = (table[Int(text[index])], table[Int(text[index + 1])])
            let (third, fourth) = (table[Int(text[index + 2])], table[Int(text[index + 3])])
            seen |= first | second | third | fourth
            target[place] = first << 2 | second >> 4
            target[place + 1] = second << 4 | third >> 2
            target[place + 2] = third << 6 | fourth
            index += 4
            place += 3
        }
        return seen & 0x80 == 0
    }

    /// The two characters for every 12 bits, the first in the upper half.
    private static let pairs: [UInt16] = (0..<4096).map { bits in
        UInt16(character(UInt32(bits) >> 6)) << 8 | UInt16(character(UInt32(bits)))
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
