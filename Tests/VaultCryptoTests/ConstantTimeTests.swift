import Testing
import VaultCrypto

@Suite struct ConstantTimeTests {
    /// The comparison over arrays, because the test macros cannot take spans.
    private func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        ConstantTime.equal(a.span, b.span)
    }

    @Test func `equal lengths and equal bytes are equal`() {
        #expect(equal([], []))
        #expect(equal([1, 2], [1, 2]))
    }

    @Test func `a difference in any one bit is a difference`() {
        let bytes = [UInt8](repeating: 0x5A, count: 33)
        for bit in 0..<33 * 8 {
            var other = bytes
            other[bit / 8] ^= 1 << (bit % 8)
            #expect(!equal(bytes, other), "bit \(bit)")
        }
    }

    @Test func `different lengths are different`() {
        #expect(!equal([0], []))
        #expect(!equal([0], [0, 0]))
    }
}
