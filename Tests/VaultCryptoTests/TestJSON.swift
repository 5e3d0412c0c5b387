/// A JSON value as the vector files hold it: just enough of a reader for files that are known to be well formed.
enum TestJSON: Sendable {
    case null
    case bool(Bool)
    case number(Int)
    case string(String)
    case array([TestJSON])
    case object([String: TestJSON])

    /// What went wrong: a place in the text, or the name of a member that is not there.
    enum Failure: Error {
        case malformed(offset: Int)
        case missing(String)
    }

    init(parsing text: [UInt8]) throws {
        var parser = Parser(text: text)
        self = try parser.value()
        guard parser.isAtEnd else { throw Failure.malformed(offset: parser.offset) }
    }

    func member(_ name: String) throws -> TestJSON {
        guard case .object(let members) = self, let value = members[name] else { throw Failure.missing(name) }
        return value
    }

    func has(_ name: String) -> Bool {
        (try? member(name)) != nil
    }

    func string(_ name: String) throws -> String {
        guard case .string(let value) = try member(name) else { throw Failure.missing(name) }
        return value
    }

    func int(_ name: String) throws -> Int {
        guard case .number(let value) = try member(name) else { throw Failure.missing(name) }
        return value
    }

    func bool(_ name: String) throws -> Bool {
        guard case .bool(let value) = try member(name) else { throw Failure.missing(name) }
        return value
    }

    func array(_ name: String) throws -> [TestJSON] {
        guard case .array(let value) = try member(name) else { throw Failure.missing(name) }
        return value
    }

    func bytes(hex name: String) throws -> [UInt8] {
        guard let bytes = [UInt8](hex: try string(name)) else { throw Failure.missing(name) }
        return bytes
    }
}

private struct Parser {
    let text: [UInt8]
    var offset = 0

    init(text: [UInt8]) {
        self.text = text
    }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return offset == text.count
        }
    }

    mutating func value() throws -> TestJSON {
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func object() throws -> [String: TestJSON] {
        var members: [String: TestJSON] = [:]
        try expect("{")
        while try peek() != UInt8(ascii: "}") {
            if !members.isEmpty { try expect(",") }
            _ = try peek()
            let name = try string()
            try expect(":")
            members[name] = try value()
        }
        try expect("}")
        return members
    }

    private mutating func array() throws -> [TestJSON] {
        var values: [TestJSON] = []
        try expect("[")
        while try peek() != UInt8(ascii: "]") {
            if !values.isEmpty { try expect(",") }
            values.append(try value())
        }
        try expect("]")
        return values
    }

    private mutating func string() throws -> String {
        try expect("\"")
        var units: [UInt8] = []
        while true {
            let byte = try next()
            switch byte {
            case UInt8(ascii: "\""):
                return String(decoding: units, as: UTF8.self)
            case UInt8(ascii: "\\"):
                let escape = try next()
                switch escape {
                case UInt8(ascii: "n"): units.append(0x0A)
                case UInt8(ascii: "r"): units.append(0x0D)
                case UInt8(ascii: "t"): units.append(0x09)
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): units.append(escape)
                case UInt8(ascii: "u"): units += Array(String(try codeUnit()).utf8)
                default: throw TestJSON.Failure.malformed(offset: offset)
                }
            default:
                units.append(byte)
            }
        }
    }

    /// The scalar of a `\u` escape; the files use none beyond the basic plane.
    private mutating func codeUnit() throws -> Character {
        var digits = ""
        for _ in 0..<4 { digits.append(Character(Unicode.Scalar(try next()))) }
        guard let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value) else {
            throw TestJSON.Failure.malformed(offset: offset)
        }
        return Character(scalar)
    }

    private mutating func number() throws -> Int {
        var digits = ""
        while offset < text.count, "-0123456789".utf8.contains(text[offset]) {
            digits.append(Character(Unicode.Scalar(try next())))
        }
        guard let value = Int(digits) else { throw TestJSON.Failure.malformed(offset: offset) }
        return value
    }

    private mutating func word(_ word: String, _ value: TestJSON) throws -> TestJSON {
        for byte in word.utf8 where try next() != byte { throw TestJSON.Failure.malformed(offset: offset) }
        return value
    }

    private mutating func expect(_ character: Character) throws {
        guard try peek() == character.asciiValue else { throw TestJSON.Failure.malformed(offset: offset) }
        offset += 1
    }

    /// The next byte that is not white space, left where it is.
    private mutating func peek() throws -> UInt8 {
        skipSpace()
        guard offset < text.count else { throw TestJSON.Failure.malformed(offset: offset) }
        return text[offset]
    }

    private mutating func next() throws -> UInt8 {
        guard offset < text.count else { throw TestJSON.Failure.malformed(offset: offset) }
        defer { offset += 1 }
        return text[offset]
    }

    private mutating func skipSpace() {
        while offset < text.count, " \n\r\t".utf8.contains(text[offset]) { offset += 1 }
    }
}
