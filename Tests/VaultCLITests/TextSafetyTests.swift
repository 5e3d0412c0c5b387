import Testing

@testable import VaultCLI

@Suite("Text for terminals")
struct TextSafetyTests {
    @Test(
        "printable UTF-8 stays, everything else makes the whole path C-quoted",
        arguments: [
            ("plan.md", "plan.md"), ("a b", "a b"), ("zażółć/文.txt", "zażółć/文.txt"), ("a\nb", "\"a\\nb\""),
            ("tab\there", "\"tab\\there\""), ("quote\"", "\"quote\\\"\""), ("back\\slash", "\"back\\\\slash\""),
            ("bell\u{7}\u{1b}[31m", "\"bell\\a\\033[31m\""), ("rub\u{7f}", "\"rub\\177\""),
            ("c1\u{9b}2J", "\"c1\\302\\2332J\""),
        ])
    func paths(name: String, shown: String) {
        #expect(String(decoding: TextSafety.path(Array(name.utf8)), as: UTF8.self) == shown)
    }

    @Test("bytes that are no UTF-8 are shown in octal")
    func octal() {
        #expect(TextSafety.path([0x61, 0xff, 0x62]) == Array("\"a\\377b\"".utf8))
    }

    @Test("messages lose control characters and characters that turn the line")
    func messages() {
        #expect(TextSafety.line("one\ntwo\u{1b}[2J") == "one\\012two\\033[2J")
        #expect(TextSafety.lines("one\ntwo\r") == "one\ntwo\\015")
        #expect(TextSafety.line("a\u{202e}b") == "a\\342\\200\\256b")
        #expect(TextSafety.line("family 👨‍👩‍👧") == "family 👨‍👩‍👧")
    }

    @Test(
        "sizes have one decimal and a binary unit",
        arguments: [
            (0 as Int64, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (12_595, "12.2 KiB"), (1 << 20, "1.0 MiB"),
            (5 << 30, "5.0 GiB"), (Int64.max, "7.9 EiB"),
        ])
    func sizes(bytes: Int64, text: String) {
        #expect(TextRenderer.size(bytes) == text)
    }
}
