import Testing
import VaultCrypto

@Suite struct HKDFTests {
    private let nothing: [UInt8] = []
    private let one: [UInt8] = [1]

    /// RFC 5869 appendix A.1 to A.3: input key, salt, info, length, output.
    static let examples: [(ikm: String, salt: String, info: String, okm: String)] = [
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        ),
        (
            range(0x00, 0x4F), range(0x60, 0xAF), range(0xB0, 0xFF),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
                + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
        (
            "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        ),
    ]

    private static func range(_ first: UInt8, _ last: UInt8) -> String {
        Array(first...last).hex
    }

    @Test(arguments: examples)
    func `gives the outputs of RFC 5869`(example: (ikm: String, salt: String, info: String, okm: String)) throws {
        let (ikm, salt, info) = (hex(example.ikm), hex(example.salt), hex(example.info))
        let expected = hex(example.okm)
        let output = try HKDF.sha256(ikm: ikm.span, salt: salt.span, info: info.span, count: expected.count)
        #expect(revealed(output) == expected)
    }

    @Test func `an absent salt is one of 32 zero bytes`() throws {
        let (ikm, zeros) = (hex("0102"), [UInt8](repeating: 0, count: 32))
        let absent = try HKDF.sha256(ikm: ikm.span, salt: nothing.span, info: zeros.span, count: 64)
        let zero = try HKDF.sha256(ikm: ikm.span, salt: zeros.span, info: zeros.span, count: 64)
        #expect(revealed(absent) == revealed(zero))
    }

    @Test(arguments: [-1, 0, 8161])
    func `lengths outside of the standard's range are refused`(count: Int) {
        let code = errorCode {
            _ = try HKDF.sha256(ikm: one.span, salt: nothing.span, info: nothing.span, count: count)
        }
        #expect(code == .invalidLength)
    }

    @Test func `an empty input key is refused`() {
        let code = errorCode { _ = try HKDF.sha256(ikm: nothing.span, salt: one.span, info: one.span, count: 32) }
        #expect(code == .invalidLength)
    }
}
