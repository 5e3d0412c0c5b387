import COpenSSL
import Testing

@testable import VaultCrypto

@Suite struct P256KeyTests {
    private let message = Array("a message".utf8)

    @Test func `a signature is 64 bytes and valid for its message and key only`() throws {
        let (key, other) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
        for _ in 0..<200 {
            let signature = try key.sign(message.span)
            #expect(signature.count == 64)
            #expect(isValid(signature, message, key.publicKey))
            #expect(!isValid(signature, message, other.publicKey))
            #expect(!isValid(signature, Array("a massage".utf8), key.publicKey))
        }
        let nothing: [UInt8] = []
        let signature = try key.sign(nothing.span)
        #expect(isValid(signature, nothing, key.publicKey))
    }

    @Test func `a change of any one bit makes a signature invalid`() throws {
        let key = try P256PrivateKey.generate()
        let signature = try key.sign(message.span)
        for bit in 0..<512 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!isValid(changed, message, key.publicKey), "bit \(bit)")
        }
    }

    @Test(arguments: [0, 1, 32, 63, 65, 70, 71, 72, 96, 128])
    func `signatures of other lengths are invalid`(count: Int) throws {
        let key = try P256PrivateKey.generate()
        let bytes = Array((try key.sign(message.span) + [UInt8](repeating: 0, count: 64)).prefix(count))
        #expect(!isValid(bytes, message, key.publicKey))
    }

    @Test func `a signature in DER form is invalid`() throws {
        let key = try P256PrivateKey.generate()
        let signature = try key.sign(message.span)
        let der = ECDSASignature.der(raw: signature.span)
        #expect(!isValid(try #require(der), message, key.publicKey))
    }

    @Test func `written keys have the one canonical form and are read again`() throws {
        for _ in 0..<50 {
            let key = try P256PrivateKey.generate()
            let pem = revealed(try key.pem())
            let text = String(decoding: pem, as: UTF8.self)
            // 138 bytes are 184 characters of base64: two full lines and one of 56.
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.map(\.count) == [27, 64, 64, 56, 25, 0])
            #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg"))
            #expect(text.hasSuffix("\n-----END PRIVATE KEY-----\n"))
            #expect(key.publicKey.pem.count == 178)
            #expect(
                String(decoding: key.publicKey.pem, as: UTF8.self)
                    .hasPrefix("-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"))

            let again = try P256PrivateKey(pem: pem.span)
            #expect(revealed(try again.pem()) == pem)
            #expect(again.publicKey.pem == key.publicKey.pem)
            let publicText = key.publicKey.pem
            let publicKey = try P256PublicKey(pem: publicText.span)
            #expect(publicKey.pem == key.publicKey.pem)
            let signature = try again.sign(message.span)
            #expect(isValid(signature, message, publicKey))
        }
    }

    @Test func `the public half is the multiple of the base point that SEC 2 names`() throws {
        // The scalar 1: the public half is the base point G (SEC 2 §2.4.2).
        let der = hex("3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420")
        let scalar = [UInt8](repeating: 0, count: 31) + [1]
        let pem = revealed(try PEM.privateKey((der + scalar).span))
        let point = try P256PrivateKey(pem: pem.span).publicKey.subjectPublicKeyInfo.suffix(64)
        let base =
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
            + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
        #expect(point.hex == base)
    }

    @Test func `the public half of another key is refused`() throws {
        let (key, other) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
        let der = revealed(try PEM.privateKey(in: revealed(try key.pem()).span))
        let mixed = Array(der.dropLast(65)) + other.publicKey.subjectPublicKeyInfo.suffix(65)
        let text = revealed(try PEM.privateKey(mixed.span))
        #expect(errorCode { _ = try P256PrivateKey(pem: text.span) } == .invalidKey)
    }

    @Test func `a private key is not read as a public one, nor the other way round`() throws {
        let key = try P256PrivateKey.generate()
        let (privateText, publicText) = (revealed(try key.pem()), key.publicKey.pem)
        #expect(errorCode { _ = try P256PublicKey(pem: privateText.span) } == .invalidKey)
        #expect(errorCode { _ = try P256PrivateKey(pem: publicText.span) } == .invalidKey)
        let both = publicText + privateText
        #expect(errorCode { _ = try P256PublicKey(pem: both.span) } == .invalidKey)
        #expect(try P256PrivateKey(pem: both.span).publicKey.pem == key.publicKey.pem)
    }

    @Test func `keys serve many threads at once`() async throws {
        let key = try P256PrivateKey.generate()
        let message = message
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let signature = try key.sign(message.span)
                        #expect(isValid(signature, message, key.publicKey))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `refusals leave OpenSSL's error queue empty`() throws {
        let key = try P256PrivateKey.generate()
        var keyInfo = key.publicKey.subjectPublicKeyInfo
        keyInfo[90] ^= 1
        #expect(errorCode { _ = try P256PublicKey(subjectPublicKeyInfo: keyInfo.span) } == .invalidKey)
        #expect(ERR_peek_error() == 0)
        let signature = [UInt8](repeating: 1, count: 64)
        #expect(!isValid(signature, message, key.publicKey))
        #expect(ERR_peek_error() == 0)
    }
}

/// The check over arrays, because the test macros cannot take spans.
private func isValid(_ signature: [UInt8], _ message: [UInt8], _ key: P256PublicKey) -> Bool {
    key.isValid(signature: signature.span, for: message.span)
}
