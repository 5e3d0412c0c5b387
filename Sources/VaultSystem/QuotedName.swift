/// How names and paths are shown to a person (10-cli B.4).
package enum QuotedName {
    /// Printable UTF-8 as it is; otherwise the whole in double quotes, with C escapes for control characters, `"` and
    /// `\`, and octal for bytes that are no UTF-8 and for characters that would turn or break the line.
    package static func text(_ bytes: [UInt8]) -> String {
        var isPlain = true
        var quoted = ""
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            if let escape = shortEscape(byte) {
                isPlain = false
                quoted += escape
                position += 1
                continue
            }
            if byte >= 0x20, byte < 0x7F {
                quoted.unicodeScalars.append(Unicode.Scalar(byte))
                position += 1
                continue
            }
            if let (scalar, length) = scalar(in: bytes, at: position), !isHidden(scalar) {
                quoted.unicodeScalars.append(scalar)
                position += length
                continue
            }
            isPlain = false
            quoted += octal(byte)
            position += 1
        }
        return isPlain ? quoted : "\"\(quoted)\""
    }

    private static func shortEscape(_ byte: UInt8) -> String? {
        switch byte {
        case UInt8(ascii: "\""): "\\\""
        case UInt8(ascii: "\\"): "\\\\"
        case 0x07: "\\a"
        case 0x08: "\\b"
        case 0x09: "\\t"
        case 0x0A: "\\n"
        case 0x0B: "\\v"
        case 0x0C: "\\f"
        case 0x0D: "\\r"
        default: nil
        }
    }

    private static func octal(_ byte: UInt8) -> String {
        "\\" + [byte >> 6, byte >> 3 & 7, byte & 7].map { String($0) }.joined()
    }

    /// The character that starts at a byte above ASCII, when it is well-formed.
    private static func scalar(in bytes: [UInt8], at position: Int) -> (Unicode.Scalar, Int)? {
        let length: Int
        switch bytes[position] {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF: length = 3
        case 0xF0...0xF4: length = 4
        default: return nil
        }
        guard position + length <= bytes.count else { return nil }
        let part = bytes[position..<position + length]
        guard let text = String(validating: part, as: UTF8.self), let scalar = text.unicodeScalars.first,
            text.unicodeScalars.count == 1
        else { return nil }
        return (scalar, length)
    }

    /// Control, line-breaking and direction-changing characters, which could forge what a terminal shows.
    private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}
