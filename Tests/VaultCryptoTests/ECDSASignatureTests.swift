import Testing
import VaultCrypto

@Suite struct ECDSASignatureTests {
    /// n - 1, the highest value either number may have.
    private static let highest = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550"
    private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    private static let one = String(repeating: "0", count: 63) + "1"
    private static let zero = String(repeating: "0", count: 64)
    private static let high = "80" + String(repeating: "0", count: 62)
    private static let shorter = "00ff" + String(repeating: "1", count: 60)
    private static let muchShorter = "0000007f" + String(repeating: "1", count: 56)

    /// r, s and the DER structure, put together by hand.
    static let pairs: [(r: String, s: String, der: String)] = [
        (one, one, "3006020101020101"),
        (highest, one, "3026022100\(highest)020101"),
        (high, high, "3046022100\(high)022100\(high)"),
        (shorter, muchShorter, "3041" + "0220\(shorter)" + "021d\(muchShorter.dropFirst(6))"),
    ]

    @Test(arguments: pairs)
    func `both forms turn into each other, with as few bytes as DER allows`(
        pair: (r: String, s: String, der: String)
    ) throws {
        let (raw, der) = (hex(pair.r + pair.s), hex(pair.der))
        let written = ECDSASignature.der(raw: raw.span)
        let read = ECDSASignature.raw(der: der.span)
        #expect(written == der)
        #expect(read == raw)
    }

    @Test(arguments: [
        zero + one, one + zero, zero + zero, order + one, one + order, String(repeating: "f", count: 128), one, "",
        one + one + "00", "00" + one + one,
    ])
    func `numbers out of range and other lengths have no DER form`(raw: String) {
        let bytes = hex(raw)
        let written = ECDSASignature.der(raw: bytes.span)
        #expect(written == nil)
    }

    /// What DER does not allow, by what is wrong with it.
    static let damaged: [(name: String, der: String)] = [
        ("empty", ""), ("no length", "30"), ("no content", "3000"), ("one number", "3003020101"),
        ("three numbers", "3009020101020101020101"), ("trailing byte", "300602010102010100"),
        ("length too long", "3007020101020101"), ("length too short", "3005020101020101"),
        ("long form of the length", "308106020101020101"), ("indefinite length", "30800201010201010000"),
        ("other outer tag", "3106020101020101"), ("other inner tag", "3006030101020101"),
        ("empty number", "30050200020101"), ("negative number", "3006020181020101"),
        ("needless zero byte", "300702020001020101"), ("number beyond the end", "3006020101020201"),
        ("number of 33 bytes", "3026022101" + zero + "020101"),
        ("number of 34 bytes", "302702220000" + high + "020101"),
    ]

    @Test(arguments: damaged)
    func `what is not DER of two numbers below 2^256 is refused`(item: (name: String, der: String)) {
        let der = hex(item.der)
        #expect(item.der.isEmpty || !der.isEmpty, "the example is hex")
        let read = ECDSASignature.raw(der: der.span)
        #expect(read == nil, "\(item.name)")
    }
}
