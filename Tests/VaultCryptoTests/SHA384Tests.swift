import Testing

@testable import VaultCrypto

@Suite struct SHA384Tests {
    // FIPS 180-4 examples; the digest of a million "a" is from its §C.
    @Test(arguments: [
        ("", 1, "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"),
        ("abc", 1, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"),
        (
            "a", 1_000_000,
            "9d0e1809716474cb086e834e310a4a1ced149e9c00f248527972cec5704c2a5b07b8b3dc38ecc4ebae97ddd87f3d8985"
        ),
    ])
    func `digests are those of the standard`(text: String, times: Int, digest: String) throws {
        let message = [UInt8](String(repeating: text, count: times).utf8)
        #expect(try SHA384.hash(message.span) == hex(digest))
    }
}
