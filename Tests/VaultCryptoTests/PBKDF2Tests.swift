import COpenSSL
import Testing
import VaultCrypto

@Suite struct PBKDF2Tests {
    @Test func `agrees with OpenSSL's PBKDF2 on random inputs`() throws {
        var random = SeededGenerator(for: "PBKDF2Tests")
        for _ in 0..<150 {
            let password = random.bytes(Int.random(in: 0...140, using: &random))
            let salt = random.bytes(Int.random(in: 0...90, using: &random))
            let iterations = Int.random(in: 1...50, using: &random)
            var expected = [UInt8](repeating: 0, count: Int.random(in: 1...100, using: &random))
            // unsafe: a C call on three arrays.
            let result = unsafe password.withUnsafeBytes { password in
                unsafe PKCS5_PBKDF2_HMAC(
                    password.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(password.count), salt,
                    Int32(salt.count), Int32(iterations), EVP_sha256(), Int32(expected.count), &expected)
            }
            #expect(result == 1)
            let output = try PBKDF2.sha256(
                password: password.span, salt: salt.span, iterations: iterations, count: expected.count)
            #expect(revealed(output) == expected, "seed \(random.seed)")
        }
    }

    @Test func `no iterations and no output are refused`() {
        let one: [UInt8] = [1]
        for iterations in [0, -1, Int.min] {
            let code = errorCode {
                _ = try PBKDF2.sha256(password: one.span, salt: one.span, iterations: iterations, count: 32)
            }
            #expect(code == .invalidParameter)
        }
        for count in [0, -1, Int.max] {
            let code = errorCode {
                _ = try PBKDF2.sha256(password: one.span, salt: one.span, iterations: 1, count: count)
            }
            #expect(code == .invalidLength)
        }
    }
}
