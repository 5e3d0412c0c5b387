/// How the reference reads the members of its records: what it forgives, what makes the record unreadable.
enum SchemaText {
    /// A text member: absent and `null` are nil, a number is taken as its digits, white space at the ends is dropped.
    static func text(_ value: JSONValue?, limit: Int, what: StaticString) throws(FormatError) -> String? {
        let text: String
        switch value {
        case nil, .null: return nil
        case .string(let value): text = UTF8Text.trimmed(value)
        case .integer(let value): text = String(value)
        default: throw .malformed("\(what) is not a text")
        }
        guard text.unicodeScalars.count <= limit else { throw .limit("\(what) is too long") }
        return text
    }

    /// A text member whose characters are all allowed by `isAllowed`; the empty text passes.
    static func text(
        _ value: JSONValue?, limit: Int, what: StaticString, _ isAllowed: (UInt8) -> Bool
    ) throws(FormatError) -> String? {
        guard let text = try text(value, limit: limit, what: what) else { return nil }
        guard text.utf8.allSatisfy(isAllowed) else { throw .malformed("\(what) has characters it may not have") }
        return text
    }

    /// A whole number from 0 to `maximum`, as a number or as decimal text.
    static func count(
        _ value: JSONValue?, maximum: Int64, what: StaticString
    ) throws(FormatError) -> Int64? {
        let number: Int64
        switch value {
        case nil, .null: return nil
        case .integer(let value): number = value
        case .string(let text):
            guard let value = decimal(text) else { throw .malformed("\(what) is not a whole number") }
            number = value
        default: throw .malformed("\(what) is not a whole number")
        }
        guard (0...maximum).contains(number) else { throw .malformed("\(what) is out of range") }
        return number
    }

    /// The number that decimal digits with an optional sign spell.
    static func decimal(_ text: String) -> Int64? {
        let text = UTF8Text.trimmed(text)
        guard (1...32).contains(text.utf8.count) else { return nil }
        return Int64(text)
    }

    /// The `schema` member: a name in lower case and a version number, or nothing.
    static func schema(_ value: JSONValue?) throws(FormatError) -> String? {
        guard let stored = try text(value, limit: 256, what: "schema"), !stored.isEmpty else { return nil }
        let text = UTF8Text.normalisedIdentifier(stored)
        let digits = text.utf8.reversed().prefix { (0x30...0x39).contains($0) }.count
        let name = text.utf8.dropLast(digits)
        guard digits > 0, name.count > 2, name.suffix(2).elementsEqual("_v".utf8),
            name.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x5F })
        else { throw .malformed("schema is not a name and a version") }
        return text
    }

    /// A list member: absent, `null` and other empty values are the empty list.
    static func list(_ value: JSONValue?, what: StaticString) throws(FormatError) -> [JSONValue] {
        switch value {
        case nil, .null: return []
        case .array(let items): return items
        case .object(let members) where members.isEmpty: return []
        case .string(let text) where text.isEmpty: return []
        default: throw .malformed("\(what) is not a list")
        }
    }

    static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F, 0x3D: true
        default: false
        }
    }

    static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
        default: false
        }
    }
}
