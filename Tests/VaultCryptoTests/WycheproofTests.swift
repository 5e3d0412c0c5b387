import Testing
import VaultCrypto

/// Every case of every copied Wycheproof file; see `TestVectors/wycheproof/README.md`.
@Suite struct WycheproofTests {
    @Test func `AES-GCM: sizes of the format behave as the vectors say, all others are refused`() throws {
        let expected = [
            "key of 128 bits, refused": 108, "key of 192 bits, refused": 103,
            "IV of another size than 96 bits, refused": 39,
        ]
        try Wycheproof("aes_gcm").run(outOfScope: expected) { item in
            let (key, iv) = (try item.fields.bytes(hex: "key"), try item.fields.bytes(hex: "iv"))
            let (aad, message) = (try item.fields.bytes(hex: "aad"), try item.fields.bytes(hex: "msg"))
            let (ciphertext, tag) = (try item.fields.bytes(hex: "ct"), try item.fields.bytes(hex: "tag"))
            guard key.count == 32 else {
                guard errorCode({ _ = try AESGCM(key: key.span) }) == .invalidKey else { return .failed("key taken") }
                return .outOfScope("key of \(key.count * 8) bits, refused")
            }
            let aead = try AESGCM(key: key.span)
            guard iv.count == 12 else {
                guard errorCode({ _ = try aead.seal(message.span, iv: iv.span, aad: aad.span) }) == .invalidLength,
                    errorCode({ _ = try aead.makeSealer(iv: iv.span) }) == .invalidLength,
                    errorCode({ _ = try aead.makeOpener(iv: iv.span) }) == .invalidLength
                else { return .failed("IV taken") }
                return .outOfScope("IV of another size than 96 bits, refused")
            }
            let sealed = iv + ciphertext + tag
            guard item.verdict == .valid else {
                let code = errorCode { _ = try aead.open(sealed.span, aad: aad.span) }
                return code == .authenticationFailed ? .passed : .failed("opened")
            }
            guard try aead.seal(message.span, iv: iv.span, aad: aad.span) == sealed else { return .failed("seal") }
            guard try aead.open(sealed.span, aad: aad.span) == message else { return .failed("open") }
            return .passed
        }
    }

    @Test func `HMAC-SHA256 gives the tags of the vectors and no others`() throws {
        try Wycheproof("hmac_sha256").run { item in
            let tag = try item.fields.bytes(hex: "tag")
            let (secret, message) = (try item.fields.bytes(hex: "key"), try item.fields.bytes(hex: "msg"))
            let computed = try HMACSHA256(key: secret.span).authenticate(message.span)
            guard tag.count == (try item.group.int("tagSize")) / 8 else { return .failed("tag size") }
            let same = Array(computed.prefix(tag.count)) == tag
            return same == (item.verdict == .valid) ? .passed : .failed("tag \(computed.hex)")
        }
    }

    @Test func `HKDF-SHA256 gives the outputs of the vectors and refuses longer ones than the standard has`() throws {
        try Wycheproof("hkdf_sha256").run { item in
            let (ikm, salt) = (try item.fields.bytes(hex: "ikm"), try item.fields.bytes(hex: "salt"))
            let (info, size) = (try item.fields.bytes(hex: "info"), try item.fields.int("size"))
            guard item.verdict == .valid else {
                let code = errorCode {
                    _ = try HKDF.sha256(ikm: ikm.span, salt: salt.span, info: info.span, count: size)
                }
                return code == .invalidLength ? .passed : .failed("derived \(size) bytes")
            }
            let output = try HKDF.sha256(ikm: ikm.span, salt: salt.span, info: info.span, count: size)
            return revealed(output) == (try item.fields.bytes(hex: "okm")) ? .passed : .failed("output")
        }
    }

    @Test func `PBKDF2-HMAC-SHA256 gives the keys of the vectors`() throws {
        try Wycheproof("pbkdf2_hmacsha256").run { item in
            let (password, salt) = (try item.fields.bytes(hex: "password"), try item.fields.bytes(hex: "salt"))
            let (iterations, count) = (try item.fields.int("iterationCount"), try item.fields.int("dkLen"))
            let output = try PBKDF2.sha256(
                password: password.span, salt: salt.span, iterations: iterations, count: count)
            return revealed(output) == (try item.fields.bytes(hex: "dk")) ? .passed : .failed("output")
        }
    }

    @Test func `ECDSA P-256: raw signatures are valid exactly where the vectors say so`() throws {
        try Wycheproof("ecdsa_secp256r1_sha256_p1363").run { item in
            let text = Array(try item.group.string("publicKeyPem").utf8)
            let key = try P256PublicKey(pem: text.span)
            guard key.subjectPublicKeyInfo == (try item.group.bytes(hex: "publicKeyDer")) else { return .failed("key") }
            let (signature, message) = (try item.fields.bytes(hex: "sig"), try item.fields.bytes(hex: "msg"))
            let valid = key.isValid(signature: signature.span, for: message.span)
            return valid == (item.verdict == .valid) ? .passed : .failed("answer \(valid)")
        }
    }

    @Test func `ECDSA P-256: DER signatures read strictly are valid exactly where the vectors say so`() throws {
        try Wycheproof("ecdsa_secp256r1_sha256").run { item in
            let keyInfo = try item.group.bytes(hex: "publicKeyDer")
            let key = try P256PublicKey(subjectPublicKeyInfo: keyInfo.span)
            let (der, message) = (try item.fields.bytes(hex: "sig"), try item.fields.bytes(hex: "msg"))
            guard let raw = ECDSASignature.raw(der: der.span) else {
                return item.verdict == .invalid ? .passed : .failed("not read")
            }
            let valid = key.isValid(signature: raw.span, for: message.span)
            guard valid == (item.verdict == .valid) else { return .failed("answer \(valid)") }
            guard !valid || ECDSASignature.der(raw: raw.span) == der else { return .failed("written differently") }
            return .passed
        }
    }

    @Test func `P-256 public keys as DER: valid ones are read, all others refused`() throws {
        try Wycheproof("ecdh_secp256r1").run { item in
            let der = try item.fields.bytes(hex: "public")
            guard item.verdict == .valid else {
                let code = errorCode { _ = try P256PublicKey(subjectPublicKeyInfo: der.span) }
                return code == .invalidKey ? .passed : .failed("taken")
            }
            let key = try P256PublicKey(subjectPublicKeyInfo: der.span)
            return key.subjectPublicKeyInfo == der ? .passed : .failed("changed")
        }
    }

    @Test func `P-256 keys as PEM: valid ones are read, all other public ones refused`() throws {
        try Wycheproof("ecdh_secp256r1_pem").run { item in
            let text = Array(try item.fields.string("public").utf8)
            // The private halves are all well formed and lack the public one.
            let privateText = Array(try item.fields.string("private").utf8)
            let privateKey = try P256PrivateKey(pem: privateText.span)
            let written = revealed(try privateKey.pem())
            let again = try P256PrivateKey(pem: written.span)
            guard again.publicKey.pem == privateKey.publicKey.pem else { return .failed("private key changed") }
            guard item.verdict == .valid else {
                return errorCode { _ = try P256PublicKey(pem: text.span) } == .invalidKey ? .passed : .failed("taken")
            }
            return try P256PublicKey(pem: text.span).pem == text ? .passed : .failed("changed")
        }
    }
}
