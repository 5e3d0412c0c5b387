/// How paths are shown to people: as they are, or in double quotes with C's escapes (10-cli B.4).
package enum PathQuoting {
    /// `bytes` as one line of text that cannot be mistaken for anything else.
    package static func text(_ bytes: [UInt8]) -> String {
        guard needsQuotes(bytes.span) else { return String(decoding: bytes, as: UTF8.self) }
        var output: [UInt8] = [0x22]
        var index = 0
        while index < bytes.count {
            if let (scalar, length) = UTF8Text.decode(bytes.span, at: index), !isSpecial(scalar) {
                output.append(contentsOf: bytes[index..<(index + length)])
                index += length
            } else {
                appendEscape(bytes[index], to: &output)
                index += 1
            }
        }
        output.append(0x22)
        return String(decoding: output, as: UTF8.self)
    }

    private static func needsQuotes(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count {
            guard let (scalar, length) = UTF8Text.decode(bytes, at: index), !isSpecial(scalar) else { return true }
            index += length
        }
        return false
    }

    /// Control characters of both ranges, line and paragraph separators, the quote and the backslash.
    private static func isSpecial(_ scalar: UInt32) -> Bool {
        switch scalar {
        case ..<0x20, 0x7F...0x9F, 0x22, 0x5C, 0x2028, 0x2029: true
        default: false
        }
    }

    private static func appendEscape(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(0x5C)
        switch byte {
        case 0x07: output.append(0x61)
        case 0x08: output.append(0x62)
        case 0x09: output.append(0x74)
        case 0x0A: output.append(0x6E)
        case 0x0B: output.append(0x76)
        case 0x0C: output.append(0x66)
        case 0x0D: output.append(0x72)
        case 0x22, 0x5C: output.append(byte)
        default:
            output.append(0x30 + (byte >> 6))
            output.append(0x30 + (byte >> 3 & 7))
            output.append(0x30 + (byte & 7))
        }
    }
}
