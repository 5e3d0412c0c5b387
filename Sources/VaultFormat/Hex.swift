/// Hexadecimal text, always lower case when written.
package enum Hex {
    /// The digits as ASCII bytes.
    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count * 2)
        for index in bytes.indices {
            result.append(digit(bytes[index] >> 4))
            result.append(digit(bytes[index] & 15))
        }
        return result
    }

    /// The digits as text.
    package static func text(_ bytes: Span<UInt8>) -> String {
        String(decoding: encode(bytes), as: UTF8.self)
    }

    /// The bytes that `text` spells in either case; nil when it is not an even number of digits.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard text.count % 2 == 0 else { return nil }
        var result: [UInt8] = []
        result.reserveCapacity(text.count / 2)
        var index = 0
        while index < text.count {
            guard let high = value(text[index]), let low = value(text[index + 1]) else { return nil }
            result.append(high << 4 | low)
            index += 2
        }
        return result
    }

    /// The ASCII digit for a value below 16.
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x57 + (value & 15)
    }

    /// The value of an ASCII digit in either case.
    package static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x61...0x66: character - 0x57
        case 0x41...0x46: character - 0x37
        default: nil
        }
    }

    /// The value of an ASCII digit in lower case.
    package static func lowerValue(_ character: UInt8) -> UInt8? {
        switch character {
        case 0x30...0x39: character - 0x30
        case 0x61...0x66: character - 0x57
        default: nil
        }
    }

    /// Whether every byte is a lower-case digit.
    package static func isLower(_ text: Span<UInt8>) -> Bool {
        for index in text.indices where lowerValue(text[index]) == nil { return false }
        return true
    }
}
