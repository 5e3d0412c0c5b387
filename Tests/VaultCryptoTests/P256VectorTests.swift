import Testing
import VaultCrypto

/// The cases of `TestVectors/pki` that concern P-256; see the README there.
@Suite struct P256VectorTests {
    private func cases(_ name: String, count: Int) throws -> [TestJSON] {
        let root = try TestJSON(parsing: try [UInt8](vectorFile: "pki/\(name).json"))
        let cases = try root.array("cases")
        #expect(cases.count == count, "the count of the README")
        return cases
    }

    private func fingerprint(_ key: P256PublicKey) throws -> String {
        let keyInfo = key.subjectPublicKeyInfo
        return "sha256:" + (try SHA256.hash(keyInfo.span).hex.prefix(16))
    }

    /// True if the answer is one that the case allows; `accepted` is the fingerprint of the key that was read.
    private func isRight(_ item: TestJSON, member: String, accepted: String?) throws -> Bool {
        switch (try item.string("expect"), accepted) {
        case ("accept", nil), ("reject", .some): false
        case (_, .some(let fingerprint)): try item.string(member) == fingerprint
        default: true
        }
    }

    /// The message of a case, which is written out or as a number of repetitions.
    private func message(of item: TestJSON) throws -> [UInt8] {
        if item.has("message_hex") { return try item.bytes(hex: "message_hex") }
        let pattern = try item.member("message")
        let part = try pattern.bytes(hex: "repeat_hex")
        return Array((0..<(try pattern.int("times"))).map { _ in part }.joined())
    }

    @Test func `public keys are read or refused as the vectors say, and RSA keys refused`() throws {
        var answers: [String: Int] = [:]
        for item in try cases("public_keys", count: 53) {
            let id = try item.string("id")
            let text = Array(try item.string("pem").utf8)
            let key = try? P256PublicKey(pem: text.span)
            if case .string("rsa")? = try? item.member("kind") {
                #expect(key == nil, "\(id)")
                answers["rsa", default: 0] += 1
                continue
            }
            let right = try isRight(item, member: "fingerprint", accepted: try key.map(fingerprint))
            #expect(right, "\(id)")
            answers[try item.string("expect"), default: 0] += 1
        }
        // 7 of the 14 to accept and 3 of the 8 optional ones are RSA keys.
        #expect(answers == ["accept": 7, "reject": 31, "optional": 5, "rsa": 10])
    }

    @Test func `private keys are read or refused as the vectors say, and RSA keys refused`() throws {
        var answers: [String: Int] = [:]
        for item in try cases("private_keys", count: 34) {
            let id = try item.string("id")
            let text = Array(try item.string("pem").utf8)
            let key = try? P256PrivateKey(pem: text.span)
            if id.hasPrefix("rsa-"), try item.string("expect") != "reject" {
                #expect(key == nil, "\(id)")
                answers["rsa", default: 0] += 1
                continue
            }
            let right = try isRight(
                item, member: "public_fingerprint", accepted: try (key?.publicKey).map(fingerprint))
            #expect(right, "\(id)")
            answers[try item.string("expect"), default: 0] += 1
        }
        #expect(answers == ["accept": 4, "reject": 23, "optional": 4, "rsa": 3])
    }

    @Test func `signatures are valid exactly where the vectors say so`() throws {
        var valid = 0
        for item in try cases("signatures", count: 47) {
            let id = try item.string("id")
            let keyInfo = try item.bytes(hex: "public_spki_hex")
            let (signature, message) = (try item.bytes(hex: "signature_hex"), try message(of: item))
            let answer = try P256PublicKey(subjectPublicKeyInfo: keyInfo.span)
                .isValid(signature: signature.span, for: message.span)
            #expect(answer == (try item.bool("valid")), "\(id)")
            valid += answer ? 1 : 0
        }
        #expect(valid == 12)
    }
}
