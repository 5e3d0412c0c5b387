import Testing

@testable import VaultCrypto

@Suite struct PEMTests {
    private static let begin = "-----BEGIN PUBLIC KEY-----\n"
    private static let end = "-----END PUBLIC KEY-----\n"
    private static let other = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    private func publicKey(_ text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        return try? PEM.publicKey(in: bytes.span)
    }

    private func privateKey(_ text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        guard let secret = try? PEM.privateKey(in: bytes.span) else { return nil }
        return revealed(secret)
    }

    /// Texts that hold the bytes 1 to 5, "AQIDBAU=".
    @Test(arguments: [
        begin + "AQIDBAU=\n" + end, begin + "AQIDBAU=\n-----END PUBLIC KEY-----", begin + "AQ\nIDBA\nU=\n" + end,
        "-----BEGIN PUBLIC KEY-----\r\nAQID\r\nBAU=\r\n-----END PUBLIC KEY-----\r\n", begin + "AQID\n\nBAU=\n" + end,
        "text before\n\n" + begin + "AQIDBAU=\n" + end + "text after",
        begin + "AQIDBAU=\n" + end + begin + "AAAA\n" + end,
        begin + "AQIDBAU=\n" + end + begin + "broken",
    ])
    func `reads the first block in every accepted layout`(text: String) {
        #expect(publicKey(text) == [1, 2, 3, 4, 5])
    }

    /// Texts with something wrong in or around the block.
    @Test(arguments: [
        "", "\n", "AQIDBAU=", begin, begin + "AQIDBAU=\n", begin + "AQIDBAU=", begin + end, begin + "\n" + end,
        begin + "AQIDBAU=\n-----END PRIVATE KEY-----\n", begin + "AQIDBAU=\n-----END PUBLIC KEY----\n",
        begin + "AQIDBAU=\n" + begin + end, begin + "AQIDBAU\n" + end, begin + "AQIDBAU==\n" + end,
        begin + "AQIDBAV=\n" + end, begin + "AQIDBAU=AQID\n" + end, begin + "AQID*AU=\n" + end,
        begin + "AQID BAU=\n" + end, begin + "AQID\u{0}BAU=\n" + end, begin + "AQID_-U=\n" + end,
        begin + "A\n" + end, begin + "=\n" + end, begin + "Proc-Type: 4\n\nAQIDBAU=\n" + end,
        other + begin + "AQIDBAU=\n" + end, "-----BEGIN PUBLIC KEY-----AQIDBAU=-----END PUBLIC KEY-----",
        begin + "AQIDBAU=\n" + end + "-----BEGIN PRIVATE KEY-----",
        begin + "AQIDBAU=\n" + end + "-----BEGIN ENCRYPTED PRIVATE KEY-----",
        "-----BEGIN EC PRIVATE KEY-----\nAQID\n-----END EC PRIVATE KEY-----\n" + begin + "AQIDBAU=\n" + end,
    ])
    func `refuses damaged text, and private keys in company of public ones`(text: String) {
        #expect(publicKey(text) == nil)
    }

    @Test func `a private key is found behind other blocks`() {
        let block = "-----BEGIN PRIVATE KEY-----\nAQIDBAU=\n-----END PRIVATE KEY-----\n"
        #expect(privateKey(Self.other + Self.begin + "AAAA\n" + Self.end + block) == [1, 2, 3, 4, 5])
    }

    @Test(arguments: 1...200)
    func `what was written is read again, in lines of 64 characters`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + count) }
        let text = String(decoding: PEM.publicKey(bytes.span), as: UTF8.self)
        #expect(publicKey(text) == bytes)
        let body = text.split(separator: "\n").dropFirst().dropLast()
        #expect(body.dropLast().allSatisfy { $0.count == 64 })
        #expect(body.map(\.count).reduce(0, +) == (count + 2) / 3 * 4)
        let secret = String(decoding: revealed(try PEM.privateKey(bytes.span)), as: UTF8.self)
        #expect(secret == text.split(separator: "PUBLIC").joined(separator: "PRIVATE"))
        #expect(privateKey(secret) == bytes)
        #expect(text.hasPrefix(Self.begin) && text.hasSuffix("\n" + Self.end) && !text.contains("\n\n"))
    }
}
