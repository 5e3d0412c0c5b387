import Testing

@testable import VaultCrypto

/// The cases of `TestVectors/pki` that concern RSA keys and encrypted keys; see the README there.
@Suite struct KeyVectorTests {
    private func vectors(_ name: String, count: Int) throws -> (root: TestJSON, cases: [TestJSON]) {
        let root = try TestJSON(parsing: try [UInt8](vectorFile: "pki/\(name).json"))
        let cases = try root.array("cases")
        #expect(cases.count == count, "the count of the README")
        return (root, cases)
    }

    private func fingerprint(_ keyInfo: [UInt8]) throws -> String {
        "sha256:" + (try SHA256.hash(keyInfo.span).hex.prefix(16))
    }

    /// The fingerprint of the public half of whichever kind of key the text holds; nil if it is refused as both.
    private func privateFingerprint(_ pem: [UInt8], _ passphrase: [UInt8]) throws -> (String?, [CryptoError.Code?]) {
        var found: String?
        let codes = [
            errorCode {
                found = try EncryptedPrivateKey.open(pem: pem.span, passphrase: passphrase.span) {
                    bytes throws(CryptoError) in
                    try P256PrivateKey(pkcs8: bytes).publicKey.subjectPublicKeyInfo
                }.hex
            },
            errorCode {
                found = try EncryptedPrivateKey.open(pem: pem.span, passphrase: passphrase.span) {
                    bytes throws(CryptoError) in
                    try RSAPrivateKey(pkcs8: bytes, check: .primes).publicKey.subjectPublicKeyInfo
                }.hex
            },
        ]
        return (try found.map { try fingerprint(hex($0)) }, codes)
    }

    @Test func `RSA public keys are read or refused as the vectors say, and P-256 keys refused`() throws {
        var answers: [String: Int] = [:]
        for item in try vectors("public_keys", count: 53).cases {
            let (id, expect) = (try item.string("id"), try item.string("expect"))
            let text = Array(try item.string("pem").utf8)
            let key = try? RSAPublicKey(pem: text.span)
            var isRSA = false
            if case .string("rsa")? = try? item.member("kind") { isRSA = true }
            guard expect != "reject", isRSA else {
                #expect(key == nil, "\(id)")
                answers["refused", default: 0] += 1
                continue
            }
            #expect(expect != "accept" || key != nil, "\(id)")
            guard let key else { continue }
            #expect(try item.string("fingerprint") == fingerprint(key.subjectPublicKeyInfo), "\(id)")
            answers[expect, default: 0] += 1
        }
        // Of the three optional ones the exponent 3 is taken; PKCS#1 and absent parameters are not.
        #expect(answers == ["refused": 43, "accept": 7, "optional": 1])
    }

    @Test func `private keys of both kinds are read or refused as the vectors say`() throws {
        var answers: [String: Int] = [:]
        for item in try vectors("private_keys", count: 34).cases {
            let (id, expect) = (try item.string("id"), try item.string("expect"))
            let (found, codes) = try privateFingerprint(Array(try item.string("pem").utf8), [])
            #expect(expect != "accept" || found != nil, "\(id)")
            #expect(expect != "reject" || found == nil, "\(id)")
            guard let found else {
                #expect(codes == [.invalidKey, .invalidKey], "\(id)")
                answers["refused", default: 0] += 1
                continue
            }
            #expect(try item.string("public_fingerprint") == found, "\(id)")
            answers[expect, default: 0] += 1
        }
        // SEC 1 and PKCS#1 are taken of the six optional ones.
        #expect(answers == ["refused": 27, "accept": 5, "optional": 2])
    }

    @Test func `encrypted keys open or not as the vectors say`() throws {
        var answers: [String: Int] = [:]
        for item in try vectors("encrypted_keys", count: 87).cases {
            let (id, expect) = (try item.string("id"), try item.string("expect"))
            let passphrase = item.has("passphrase_hex") ? hex((try? item.string("passphrase_hex")) ?? "") : []
            let (found, codes) = try privateFingerprint(Array(try item.string("pem").utf8), passphrase)
            #expect(expect != "accept" || found != nil, "\(id) \(codes)")
            #expect(expect != "reject" || found == nil, "\(id)")
            guard let found else {
                let code = try #require(codes[0])
                #expect(codes[1] == code, "\(id)")
                answers["\(code)", default: 0] += 1
                continue
            }
            #expect(try item.string("public_fingerprint") == found, "\(id)")
            answers[expect, default: 0] += 1
        }
        #expect(answers["accept"] == 49)
        #expect(answers.values.reduce(0, +) == 87)
        print("encrypted keys: \(answers)")
    }

    @Test(arguments: [
        ("wrong-passphrase", CryptoError.Code.authenticationFailed), ("passphrase-case", .authenticationFailed),
        ("passphrase-missing", .passphraseMissing), ("passphrase-empty", .passphraseMissing),
        ("passphrase-given-for-plain-key", .passphraseUnexpected), ("zero-padding", .authenticationFailed),
        ("decrypts-to-garbage", .authenticationFailed), ("openssl-camellia256", .unsupported),
        ("decrypts-to-key-with-trailing-byte", .authenticationFailed), ("openssl-pbes1-md5-des", .unsupported),
        ("openssl-pbes1-sha1-3des", .unsupported), ("openssl-traditional-pem", .unsupported),
        ("iterations-2147483647", .unsupported), ("scrypt-huge", .unsupported), ("kdf-unknown", .unsupported),
        ("prf-unknown", .unsupported), ("cipher-unknown", .unsupported), ("cipher-aes256-gcm", .unsupported),
        ("iterations-0", .invalidKey), ("iterations-negative", .invalidKey), ("trailing-byte", .invalidKey),
        ("salt-as-algorithm", .invalidKey), ("pem-plain-label", .passphraseUnexpected),
    ])
    func `each refusal of an encrypted key has its reason`(id: String, code: CryptoError.Code) throws {
        let cases = try vectors("encrypted_keys", count: 87).cases
        let item = try #require(cases.first { (try? $0.string("id")) == id })
        let passphrase = hex((try? item.string("passphrase_hex")) ?? "")
        let (_, codes) = try privateFingerprint(Array(try item.string("pem").utf8), passphrase)
        #expect(codes == [code, code])
    }
}
