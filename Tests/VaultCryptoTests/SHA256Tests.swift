import Testing
import VaultCrypto

@Suite struct SHA256Tests {
    /// The examples of FIPS 180-4 (NIST, "Secure Hash Standard: example values").
    static let examples: [(String, String)] = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
    ]

    @Test(arguments: examples)
    func `gives the digests of the standard's examples`(message: String, digest: String) throws {
        #expect(try SHA256.hash(Array(message.utf8).span).hex == digest)
    }

    @Test func `gives the digest of a million letters in pieces`() throws {
        var hash = try SHA256()
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1000)
        for _ in 0..<1000 { try hash.update(piece.span) }
        #expect(try hash.finish().hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `pieces of any length give the digest of the whole`() throws {
        var random = SeededGenerator(for: "SHA256Tests")
        for _ in 0..<200 {
            let message = random.bytes(Int.random(in: 0...600, using: &random))
            var hash = try SHA256()
            var rest = message[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 0...130, using: &random))
                try hash.update(Array(piece).span)
                rest = rest.dropFirst(piece.count)
            }
            #expect(try hash.finish() == SHA256.hash(message.span), "seed \(random.seed)")
        }
    }
}
