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
}
