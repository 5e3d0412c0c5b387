import COpenSSL
import Testing
import VaultCrypto

@Suite struct HMACSHA256Tests {
    /// RFC 4231 §4, test cases 1 to 4, 6 and 7; case 5 is a truncated code.
    static let examples: [(String, String, String)] = [
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            String(repeating: "aa", count: 131),
            "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e6420"
                + "61206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f2062652068"
                + "6173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test(arguments: examples)
    func `gives the codes of RFC 4231`(key: String, message: String, code: String) throws {
        let hmac = try HMACSHA256(key: hex(key).span)
        #expect(try hmac.authenticate(hex(message).span).hex == code)
    }

    @Test func `agrees with OpenSSL's HMAC for keys and messages of any length`() throws {
        var random = SeededGenerator(for: "HMACSHA256Tests")
        for count in 0...200 {
            let key = random.bytes(count)
            let message = random.bytes(Int.random(in: 0...300, using: &random))
            var expected = [UInt8](repeating: 0, count: 32)
            // unsafe: a C call on three arrays.
            unsafe HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &expected, nil)
            #expect(try HMACSHA256(key: key.span).authenticate(message.span) == expected, "seed \(random.seed)")
        }
    }

    @Test func `one value serves many threads at once`() async throws {
        let hmac = try HMACSHA256(key: hex("4a656665").span)
        let message = [UInt8](repeating: 3, count: 777)
        let expected = try hmac.authenticate(message.span)
        let codes = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var last: [UInt8] = []
                    for _ in 0..<500 { last = try hmac.authenticate(message.span) }
                    return last
                }
            }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(codes == [expected])
    }
}
