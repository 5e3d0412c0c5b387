/// Writes JSON in the spellings that bytes depend on (02-objects §2).
package enum JSONWriter {
    /// How a document is spelled.
    package enum Style: Sendable {
        /// One line, `", "` and `": "`, ASCII only.
        case python
        /// Two-space indentation, ASCII only; empty lists and objects stay on one line.
        case pythonIndented2
        /// Members sorted by name, no white space, UTF-8.
        case canonical
        /// No white space, UTF-8, members as they stand.
        case compact

        fileprivate var isASCII: Bool { self == .python || self == .pythonIndented2 }
        fileprivate var colon: StaticString { isASCII ? ": " : ":" }
        fileprivate var comma: StaticString { self == .python ? ", " : "," }
    }

    /// The bytes of `value`, without a final newline.
    package static func bytes(_ value: JSONValue, _ style: Style) -> [UInt8] {
        var output: [UInt8] = []
        append(value, style, to: &output)
        return output
    }

    /// The text of `value`, without a final newline.
    package static func text(_ value: JSONValue, _ style: Style) -> String {
        String(decoding: bytes(value, style), as: UTF8.self)
    }

    /// Appends the bytes of `value`.
    package static func append(_ value: JSONValue, _ style: Style, to output: inout [UInt8]) {
        append(value, style, level: 0, to: &output)
    }

    private static func append(_ value: JSONValue, _ style: Style, level: Int, to output: inout [UInt8]) {
        switch value {
        case .null: output.append("null")
        case .bool(let flag): output.append(flag ? "true" : "false")
        case .integer(let number): output.append(contentsOf: String(number).utf8)
        case .number(let text): output.append(contentsOf: text.utf8)
        case .string(let text): append(text, ascii: style.isASCII, to: &output)
        case .array(let items):
            output.append(0x5B)
            for (index, item) in items.enumerated() {
                if index > 0 { output.append(style.comma) }
                newLine(style, level: level + 1, to: &output)
                append(item, style, level: level + 1, to: &output)
            }
            if !items.isEmpty { newLine(style, level: level, to: &output) }
            output.append(0x5D)
        case .object(let members):
            output.append(0x7B)
            for (index, member) in (style == .canonical ? sorted(members) : members).enumerated() {
                if index > 0 { output.append(style.comma) }
                newLine(style, level: level + 1, to: &output)
                append(member.name, ascii: style.isASCII, to: &output)
                output.append(style.colon)
                append(member.value, style, level: level + 1, to: &output)
            }
            if !members.isEmpty { newLine(style, level: level, to: &output) }
            output.append(0x7D)
        }
    }

    private static func newLine(_ style: Style, level: Int, to output: inout [UInt8]) {
        guard style == .pythonIndented2 else { return }
        output.append(0x0A)
        output.append(contentsOf: repeatElement(0x20, count: 2 * level))
    }

    /// Members in the order of their names' code points, which is the order of their UTF-8.
    package static func sorted(_ members: [JSONMember]) -> [JSONMember] {
        members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Appends a string with its quotes.
    package static func append(_ text: String, ascii: Bool, to output: inout [UInt8]) {
        output.append(0x22)
        for scalar in text.unicodeScalars {
            let value = scalar.value
            switch value {
            case 0x22: output.append("\\\"")
            case 0x5C: output.append("\\\\")
            case 0x08: output.append("\\b")
            case 0x09: output.append("\\t")
            case 0x0A: output.append("\\n")
            case 0x0C: output.append("\\f")
            case 0x0D: output.append("\\r")
            case 0x20..<0x7F: output.append(UInt8(truncatingIfNeeded: value))
            case ..<0x20: appendEscape(value, to: &output)
            default:
                if !ascii {
                    UTF8Text.append(value, to: &output)
                } else if value < 0x10000 {
                    appendEscape(value, to: &output)
                } else {
                    appendEscape(0xD800 + ((value - 0x10000) >> 10), to: &output)
                    appendEscape(0xDC00 + ((value - 0x10000) & 0x3FF), to: &output)
                }
            }
        }
        output.append(0x22)
    }

    private static func appendEscape(_ unit: UInt32, to output: inout [UInt8]) {
        output.append("\\u")
        for shift in [12, 8, 4, 0] as [UInt32] {
            output.append(Hex.digit(UInt8(truncatingIfNeeded: unit >> shift & 15)))
        }
    }
}

extension [UInt8] {
    /// Appends the bytes of a literal.
    package mutating func append(_ literal: StaticString) {
        append(contentsOf: literal.description.utf8)
    }
}
