import Testing

@testable import VaultFormat

@Suite("Finding a vault's own key in text")
struct KeyFinderTests {
    private func finds(_ key: String, in content: String) throws -> Bool {
        let key = Array(key.utf8)
        let content = Array(content.utf8)
        return try KeyFinder(keyText: key.span).finds(in: content.span)
    }

    @Test(
        "the key is found with every prefix, anywhere in a text, and whatever its passphrase looks like",
        arguments: [
            ("abc:k7m2p9x4", "abc:k7m2p9x4"), ("abc:k7m2p9x4", "sgit_private_vault_abc:k7m2p9x4"),
            ("sgit_private_vault_abc:k7m2p9x4", "see abc:k7m2p9x4.\n"), ("sgit_vk1_abc:k7m2p9x4\n", "abc:k7m2p9x4"),
            ("a b:c:k7m2p9x4", "a b:c:k7m2p9x4"), ("é:k7m2p9x4", "clé:k7m2p9x4"),
            ("x:aaaaaaaa", "x:aaaaaaax:aaaaaaaa"),
        ])
    func found(key: String, content: String) throws {
        #expect(try finds(key, in: content))
    }

    @Test(
        "parts of the key and other vaults' keys are not it",
        arguments: [
            "", "abc:", "abc", "k7m2p9x4", ":k7m2p9x4", "bc:k7m2p9x4", "abc:k7m2p9x", "abc:k7m2p9x5", "abC:k7m2p9x4",
        ])
    func absent(content: String) throws {
        #expect(try !finds("abc:k7m2p9x4", in: content))
    }

    @Test("a text that is no key can not be looked for", arguments: ["", "abc", ":abc", "abc:"])
    func noKey(text: String) {
        #expect(throws: FormatError.self) { try finds(text, in: "abc") }
    }

    @Test("the key is found at every distance from the start, and at no other place")
    func everyPlace() throws {
        let key = "sesame:k7m2p9x4"
        for before in 0...40 {
            for after in 0...20 {
                let text = String(repeating: "x", count: before) + key + String(repeating: ":", count: after)
                #expect(try finds(key, in: text))
                #expect(try !finds(key, in: text.replacing("p9x4", with: "p9x3")))
            }
        }
    }

    @Test("the write key is found in a run of digits of any length, at any place, in either case")
    func writeKey() throws {
        let digits = String((0..<64).map { Array("0123456789abcdef")[($0 * 7 + $0 / 16) % 16] })
        let (key, hex) = (Array("sesame:k7m2p9x4".utf8), Array(digits.utf8))
        let finder = try KeyFinder(keyText: key.span, writeKey: WriteKey(hex: hex.span))
        func finds(_ text: String) -> Bool {
            let bytes = Array(text.utf8)
            return finder.finds(in: bytes.span)
        }
        for before in 0...140 {
            for filler in ["g", "0", "f"] {
                let text = String(repeating: filler, count: before) + digits
                #expect(finds(text))
                #expect(finds(text.uppercased() + "f0"))
                #expect(finds(text + "-" + digits))
                #expect(!finds(String(text.dropLast())))
                #expect(!finds(text.replacing(digits, with: digits.prefix(63) + "z")))
            }
        }
        #expect(finds(String(digits.dropLast()) + "-" + digits))
    }
}
