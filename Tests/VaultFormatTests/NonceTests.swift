import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

/// What is sealed with a random nonce takes a new one every time, in every form.
@Suite("Nonces")
struct NonceTests {
    @Test("no two random messages have one nonce, plain or deflated", arguments: [false, true])
    func fresh(deflated: Bool) throws {
        let cipher = try cipher([UInt8](repeating: 7, count: 32))
        let random = SeededRandom(seed: 1)
        let start = deflated ? VaultCipher.deflateMagic.count : 0
        var nonces: Set<[UInt8]> = []
        for number in 0..<200 {
            let content = [UInt8](repeating: UInt8(number % 2), count: 500)
            let sealed = try cipher.sealBlob(content, deflate: deflated, random: random)
            try #require(sealed.starts(with: VaultCipher.deflateMagic) == deflated)
            nonces.insert(Array(sealed[start..<start + 12]))
        }
        #expect(nonces.count == 200)
    }
}
