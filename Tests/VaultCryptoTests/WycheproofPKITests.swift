import Testing

@testable import VaultCrypto

/// The Wycheproof files about RSA and passphrases; see `TestVectors/wycheproof/README.md`.
@Suite struct WycheproofPKITests {
    private func decrypts(_ name: String, labels: Int) throws {
        var keys: [String: RSAPrivateKey] = [:]
        try Wycheproof(name).run(outOfScope: ["a label, which the format never has": labels]) { item in
            guard try item.fields.string("label").isEmpty else {
                return .outOfScope("a label, which the format never has")
            }
            let text = try item.group.string("privateKeyPkcs8")
            let der = hex(text)
            let key = try keys[text] ?? RSAPrivateKey(pkcs8: der.span)
            keys[text] = key
            return try outcome(item, key)
        }
    }

    private func outcome(_ item: Wycheproof.Case, _ key: RSAPrivateKey) throws -> Wycheproof.Outcome {
        let ciphertext = try item.fields.bytes(hex: "ct")
        guard item.verdict == .valid else {
            let code = errorCode { _ = try key.decrypt(ciphertext.span) }
            return code == .authenticationFailed ? .passed : .failed("decrypted")
        }
        let message = revealed(try key.decrypt(ciphertext.span))
        return message == (try item.fields.bytes(hex: "msg")) ? .passed : .failed("another message")
    }

    @Test(arguments: ["rsa_oaep_2048_sha256_mgf1sha256", "rsa_oaep_4096_sha256_mgf1sha256"])
    func `RSA-OAEP with SHA-256 gives the messages of the vectors and no others`(name: String) throws {
        try decrypts(name, labels: 8)
    }

    @Test func `RSA-OAEP: other hashes and smaller keys are refused, other sizes decrypt`() throws {
        let expected = [
            "key of 1024 bits, refused": 60, "key of 1536 bits, refused": 60,
            "another hash, refused": 243, "a label, which the format never has": 20,
        ]
        var keys: [String: RSAPrivateKey] = [:]
        try Wycheproof("rsa_oaep_misc").run(outOfScope: expected) { item in
            let (text, bits) = (try item.group.string("privateKeyPkcs8"), try item.group.int("keySize"))
            let der = hex(text)
            guard bits >= 2048 else {
                let code = errorCode { _ = try RSAPrivateKey(pkcs8: der.span) }
                return code == .invalidKey ? .outOfScope("key of \(bits) bits, refused") : .failed("key taken")
            }
            guard try item.fields.string("label").isEmpty else {
                return .outOfScope("a label, which the format never has")
            }
            let key = try keys[text] ?? RSAPrivateKey(pkcs8: der.span)
            keys[text] = key
            let hashes = (try item.group.string("sha"), try item.group.string("mgfSha"))
            guard hashes == ("SHA-256", "SHA-256") else {
                let ciphertext = try item.fields.bytes(hex: "ct")
                let code = errorCode { _ = try key.decrypt(ciphertext.span) }
                return code == .authenticationFailed ? .outOfScope("another hash, refused") : .failed("decrypted")
            }
            return try outcome(item, key)
        }
    }

    @Test func `RSA keys of three primes are refused`() throws {
        try Wycheproof("rsa_three_primes_oaep_4096_sha256_mgf1sha256").run { item in
            let der = try item.group.bytes(hex: "privateKeyPkcs8")
            return errorCode { _ = try RSAPrivateKey(pkcs8: der.span) } == .invalidKey ? .passed : .failed("key taken")
        }
    }

    @Test(arguments: [
        ("pbes2_hmacsha1_aes_256", KeyStretching.Hash.sha1, BlockCipher.aes256),
        ("pbes2_hmacsha256_aes_128", .sha256, .aes128), ("pbes2_hmacsha256_aes_256", .sha256, .aes256),
        ("pbes2_hmacsha512_aes_256", .sha512, .aes256),
    ])
    func `PBES2 encrypts and decrypts as the vectors say`(
        name: String, hash: KeyStretching.Hash, cipher: BlockCipher
    ) throws {
        try Wycheproof(name).run { item in
            let (password, salt) = (try item.fields.bytes(hex: "password"), try item.fields.bytes(hex: "salt"))
            let (iv, message) = (try item.fields.bytes(hex: "iv"), try item.fields.bytes(hex: "msg"))
            let ciphertext = try item.fields.bytes(hex: "ct")
            let iterations = try item.fields.int("iterationCount")
            let key = try KeyStretching.pbkdf2(
                hash, password: password.span, salt: salt.span, iterations: iterations, count: cipher.keyCount)
            guard try cipher.encrypt(message.span, key: key, iv: iv.span) == ciphertext else { return .failed("seal") }
            let opened = revealed(try cipher.decrypt(ciphertext.span, key: key, iv: iv.span))
            return opened == message ? .passed : .failed("open")
        }
    }

    @Test func `AES-CBC removes the paddings that are valid and no others`() throws {
        try Wycheproof("aes_cbc_pkcs5").run { item in
            let bits = try item.group.int("keySize")
            let cipher = try #require([128: BlockCipher.aes128, 192: .aes192, 256: .aes256][bits])
            let (bytes, iv) = (try item.fields.bytes(hex: "key"), try item.fields.bytes(hex: "iv"))
            let (message, ciphertext) = (try item.fields.bytes(hex: "msg"), try item.fields.bytes(hex: "ct"))
            let key = try SecretBytes(copying: bytes.span)
            guard item.verdict == .valid else {
                let opened = (try? cipher.decrypt(ciphertext.span, key: key, iv: iv.span)) != nil
                return opened ? .failed("opened") : .passed
            }
            guard try cipher.encrypt(message.span, key: key, iv: iv.span) == ciphertext else { return .failed("seal") }
            let opened = revealed(try cipher.decrypt(ciphertext.span, key: key, iv: iv.span))
            return opened == message ? .passed : .failed("open")
        }
    }
}
