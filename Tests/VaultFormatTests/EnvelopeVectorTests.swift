import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@Suite("Envelopes")
struct EnvelopeVectorTests {
    private let file: VectorFile
    private let cipher: VaultCipher

    init() throws {
        file = try VectorFile("envelope.json")
        cipher = try VaultFormatTests.cipher(try file.root.hex("key_hex"))
    }

    private func checkIDs(_ row: JSONValue, _ ciphertext: [UInt8]) throws {
        let digest = try hash(ciphertext)
        #expect(ObjectID(digest: digest, width: .short).text == (try row.string("object_id_12")))
        #expect(ObjectID(digest: digest, width: .long).text == (try row.string("object_id_32")))
    }

    @Test("sealing with a given IV gives the reference's bytes, ids and content hashes")
    func fixedIV() throws {
        for row in try file.rows("v1_fixed_iv", count: 5) {
            let plaintext = try row.base64("plaintext_b64")
            let sealed = try cipher.sealRandom(plaintext, random: GivenBytes(try row.hex("iv_hex")))
            #expect(sealed == (try row.base64("ciphertext_b64")))
            #expect(try cipher.open(sealed, limit: plaintext.count) == plaintext)
            let digest = try hash(plaintext)
            #expect(ContentHash(digest: digest).hex == (try row.string("content_hash")))
            try checkIDs(row, sealed)
        }
    }

    @Test("deterministic sealing gives the reference's bytes")
    func deterministic() throws {
        for row in try file.rows("deterministic", count: 5) {
            let plaintext = try row.base64("plaintext_b64")
            let sealed = try cipher.sealDeterministic(plaintext)
            #expect(sealed == (try row.base64("ciphertext_b64")))
            #expect(Array(sealed.prefix(12)) == (try row.hex("iv_hex")))
            try checkIDs(row, sealed)
        }
    }

    @Test("texts of trees are sealed as the reference does, and open again")
    func metadata() throws {
        for row in try file.rows("metadata_deterministic", count: 11) {
            let plaintext = try row.utf8("text")
            let sealed = try cipher.sealText(plaintext)
            #expect(sealed == (try row.string("encrypted")))
            #expect(try cipher.openText(utf8(sealed)) == plaintext)
        }
        for row in try file.rows("metadata_random_iv", count: 2) {
            #expect(try cipher.openText(row.utf8("encrypted")) == (try row.utf8("text")))
        }
    }

    @Test("a text of 740 bytes fits, one of 741 does not, and sealed ones that long are not opened")
    func textLimit() throws {
        let longest = [UInt8](repeating: 0x61, count: 740)
        #expect(try cipher.sealText(longest).utf8.count == 1024)
        #expect(try cipher.sealTextRandom(longest, random: SecureRandom()).utf8.count == 1024)
        let tooLong = longest + [0x61]
        #expect(failure { _ = try cipher.sealText(tooLong) } == .limitExceeded)
        #expect(failure { _ = try cipher.sealTextRandom(tooLong, random: SecureRandom()) } == .limitExceeded)
        let sealed = base64Encoded(try cipher.sealDeterministic(tooLong))
        #expect(failure { _ = try cipher.openText(sealed) } == .limitExceeded)
        #expect(failure { _ = try cipher.openText(utf8("AAA")) } == .malformed)
    }

    @Test("blobs are deflated exactly when the reference deflates them")
    func deflate() throws {
        let deflate = try #require(file.root["deflate"])
        #expect(VaultCipher.deflateMagic == (try deflate.hex("magic_hex")))
        for row in try deflate.rows("encrypted", count: 7) {
            let plaintext = try row.base64("plaintext_b64")
            let stored = try row.base64("ciphertext_b64")
            #expect(try cipher.open(stored, limit: plaintext.count) == plaintext)
            try checkIDs(row, stored)
            let isDeflated = try row.integer("envelope") == 2
            let sealed = try cipher.sealBlob(plaintext, deflate: true, random: SecureRandom())
            #expect(sealed.starts(with: VaultCipher.deflateMagic) == isDeflated, "\(row.testDescription)")
            #expect(try cipher.open(sealed, limit: plaintext.count) == plaintext)
            let plain = try cipher.sealBlob(plaintext, deflate: false, random: SecureRandom())
            #expect(plain.count == plaintext.count + VaultCipher.overhead)
        }
        // Without the feature, for anything but a blob, and with a chosen IV: never deflated.
        let never = try deflate.rows("never_deflated", count: 3)
        #expect(never.allSatisfy { $0["envelope"]?.int == 1 })
        let zeros = [UInt8](repeating: 0, count: 1000)
        for sealed in [
            try cipher.sealBlob(zeros, deflate: false, random: SecureRandom()),
            try cipher.sealRandom(zeros, random: SecureRandom()), try cipher.sealDeterministic(zeros),
        ] {
            #expect(sealed.count == zeros.count + VaultCipher.overhead)
        }
    }

    @Test("every object the reference opens opens here")
    func opens() throws {
        for row in try file.rows("decrypt_ok", count: 5) {
            let plaintext = try row.base64("plaintext_b64")
            #expect(try cipher.open(row.base64("ciphertext_b64"), limit: plaintext.count) == plaintext)
        }
    }

    @Test("what the reference does not open does not open here")
    func opensNot() throws {
        for row in try file.rows("decrypt_fail", count: 16) {
            let cipher = try VaultFormatTests.cipher(try row.hex("key_hex"))
            let object = try row.base64("ciphertext_b64")
            let code = failure { _ = try cipher.open(object, limit: 1 << 20) }
            let isInflating = try row.string("reference_error").hasPrefix("error:")
            #expect(code == (isInflating ? .malformed : .decryptFailed), "\(row.testDescription)")
        }
    }

    @Test("odd deflated objects open or fail as in the reference")
    func blobEnvelopes() throws {
        let file = try VectorFile("blob_envelopes.json")
        let cipher = try VaultFormatTests.cipher(try file.root.hex("key_hex"))
        for row in try file.rows("decrypt", count: 16) {
            let object = try row.hex("envelope_hex")
            if let plaintext = row["plaintext_hex"]?.text.flatMap({ hexDecoded(utf8($0)) }) {
                #expect(try cipher.open(object, limit: plaintext.count) == plaintext, "\(row.testDescription)")
            } else {
                #expect(failure { _ = try cipher.open(object, limit: 1 << 20) } != nil, "\(row.testDescription)")
            }
        }
        for row in try file.rows("encrypt_choice", count: 9) {
            let plaintext = try row.hex("plaintext_hex")
            let short = try deflated(plaintext)
            #expect(short.count == Int(try row.integer("deflated_length")))
            let sealed = try cipher.sealBlob(plaintext, deflate: true, random: SecureRandom())
            #expect(sealed.count == Int(try row.integer("stored_length")))
            #expect(sealed.starts(with: VaultCipher.deflateMagic) == (try row.string("envelope") == "v2"))
        }
    }

    @Test("a plaintext over the limit is refused, deflated or not")
    func limits() throws {
        let zeros = [UInt8](repeating: 0, count: 5_000_000)
        let bomb = try cipher.sealBlob(zeros, deflate: true, random: SecureRandom())
        #expect(bomb.count < 10_000)
        #expect(failure { _ = try cipher.open(bomb, limit: 4_999_999) } == .limitExceeded)
        #expect(try cipher.open(bomb, limit: 5_000_000).count == 5_000_000)
        let plain = try cipher.sealRandom(zeros, random: SecureRandom())
        #expect(failure { _ = try cipher.open(plain, limit: 4_999_999) } == .limitExceeded)
    }

    @Test("any plaintext comes back, sealed in any way")
    func roundTrip() throws {
        let random = SeededRandom.announced("envelope round trip")
        for _ in 0..<300 {
            let plaintext = random.mixedBytes(upTo: 3000)
            for sealed in [
                try cipher.sealRandom(plaintext, random: random),
                try cipher.sealDeterministic(plaintext),
                try cipher.sealBlob(plaintext, deflate: true, random: random),
                try cipher.sealBlob(plaintext, deflate: false, random: random),
            ] {
                #expect(try cipher.open(sealed, limit: plaintext.count) == plaintext, "\(random)")
                var damaged = sealed
                damaged[random.below(damaged.count)] ^= 1 << UInt8(random.below(8))
                #expect(failure { _ = try cipher.open(damaged, limit: 10_000) } == .decryptFailed, "\(random)")
            }
        }
    }
}

/// A source that gives the same bytes whenever that many are asked for.
struct GivenBytes: RandomSource {
    let given: [UInt8]

    init(_ given: [UInt8]) { self.given = given }

    func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        guard count == given.count else { throw CryptoError(.invalidLength) }
        NonceDraws.note(given)
        return given
    }
}

extension SeededRandom {
    /// Bytes that are sometimes noise and sometimes repeat themselves.
    func mixedBytes(upTo count: Int) -> [UInt8] {
        let length = below(count)
        if below(2) == 0 { return block(length) }
        let pattern = block(1 + below(20))
        return (0..<length).map { pattern[$0 % pattern.count] }
    }
}
