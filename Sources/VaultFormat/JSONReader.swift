/// Reads JSON as Python's `json.loads` does: RFC 8259 plus `NaN` and `Infinity`, one value, any of the four white spaces.
///
/// Bytes must be UTF-8. A `\u` escape of half a surrogate pair, which Python keeps, becomes U+FFFD. Of several members
/// with one name the last value stands, at the place of the first. Nesting, values and digits are bounded.
package struct JSONReader {
    /// The bounds of one reading.
    package struct Bounds: Sendable {
        package var depth: Int
        package var values: Int
        /// Whether an object may have two members of one name.
        package var takesRepeats: Bool

        package init(
            depth: Int = Limits.jsonDepth, values: Int = Limits.jsonValues, takesRepeats: Bool = true
        ) {
            self.depth = depth
            self.values = values
            self.takesRepeats = takesRepeats
        }
    }

    private var position = 0
    private var valuesLeft: Int
    private let maximumDepth: Int
    private let takesRepeats: Bool

    private init(bounds: Bounds) {
        valuesLeft = bounds.values
        maximumDepth = bounds.depth
        takesRepeats = bounds.takesRepeats
    }

    /// The value that `input` spells, all of it.
    package static func parse(_ input: Span<UInt8>, bounds: Bounds = Bounds()) throws(FormatError) -> JSONValue {
        var reader = JSONReader(bounds: bounds)
        let value = try reader.value(input, depth: 0)
        reader.skipSpace(input)
        guard reader.position == input.count else { throw .malformed("JSON: more after the end of the value") }
        return value
    }

    private mutating func skipSpace(_ input: Span<UInt8>) {
        while position < input.count {
            switch input[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    private func peek(_ input: Span<UInt8>) throws(FormatError) -> UInt8 {
        guard position < input.count else { throw .malformed("JSON ends too early") }
        return input[position]
    }

    private mutating func value(_ input: Span<UInt8>, depth: Int) throws(FormatError) -> JSONValue {
        valuesLeft -= 1
        guard valuesLeft >= 0 else { throw .limit("JSON: too many values") }
        skipSpace(input)
        switch try peek(input) {
        case 0x22: return .string(try string(input))
        case 0x7B:
            guard depth < maximumDepth else { throw .limit("JSON: nested too deeply") }
            return try object(input, depth: depth + 1)
        case 0x5B:
            guard depth < maximumDepth else { throw .limit("JSON: nested too deeply") }
            return try array(input, depth: depth + 1)
        case 0x74:
            try literal("true", input)
            return .bool(true)
        case 0x66:
            try literal("false", input)
            return .bool(false)
        case 0x6E:
            try literal("null", input)
            return .null
        case 0x4E:
            try literal("NaN", input)
            return .number("NaN")
        case 0x49:
            try literal("Infinity", input)
            return .number("Infinity")
        default: return try number(input)
        }
    }

    private mutating func literal(_ word: StaticString, _ input: Span<UInt8>) throws(FormatError) {
        for byte in word.description.utf8 {
            guard position < input.count, input[position] == byte else { throw .malformed("JSON: unknown word") }
            position += 1
        }
    }

    private mutating func array(_ input: Span<UInt8>, depth: Int) throws(FormatError) -> JSONValue {
        position += 1
        var items: [JSONValue] = []
        skipSpace(input)
        if try peek(input) == 0x5D {
            position += 1
            return .array(items)
        }
        while true {
            items.append(try value(input, depth: depth))
            skipSpace(input)
            switch try peek(input) {
            case 0x2C: position += 1
            case 0x5D:
                position += 1
                return .array(items)
            default: throw .malformed("JSON: ',' or ']' expected")
            }
        }
    }

    private mutating func object(_ input: Span<UInt8>, depth: Int) throws(FormatError) -> JSONValue {
        position += 1
        var members = MemberList()
        skipSpace(input)
        if try peek(input) == 0x7D {
            position += 1
            return .object([])
        }
        while true {
            skipSpace(input)
            guard try peek(input) == 0x22 else { throw .malformed("JSON: member name expected") }
            let name = try string(input)
            skipSpace(input)
            guard try peek(input) == 0x3A else { throw .malformed("JSON: ':' expected") }
            position += 1
            let isNew = members.set(name, to: try value(input, depth: depth))
            guard isNew || takesRepeats else { throw .malformed("JSON: two members of one name") }
            skipSpace(input)
            switch try peek(input) {
            case 0x2C: position += 1
            case 0x7D:
                position += 1
                return .object(members.members)
            default: throw .malformed("JSON: ',' or '}' expected")
            }
        }
    }

    private mutating func string(_ input: Span<UInt8>) throws(FormatError) -> String {
        position += 1
        let start = position
        while position < input.count, input[position] != 0x22, input[position] != 0x5C {
            guard input[position] >= 0x20 else { throw .malformed("JSON: control character in a string") }
            position += 1
        }
        let byte = try peek(input)
        if byte == 0x22 {
            let text = try Self.text(input.extracting(start..<position))
            position += 1
            return text
        }
        var bytes: [UInt8] = []
        for index in start..<position { bytes.append(input[index]) }
        while true {
            let byte = try peek(input)
            switch byte {
            case 0x22:
                position += 1
                return try Self.text(bytes.span)
            case 0x5C:
                position += 1
                try escape(input, into: &bytes)
            case ..<0x20: throw .malformed("JSON: control character in a string")
            default:
                bytes.append(byte)
                position += 1
            }
        }
    }

    private static func text(_ bytes: Span<UInt8>) throws(FormatError) -> String {
        guard let text = UTF8Text.validated(bytes) else { throw .malformed("JSON: not UTF-8") }
        return text
    }

    private mutating func escape(_ input: Span<UInt8>, into bytes: inout [UInt8]) throws(FormatError) {
        let byte = try peek(input)
        position += 1
        switch byte {
        case 0x22, 0x5C, 0x2F: bytes.append(byte)
        case 0x62: bytes.append(0x08)
        case 0x66: bytes.append(0x0C)
        case 0x6E: bytes.append(0x0A)
        case 0x72: bytes.append(0x0D)
        case 0x74: bytes.append(0x09)
        case 0x75:
            let first = try hexQuad(input)
            guard (0xD800..<0xDC00).contains(first), position + 1 < input.count,
                input[position] == 0x5C, input[position + 1] == 0x75
            else {
                UTF8Text.append(first, to: &bytes)
                return
            }
            let resume = position
            position += 2
            let second = try hexQuad(input)
            guard (0xDC00..<0xE000).contains(second) else {
                position = resume
                UTF8Text.append(first, to: &bytes)
                return
            }
            UTF8Text.append(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), to: &bytes)
        default: throw .malformed("JSON: unknown escape")
        }
    }

    private mutating func hexQuad(_ input: Span<UInt8>) throws(FormatError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Hex.value(try peek(input)) else { throw .malformed("JSON: four hex digits expected") }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func number(_ input: Span<UInt8>) throws(FormatError) -> JSONValue {
        let start = position
        let negative = try peek(input) == 0x2D
        if negative { position += 1 }
        let first = try peek(input)
        if negative, first == 0x49 {
            try literal("Infinity", input)
            return .number("-Infinity")
        }
        guard (0x30...0x39).contains(first) else { throw .malformed("JSON: value expected") }
        var magnitude: UInt64 = 0
        var fits = true
        while position < input.count, (0x30...0x39).contains(input[position]) {
            let digit = UInt64(input[position] - 0x30)
            let (product, overflowed) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(digit)
            if overflowed || carried { fits = false }
            magnitude = sum
            position += 1
            if first == 0x30 { break }
        }
        let integral = !(try fraction(input))
        guard position - start <= Limits.jsonNumberLength else { throw .limit("JSON: number too long") }
        if integral, fits {
            if !negative, magnitude <= UInt64(Int64.max) { return .integer(Int64(magnitude)) }
            if negative, magnitude <= UInt64(Int64.max) { return .integer(-Int64(magnitude)) }
            if negative, magnitude == UInt64(Int64.max) + 1 { return .integer(Int64.min) }
        }
        return .number(try Self.text(input.extracting(start..<position)))
    }

    /// Steps over a fraction and an exponent, if they follow; whether one did.
    private mutating func fraction(_ input: Span<UInt8>) throws(FormatError) -> Bool {
        var found = false
        if position + 1 < input.count, input[position] == 0x2E, (0x30...0x39).contains(input[position + 1]) {
            position += 1
            skipDigits(input)
            found = true
        }
        guard position < input.count, input[position] | 0x20 == 0x65 else { return found }
        let resume = position
        position += 1
        if position < input.count, input[position] == 0x2B || input[position] == 0x2D { position += 1 }
        guard position < input.count, (0x30...0x39).contains(input[position]) else {
            position = resume
            return found
        }
        skipDigits(input)
        return true
    }

    private mutating func skipDigits(_ input: Span<UInt8>) {
        while position < input.count, (0x30...0x39).contains(input[position]) { position += 1 }
    }
}

/// Members of an object under construction: a later value replaces an earlier one of the same name in its place.
private struct MemberList {
    private(set) var members: [JSONMember] = []
    private var places: [[UInt8]: Int] = [:]

    /// Whether the name is a new one.
    mutating func set(_ name: String, to value: JSONValue) -> Bool {
        if let place = place(of: name) {
            members[place].value = value
            return false
        }
        members.append(JSONMember(name: name, value: value))
        if members.count == Self.indexedFrom {
            for (place, member) in members.enumerated() { places[Array(member.name.utf8)] = place }
        } else if members.count > Self.indexedFrom {
            places[Array(name.utf8)] = members.count - 1
        }
        return true
    }

    private func place(of name: String) -> Int? {
        if members.count >= Self.indexedFrom { return places[Array(name.utf8)] }
        return members.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// From this many members on a table is kept, so that looking for an earlier one does not take quadratic time.
    private static let indexedFrom = 17
}
