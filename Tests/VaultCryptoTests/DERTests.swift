import Testing

@testable import VaultCrypto

@Suite struct DERTests {
    /// What a reader of one value with this tag gives: the bytes of its content, nil if it refuses.
    private func content(_ tag: UInt8, _ text: String) -> [UInt8]? {
        let bytes = hex(text)
        var reader = DERReader(bytes.span)
        guard let range = try? reader.content(tag, bytes.span), (try? reader.finish()) != nil else { return nil }
        return Array(bytes[range])
    }

    private func number(_ text: String) -> Int? {
        let bytes = hex(text)
        var reader = DERReader(bytes.span)
        guard let number = try? reader.number(bytes.span), (try? reader.finish()) != nil else { return nil }
        return number
    }

    @Test func `lengths have one form each`() {
        #expect(content(0x04, "0400") == [])
        #expect(content(0x04, "0402abcd") == [0xAB, 0xCD])
        #expect(content(0x04, "048180" + String(repeating: "11", count: 128))?.count == 128)
        #expect(content(0x04, "04820100" + String(repeating: "11", count: 256))?.count == 256)
        // Indefinite, longer than needed, with a leading zero byte, of four bytes, and without what they announce.
        let wrong = [
            "04800000", "048102abcd", "04817f" + String(repeating: "11", count: 127),
            "048200ff" + String(repeating: "11", count: 255), "04840000000111", "0401", "04", "", "0481", "048201",
            "0402abcdef", "0502abcd", "04ff",
        ]
        for text in wrong { #expect(content(0x04, text) == nil, "\(text)") }
    }

    @Test func `numbers are not negative and have no byte too many`() {
        #expect(number("020100") == 0)
        #expect(number("02017f") == 127)
        #expect(number("02020080") == 128)
        #expect(number("0203010001") == 65537)
        #expect(number("02083fffffffffffffff") == 1 << 62 - 1)
        for text in ["0200", "0201ff", "02020001", "0202007f", "02084000000000000000", "02090080000000000000000"] {
            #expect(number(text) == nil, "\(text)")
        }
    }

    @Test func `what is written is read again`() throws {
        var random = SeededGenerator(for: "DERTests")
        for _ in 0..<500 {
            let value = Int.random(in: 0..<(1 << Int.random(in: 1...62, using: &random)), using: &random)
            let bytes = DERWriter.number(value)
            #expect(number(bytes.hex) == value)
            let content = random.bytes(Int.random(in: 0...70_000, using: &random))
            let written = DERWriter.value(0x04, content)
            var reader = DERReader(written.span)
            let range = try reader.content(0x04, written.span)
            try reader.finish()
            #expect(written[range].elementsEqual(content))
        }
    }
}
