import Testing
import VaultFormat
import VaultTestSupport

/// A file of `TestVectors/vault`.
struct VectorFile {
    let root: JSONValue

    init(_ name: String) throws {
        root = try #require(Self.files[name], "no file \(name)").get()
    }

    /// All files, each read once.
    private static let files: [String: Result<JSONValue, any Error>] = {
        let names = [
            "keys.json", "envelope.json", "objects.json", "rules.json", "mime.json", "format_gate.json",
            "blob_envelopes.json", "extra.json",
        ]
        return Dictionary(
            uniqueKeysWithValues: names.map { name in (name, Result { try Vectors.json("vault/" + name) }) })
    }()

    /// The rows of a list; a number other than the one the file is known to have fails the test.
    func rows(_ member: String, count: Int) throws -> [JSONValue] {
        try root.rows(member, count: count)
    }
}

extension JSONValue {
    func rows(_ member: String, count: Int) throws -> [JSONValue] {
        let rows = try #require(self[name: member]?.items, "no list \(member)")
        try #require(rows.count == count, "\(member) has \(rows.count) rows")
        return rows
    }

    func string(_ member: String) throws -> String {
        try #require(self[name: member]?.text, "no text \(member)")
    }

    func flag(_ member: String) throws -> Bool {
        try #require(self[name: member]?.boolean as Bool?, "no boolean \(member)")
    }

    func integer(_ member: String) throws -> Int64 {
        try #require(self[name: member]?.int, "no integer \(member)")
    }

    func utf8(_ member: String) throws -> [UInt8] {
        Array(try string(member).utf8)
    }

    func hex(_ member: String) throws -> [UInt8] {
        try #require(hexDecoded(try utf8(member)), "\(member) is not hex")
    }

    func base64(_ member: String) throws -> [UInt8] {
        try #require(base64Decoded(try utf8(member)), "\(member) is not base64")
    }

    /// The members as a record, whatever their order: for comparisons.
    var sorted: JSONValue {
        switch self {
        case .array(let items): .array(items.map(\.sorted))
        case .object(let members):
            .object(JSONWriter.sorted(members).map { JSONMember(name: $0.name, value: $0.value.sorted) })
        default: self
        }
    }
}

/// The code of the error that `body` throws; nil when it throws none.
func failure(_ body: () throws -> Void) -> FormatError.Code? {
    do {
        try body()
        return nil
    } catch let error as FormatError {
        return error.code
    } catch {
        Issue.record("another error: \(error)")
        return nil
    }
}

/// The bytes of a text.
func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The text of some bytes, for messages and comparisons.
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

extension JSONValue: CustomTestStringConvertible {
    /// What a failed expectation shows.
    public var testDescription: String { JSONWriter.text(self, .compact) }
}
