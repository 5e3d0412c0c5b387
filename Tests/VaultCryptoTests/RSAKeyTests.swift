import COpenSSL
import Testing

@testable import VaultCrypto

@Suite struct RSAKeyTests {
    /// One key for all tests of this suite: the smallest that is allowed.
    private static let key = Result { try RSAPrivateKey.generate(bits: 2048) }
    private let message = Array("a content key of thirty-two byte".utf8)

    private func key() throws -> RSAPrivateKey { try Self.key.get() }

    @Test func `what was encrypted decrypts, and differs from call to call`() throws {
        let key = try key()
        let first = try key.publicKey.encrypt(message.span)
        let second = try key.publicKey.encrypt(message.span)
        #expect(first.count == 256 && second.count == 256)
        #expect(first != second)
        #expect(revealed(try key.decrypt(first.span)) == message)
        let nothing: [UInt8] = []
        let empty = try key.publicKey.encrypt(nothing.span)
        #expect(revealed(try key.decrypt(empty.span)).isEmpty)
    }

    @Test func `a message fills at most what the padding of RFC 8017 leaves`() throws {
        let key = try key()
        let longest = [UInt8](repeating: 7, count: 256 - 2 * 32 - 2)
        let sealed = try key.publicKey.encrypt(longest.span)
        #expect(revealed(try key.decrypt(sealed.span)) == longest)
        let longer = longest + [7]
        #expect(errorCode { _ = try key.publicKey.encrypt(longer.span) } == .invalidLength)
    }

    @Test func `every change of a ciphertext is refused in the same way`() throws {
        let key = try key()
        let sealed = try key.publicKey.encrypt(message.span)
        for position in stride(from: 0, to: 256, by: 17) {
            var changed = sealed
            changed[position] ^= 0x10
            #expect(errorCode { _ = try key.decrypt(changed.span) } == .authenticationFailed)
        }
        for other in [Array(sealed.dropLast()), sealed + [0], []] {
            #expect(errorCode { _ = try key.decrypt(other.span) } == .authenticationFailed)
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test func `a generated key has exponent 65537, two primes and the canonical encoding`() throws {
        let key = try key()
        #expect(key.publicKey.modulusBits == 2048)
        // RFC 8017 §A.1.1: the last five bytes are INTEGER 65537.
        #expect(key.publicKey.subjectPublicKeyInfo.suffix(5) == [0x02, 0x03, 0x01, 0x00, 0x01])
        #expect(key.publicKey.subjectPublicKeyInfo.count == 294)
        let again = try key.withPKCS8 { bytes throws(CryptoError) in try RSAPrivateKey(pkcs8: bytes, check: .primes) }
        #expect(again.publicKey.pem == key.publicKey.pem)
        let text = key.publicKey.pem
        #expect(try RSAPublicKey(pem: text.span).subjectPublicKeyInfo == key.publicKey.subjectPublicKeyInfo)
    }

    @Test func `each number of a private key is checked`() throws {
        let der = try key().withPKCS8 { bytes throws(CryptoError) in [UInt8](copying: bytes) }
        let ranges = try RSAEncoding.privateRanges(inPKCS8: der.span)
        let all = [
            ranges.modulus, ranges.publicExponent, ranges.privateExponent, ranges.firstPrime, ranges.secondPrime,
            ranges.firstExponent, ranges.secondExponent, ranges.coefficient,
        ]
        for range in all {
            for place in [range.upperBound - 1, range.lowerBound + range.count / 2] {
                for mask: UInt8 in [2, 4] {
                    var changed = der
                    changed[place] ^= mask
                    #expect(errorCode { _ = try RSAPrivateKey(pkcs8: changed.span) } == .invalidKey)
                }
            }
        }
        #expect(ERR_peek_error() == 0)
    }

    @Test func `no prefix and no extension of a private key is read`() throws {
        let der = try key().withPKCS8 { bytes throws(CryptoError) in [UInt8](copying: bytes) }
        for count in 0..<der.count {
            #expect(errorCode { _ = try RSAPrivateKey(pkcs8: der.span.extracting(first: count)) } == .invalidKey)
        }
        let longer = der + [0]
        #expect(errorCode { _ = try RSAPrivateKey(pkcs8: longer.span) } == .invalidKey)
    }

    @Test func `generation reports what it does and ends when it is told to`() throws {
        var primes = 0
        _ = try RSAPrivateKey.generate(bits: 2048) { step in
            if step == .prime { primes += 1 }
            return true
        }
        #expect(primes == 2)
        var calls = 0
        let code = errorCode {
            _ = try RSAPrivateKey.generate(bits: 4096) { _ in
                calls += 1
                return calls < 3
            }
        }
        #expect(code == .cancelled)
        #expect(calls == 3)
        #expect(ERR_peek_error() == 0)
        #expect(errorCode { _ = try RSAPrivateKey.generate(bits: 1024) } == .invalidParameter)
    }

    @Test func `an encrypted key opens with its passphrase only, and is written with 600 000 rounds`() throws {
        let key = try key()
        let passphrase = Array("a\u{0}b ü".utf8)
        let pem = try key.withPKCS8 { bytes throws(CryptoError) in
            try EncryptedPrivateKey.seal(pkcs8: bytes, passphrase: passphrase.span, random: SecureRandom())
        }
        let text = String(decoding: pem, as: UTF8.self)
        #expect(text.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
        #expect(text.hasSuffix("\n-----END ENCRYPTED PRIVATE KEY-----\n"))
        let der = try PEM.privateKey(PEM.Label.privateKeys, in: pem.span)
        // INTEGER 600000, which is 0x0927C0.
        #expect(revealed(der.content).hex.contains("02030927c0"))
        let opened = try EncryptedPrivateKey.open(pem: pem.span, passphrase: passphrase.span) {
            bytes throws(CryptoError) in try RSAPrivateKey(pkcs8: bytes)
        }
        #expect(opened.publicKey.pem == key.publicKey.pem)
        let other = Array("a\u{0}b".utf8)
        let code = errorCode {
            _ = try EncryptedPrivateKey.open(pem: pem.span, passphrase: other.span) { bytes throws(CryptoError) in
                try RSAPrivateKey(pkcs8: bytes)
            }
        }
        #expect(code == .authenticationFailed)
        #expect(try EncryptedPrivateKey.isEncrypted(pem: pem.span))
    }

    @Test func `the written form is the one of the reference but for the number of rounds`() throws {
        // identities.json: what the reference wrote for the first identity, with 2048 rounds.
        let root = try TestJSON(parsing: try [UInt8](vectorFile: "pki/identities.json"))
        let identity = try #require(try root.array("identities").first)
        let signing = try identity.member("signing")
        let parameters = try signing.member("pbes2")
        let plain = Array(try signing.string("private_pkcs8_pem").utf8)
        let passphrase = try identity.bytes(hex: "passphrase_hex")
        let random = FixedRandom(
            drawn: try parameters.bytes(hex: "salt_hex") + parameters.bytes(hex: "iv_hex"))
        let sealed = try EncryptedPrivateKey.open(pem: plain.span, passphrase: [UInt8]().span) {
            bytes throws(CryptoError) in
            try EncryptedPrivateKey.seal(
                pkcs8: bytes, passphrase: passphrase.span, random: random, iterations: 2048)
        }
        let expected = try identity.member("files").member("signing_private.pem").string("text")
        #expect(String(decoding: sealed, as: UTF8.self) == expected)
    }
}

/// A random source that gives what the test chose.
private struct FixedRandom: RandomSource {
    let drawn: [UInt8]

    func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        guard drawn.count == count else { throw CryptoError(.invalidLength) }
        return drawn
    }
}
