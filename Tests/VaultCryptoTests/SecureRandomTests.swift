import Testing
import VaultCrypto

@Suite struct SecureRandomTests {
    @Test(arguments: [0, 1, 12, 32, 1_000_003])
    func `gives as many bytes as asked for`(count: Int) throws {
        #expect(try SecureRandom().bytes(count).count == count)
    }

    @Test func `a negative count is refused`() {
        #expect(errorCode { _ = try SecureRandom().bytes(-1) } == .invalidLength)
    }

    @Test func `two draws differ and every byte value occurs`() throws {
        let (first, second) = (try SecureRandom().bytes(32), try SecureRandom().bytes(32))
        #expect(first != second)
        // A value is missing from 65,536 uniform bytes with a probability below 1e-108.
        #expect(Set(try SecureRandom().bytes(65_536)).count == 256)
    }
}
