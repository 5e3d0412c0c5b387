import Testing
import VaultFormat
import VaultTestSupport

@Suite("JSON")
struct JSONTests {
    @Test("documents are spelled as Python spells them, in all four styles")
    func spellings() throws {
        for row in try VectorFile("extra.json").rows("json", count: 120) {
            let python = try row.string("python")
            let value = try parseJSON(utf8(python))
            #expect(JSONWriter.text(value, .python) == python)
            #expect(utf8(JSONWriter.text(value, .pythonIndented2)) == (try row.utf8("indented")))
            #expect(utf8(JSONWriter.text(value, .canonical)) == (try row.utf8("canonical")))
            #expect(utf8(JSONWriter.text(value, .compact)) == (try row.utf8("compact")))
            for style in ["indented", "compact"] { #expect(try parseJSON(try row.utf8(style)) == value) }
        }
    }

    @Test("texts are JSON exactly when Python says so, and mean the same")
    func texts() throws {
        for row in try VectorFile("extra.json").rows("json_texts", count: 57) {
            let stored = try row.utf8("text")
            guard try row.flag("accepted") else {
                #expect(failure { _ = try parseJSON(stored) } == .malformed, "\(row.testDescription)")
                continue
            }
            let value = try parseJSON(stored)
            // Numbers that are no 64-bit integers keep their own spelling here.
            if case .number(let text) = value {
                #expect(utf8(text) == stored.filter { $0 != 0x20 })
            } else {
                #expect(JSONWriter.text(value, .python) == (try row.string("again")))
            }
        }
    }

    @Test("half a surrogate pair becomes U+FFFD, invalid UTF-8 is refused")
    func surrogates() throws {
        #expect(try parseJSON(utf8("\"\\ud800\"")) == .string("\u{FFFD}"))
        #expect(try parseJSON(utf8("\"\\udc00x\\ud800\\u0041\"")) == .string("\u{FFFD}x\u{FFFD}A"))
        #expect(try parseJSON(utf8("\"\\ud800\\ud83d\\ude00\"")) == .string("\u{FFFD}😀"))
        for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] {
            #expect(failure { _ = try parseJSON([0x22] + bytes + [0x22]) } == .malformed)
        }
    }

    @Test("members keep their order; of two with one name the last value stands in the first place")
    func duplicates() throws {
        #expect(try JSONWriter.text(parseJSON(utf8("{\"b\":1,\"a\":2,\"b\":3}")), .compact) == "{\"b\":3,\"a\":2}")
        // Equal to the eye and to Swift's strings, but two names.
        let value = try parseJSON(utf8("{\"\u{E9}\":1,\"e\u{301}\":2}"))
        #expect(value.members?.count == 2)
        #expect(value[name: "\u{E9}"]?.int == 1)
        #expect(JSONValue.string("\u{E9}") != JSONValue.string("e\u{301}"))
        let many = (0..<500).map { "\"k\($0 % 100)\":\($0)" }.joined(separator: ",")
        let object = try parseJSON(utf8("{" + many + "}"))
        #expect(object.members?.count == 100)
        #expect(object["k7"]?.int == 407)
    }

    @Test("absurd nesting, numbers and counts are refused without harm", .timeLimit(.minutes(10)))
    func bounds() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = String(repeating: open, count: 100_000)
            #expect(failure { _ = try parseJSON(utf8(deep)) } == .limitExceeded)
            let closed = deep + String(repeating: close, count: 100_000)
            #expect(failure { _ = try parseJSON(utf8(closed)) } == .limitExceeded)
            let fits = String(repeating: open, count: 64) + "1" + String(repeating: close, count: 64)
            #expect(failure { _ = try parseJSON(utf8(fits)) } == nil)
        }
        let digits = String(repeating: "9", count: 4_300)
        #expect(try parseJSON(utf8(digits)) == .number(digits))
        #expect(failure { _ = try parseJSON(utf8(digits + "9")) } == .limitExceeded)
        let exponent = "1e" + String(repeating: "9", count: 5_000_000)
        #expect(failure { _ = try parseJSON(utf8(exponent)) } == .limitExceeded)
        let list = "[" + String(repeating: "1,", count: 4_000_000) + "1]"
        #expect(failure { _ = try parseJSON(utf8(list)) } == .limitExceeded)
        // As many members as a hostile 2 MB object can have: linear work.
        let object = "{" + (0..<200_000).map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        #expect(try parseJSON(utf8(object)).members?.count == 200_000)
    }

    @Test("any value comes back from every style")
    func roundTrip() throws {
        let random = SeededRandom.announced("JSON round trip")
        for _ in 0..<2_000 {
            let value = random.value(depth: 0)
            for style in [JSONWriter.Style.python, .pythonIndented2, .compact] {
                #expect(try parseJSON(JSONWriter.bytes(value, style)) == value, "\(random)")
            }
            #expect(try parseJSON(JSONWriter.bytes(value, .canonical)) == value.sorted, "\(random)")
            let ascii = JSONWriter.bytes(value, .python)
            #expect(ascii.allSatisfy { (0x20..<0x7F).contains($0) }, "\(random)")
        }
    }
}

extension SeededRandom {
    fileprivate func value(depth: Int) -> JSONValue {
        switch below(depth < 4 ? 9 : 6) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2: return .integer(Int64(bitPattern: next()))
        case 3: return .integer(Int64(below(100)) - 50)
        case 4: return .number(["1.5", "-0.25e-7", "18446744073709551616", "1E400"][below(4)])
        case 5: return .string(text())
        case 6, 7: return .array((0..<below(5)).map { _ in value(depth: depth + 1) })
        default:
            var members: [JSONMember] = []
            for _ in 0..<below(6) {
                let name = text()
                guard !members.contains(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { continue }
                members.append(JSONMember(name: name, value: value(depth: depth + 1)))
            }
            return .object(members)
        }
    }

    private func text() -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<below(8) {
            let value = [UInt32(below(0x80)), UInt32(below(0x800)), UInt32(below(0x10000)), UInt32(below(0x110000))]
            text.append(Unicode.Scalar(value[below(4)]) ?? "\u{E000}")
        }
        return String(text)
    }
}
