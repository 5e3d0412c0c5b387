import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

@Suite struct EnvelopeTests {
    private let identities: TestIdentities
    private let alice: KeyPair
    private let bob: KeyPair
    private let carol: KeyPair
    private let signers: KnownSigners
    private let message = Array("Treffen um acht.\n".utf8)

    init() throws {
        identities = try TestIdentities()
        alice = try identities["alice"].pair()
        bob = try identities["bob"].pair()
        carol = try identities["carol"].pair()
        signers = try identities.signers(contacts: ["bob"], own: ["alice"])
    }

    private func inner(_ envelope: [UInt8]) throws -> JSONValue {
        let decoded = Base64.decode(envelope.span)
        let bytes = try #require(decoded)
        return try JSONReader.parse(bytes.span)
    }

    private func envelope(_ value: JSONValue) -> [UInt8] {
        let bytes = JSONWriter.bytes(value, .python)
        return Base64.encode(bytes.span)
    }

    /// The envelope with another value for a member, or without it.
    private func changed(_ sealed: [UInt8], _ name: String, _ value: JSONValue?) throws -> [UInt8] {
        var members = try #require(try inner(sealed).members)
        let place = try #require(members.firstIndex { $0.name == name })
        if let value { members[place].value = value } else { members.remove(at: place) }
        return envelope(.object(members))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1000, 100_003])
    func `messages of any length come back, signed and not`(count: Int) throws {
        let plaintext = SeededRandom.announced("EnvelopeTests").block(count)
        let plain = try SealedEnvelope.seal(plaintext, to: alice.encryption.publicKey)
        let opened = try SealedEnvelope.open(plain, with: alice.encryption, signers: signers)
        #expect(try opened.plaintext() == plaintext)
        #expect(opened.signature == .unsigned && opened.form == .version2)
        let signed = try SealedEnvelope.seal(plaintext, to: alice.encryption.publicKey, signer: bob.signing)
        let verified = try SealedEnvelope.open(signed, with: alice.encryption, signers: signers)
        #expect(try verified.plaintext() == plaintext)
        #expect(try verified.signature == .verified(identities["bob"].known(.contact), covers: .whole))
        let sealed = try SealedEnvelope.seal(
            plaintext, toAll: [bob.encryption.publicKey, alice.encryption.publicKey], signer: alice.signing)
        for key in [alice.encryption, bob.encryption] {
            let opened = try SealedEnvelope.open(sealed, with: key, signers: signers)
            #expect(try opened.plaintext() == plaintext)
            #expect(try opened.signature == .verified(identities["alice"].known(.ownKey), covers: .whole))
        }
    }

    @Test func `version 2 has the members, order and spelling of the reference`() throws {
        let signed = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        let value = try inner(signed)
        #expect(value.members?.map(\.name) == ["v", "w", "i", "c", "s", "f", "sf"])
        #expect(envelope(value) == signed)
        #expect(!signed.contains(0x0A))
        let plain = try SealedEnvelope.seal(message, to: alice.encryption.publicKey)
        #expect(try inner(plain).members?.map(\.name) == ["v", "w", "i", "c"])
        #expect(value["f"]?.text == bob.signing.publicKey.fingerprint.text)
    }

    @Test func `no envelope repeats a key, an IV or a wrapping`() throws {
        let first = try inner(try SealedEnvelope.seal(message, to: alice.encryption.publicKey))
        let second = try inner(try SealedEnvelope.seal(message, to: alice.encryption.publicKey))
        #expect(first["w"] != second["w"] && first["i"] != second["i"] && first["c"] != second["c"])
    }

    @Test func `a signature moved to another wrapping of the same key is noticed`() throws {
        // What vector rewrapped-key-same-signature shows for the signature that the reference makes.
        let sealed = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        let value = try inner(sealed)
        let wrapped = try #require(EnvelopeText.bytes(value, "w"))
        let key = try SealedEnvelope.unwrap(wrapped, with: alice.encryption)
        let again = try SealedEnvelope.wrap(key, to: carol.encryption.publicKey)
        let moved = try changed(sealed, "w", .string(Base64.text(again.span)))
        let opened = try SealedEnvelope.open(moved, with: carol.encryption, signers: signers)
        #expect(try opened.signature == .invalid(identities["bob"].known(.contact)))
        #expect(failure { _ = try opened.plaintext() } == .signatureBad)
        // Without the new member it is what the reference sees: a signature over the ciphertext.
        let stripped = try changed(moved, "sf", nil)
        let seen = try SealedEnvelope.open(stripped, with: carol.encryption, signers: signers)
        #expect(try seen.signature == .verified(identities["bob"].known(.contact), covers: .ciphertext))
    }

    @Test func `the two signatures are checked both`() throws {
        let sealed = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        let other = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        for name in ["s", "sf"] {
            let foreign = try #require(try inner(other)[name: name])
            let mixed = try changed(sealed, name, foreign)
            let opened = try SealedEnvelope.open(mixed, with: alice.encryption, signers: signers)
            #expect(try opened.signature == .invalid(identities["bob"].known(.contact)), "\(name)")
            for value in [JSONValue.integer(1), .string("AAA"), .string("A\nAA")] {
                let broken = try changed(sealed, name, value)
                let code = failure { _ = try SealedEnvelope.open(broken, with: alice.encryption, signers: signers) }
                #expect(code == .objectCorrupt, "\(name)")
            }
        }
        let emptied = try changed(sealed, "sf", .string(""))
        let opened = try SealedEnvelope.open(emptied, with: alice.encryption, signers: signers)
        #expect(try opened.signature == .invalid(identities["bob"].known(.contact)))
        #expect(
            try SealedEnvelope.open(sealed, with: alice.encryption, signers: .none).signature
                == .unknownSigner(claimed: bob.signing.publicKey.fingerprint.text))
    }

    /// What only who can open an envelope of version 2 computes from it.
    private func knowledge(_ value: JSONValue, _ recipient: KeyPair) throws -> [UInt8] {
        let wrapped = try #require(EnvelopeText.bytes(value, "w"))
        let key = try SealedEnvelope.unwrap(wrapped, with: recipient.encryption)
        let derived = try SealedMessage.derive(key, "vaultctl/envelope-signer/1")
        return derived.withBytes { bytes in [UInt8](copying: bytes) }
    }

    @Test func `nobody signs as a whole what he can not open`() throws {
        // Carol is on the way, takes Bob's signatures away and puts her own there, over everything that she sees.
        let sealed = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        let value = try inner(sealed)
        let member = { (name: StaticString) in try #require(EnvelopeText.bytes(value, name)) }
        let hash = try FileDigest.of(try member("c"))
        let recipient = try FileDigest.of(alice.encryption.publicKey.subjectPublicKeyInfo)
        let name = carol.signing.publicKey.fingerprint.text
        let signers = try identities.signers(contacts: ["bob", "carol"], own: ["alice"])
        let carols = try identities["carol"].known(.contact)
        let guesses: [([UInt8]?, EnvelopeSignature)] = [
            (nil, .invalid(carols)), ([], .invalid(carols)), ([UInt8](repeating: 0, count: 32), .invalid(carols)),
            // Alice, who can open it, could have told her.
            (try knowledge(value, alice), .verified(carols, covers: .whole)),
        ]
        for (guess, expected) in guesses {
            var fields = SignedFields("vaultctl/envelope-signature/1")
            for field in [[2], recipient, try member("w"), try member("i"), hash] { fields.append(field) }
            if let guess { fields.append(guess) }
            fields.append(Array(name.utf8))
            let older = try carol.signing.sign(digest: hash)
            let whole = try carol.signing.sign(digest: try fields.signedDigest())
            var forged = try changed(sealed, "s", .string(Base64.text(older.span)))
            forged = try changed(forged, "f", .string(name))
            forged = try changed(forged, "sf", .string(Base64.text(whole.span)))
            let opened = try SealedEnvelope.open(forged, with: alice.encryption, signers: signers)
            #expect(opened.signature == expected)
            // In the form of the reference it works, which is why that signature covers no more than the ciphertext.
            let seen = try SealedEnvelope.open(
                try changed(forged, "sf", nil), with: alice.encryption, signers: signers)
            #expect(seen.signature == .verified(carols, covers: .ciphertext))
            #expect(failure { _ = try seen.plaintext(signedBy: carols.identity) } == .signatureBad)
        }
    }

    @Test func `no signature of a file is one over a whole envelope`() throws {
        let one = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        let several = try SealedEnvelope.seal(message, toAll: [alice.encryption.publicKey], signer: bob.signing)
        for sealed in [one, several] {
            let value = try inner(sealed)
            let member = { (name: StaticString) in try #require(EnvelopeText.bytes(value, name)) }
            let hash = try FileDigest.of(try member("c"))
            let signer = Array(bob.signing.publicKey.fingerprint.text.utf8)
            let recipient = try FileDigest.of(alice.encryption.publicKey.subjectPublicKeyInfo)
            let knowledge = sealed == one ? try knowledge(value, alice) : []
            var fields: SignedFields
            if sealed == one {
                fields = SignedFields("vaultctl/envelope-signature/1")
                for field in [[2], recipient, try member("w"), try member("i"), hash, knowledge, signer] {
                    fields.append(field)
                }
            } else {
                let item = try #require(value["r"]?.items?.first)
                let wrapped = try #require(EnvelopeText.bytes(item, "w"))
                fields = SignedFields("vaultctl/sealed-signature/1")
                for field in [[0, 1], recipient, wrapped, try member("i"), hash, try member("h"), signer] {
                    fields.append(field)
                }
            }
            // The bytes are those that are signed, and the signature of a file that holds them is not taken.
            let right = try bob.signing.sign(digest: try fields.signedDigest())
            let ofFile = try DetachedSignature.sign(fields.bytes, with: bob.signing).signature
            for (signature, isTaken) in [(right, true), (ofFile, false)] {
                let forged = try changed(sealed, "sf", .string(Base64.text(signature.span)))
                let opened = try SealedEnvelope.open(forged, with: alice.encryption, signers: signers)
                let known = try identities["bob"].known(.contact)
                #expect(opened.signature == (isTaken ? .verified(known, covers: .whole) : .invalid(known)))
            }
        }
    }

    @Test func `a caller who asks for a signer gets the message of that one alone, meant for this recipient`() throws {
        let bobs = try identities["bob"].known(.contact).identity
        let recipient = alice.encryption.publicKey
        let open = { (bytes: [UInt8]) in
            try SealedEnvelope.open(bytes, with: alice.encryption, signers: signers)
        }
        let byBob = try SealedEnvelope.seal(message, to: recipient, signer: bob.signing)
        let stripped = try changed(byBob, "sf", nil)
        let unsigned = try changed(changed(changed(byBob, "s", nil), "f", nil), "sf", nil)
        let false1 = try changed(byBob, "s", .string(Base64.text([UInt8](repeating: 1, count: 64).span)))
        #expect(try open(byBob).plaintext(signedBy: bobs) == message)
        #expect(try open(stripped).plaintext(signedBy: bobs, covering: .ciphertext) == message)
        let sealedByBob = try SealedEnvelope.seal(message, toAll: [recipient], signer: bob.signing)
        #expect(try open(sealedByBob).plaintext(signedBy: bobs) == message)
        // Nobody's, no longer the whole's, an own key's, an unknown key's, a false one.
        for bytes in [
            stripped, unsigned, false1, try SealedEnvelope.seal(message, toAll: [recipient]),
            try SealedEnvelope.seal(message, to: recipient, signer: alice.signing),
            try SealedEnvelope.seal(message, toAll: [recipient], signer: carol.signing),
        ] {
            #expect(failure { _ = try open(bytes).plaintext(signedBy: bobs) } == .signatureBad)
        }
        for bytes in [unsigned, false1, try SealedEnvelope.seal(message, to: recipient, signer: alice.signing)] {
            #expect(
                failure { _ = try open(bytes).plaintext(signedBy: bobs, covering: .ciphertext) } == .signatureBad)
        }
        // A label is not a key, and who has no signing key signs nothing.
        let namesake = PublicIdentity(label: bobs.label, encryption: recipient, signing: alice.signing.publicKey)
        let mute = PublicIdentity(label: bobs.label, encryption: bobs.encryption, signing: nil)
        for other in [namesake, mute] {
            #expect(failure { _ = try open(byBob).plaintext(signedBy: other) } == .signatureBad)
        }
        #expect(failure { _ = try open(unsigned).plaintext(signedBy: mute) } == .signatureBad)
    }

    @Test func `every changed character of an envelope is noticed`() throws {
        let one = try SealedEnvelope.seal(message, to: alice.encryption.publicKey, signer: bob.signing)
        let several = try SealedEnvelope.seal(
            message, toAll: [alice.encryption.publicKey, carol.encryption.publicKey], signer: bob.signing)
        for sealed in [one, several] {
            for place in stride(from: 0, to: sealed.count, by: 23) {
                var bytes = sealed
                bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                guard let opened = try? SealedEnvelope.open(bytes, with: alice.encryption, signers: signers) else {
                    continue
                }
                // A member that lost its name or the signer's name may leave a readable message, never a verified one.
                if case .verified = opened.signature { Issue.record("place \(place)") }
            }
        }
    }

    @Test func `a sealed message names its recipients and opens for no other`() throws {
        let keys = [alice, bob].map(\.encryption.publicKey)
        let sealed = try SealedEnvelope.seal(message, toAll: keys + [keys[0]], signer: bob.signing)
        let summary = try SealedEnvelope.summary(of: sealed)
        #expect(summary.form == .sealed && summary.recipients == keys.map(\.fingerprint))
        #expect(summary.claimedSigner == bob.signing.publicKey.fingerprint.text)
        #expect(
            failure { _ = try SealedEnvelope.open(sealed, with: carol.encryption, signers: signers) }
                == .decryptFailed)
        #expect(failure { _ = try SealedEnvelope.seal(message, toAll: []) } == .usage)
        let plain = try SealedEnvelope.seal(message, toAll: keys)
        #expect(try SealedEnvelope.open(plain, with: bob.encryption, signers: signers).signature == .unsigned)
        #expect(try SealedEnvelope.summary(of: plain).claimedSigner == nil)
        let single = try SealedEnvelope.seal(message, to: keys[0])
        #expect(try SealedEnvelope.summary(of: single).recipients.isEmpty)
    }

    @Test func `the head of a sealed message has its form before any key is at hand`() throws {
        let sealed = try SealedEnvelope.seal(
            message, toAll: [alice, carol].map(\.encryption.publicKey), signer: bob.signing)
        let recipients = try #require(try inner(sealed)["r"]?.items)
        let wrapped = try #require(recipients[0]["w"])
        func many(_ count: Int) -> JSONValue {
            .array(
                (0..<count).map { number in
                    let digits = String(number, radix: 16)
                    let hash = String(repeating: "0", count: 64 - digits.count) + digits
                    return .record(["k": .string(hash), "w": wrapped])
                })
        }
        #expect(try SealedEnvelope.summary(of: changed(sealed, "r", many(1024))).recipients.count == 1024)
        let upper = JSONValue.record(["k": .string(String(repeating: "A", count: 64)), "w": wrapped])
        let changes: [(String, JSONValue)] = [
            ("r", many(1025)), ("r", .array([])), ("r", .array(recipients + [recipients[1]])), ("r", .array([upper])),
            ("r", .array([.record(["w": wrapped])])), ("f", .string("")), ("f", .string("bob")), ("f", .null),
            ("f", .string(bob.signing.publicKey.fingerprint.text.uppercased())), ("sf", .null), ("h", .string("AAAA")),
            ("i", .string("AAAA")), ("c", .string("AAAA")),
        ]
        for (name, value) in changes {
            let bytes = try changed(sealed, name, value)
            #expect(failure { _ = try SealedEnvelope.summary(of: bytes) } == .objectCorrupt, "\(name) \(value)")
        }
    }

    @Test func `nobody outside changes the head of a sealed message`() throws {
        let sealed = try SealedEnvelope.seal(
            message, toAll: [alice, carol].map(\.encryption.publicKey), signer: bob.signing)
        let recipients = try #require(try inner(sealed)["r"]?.items)
        let changes: [[UInt8]] = [
            try changed(changed(sealed, "sf", nil), "f", nil),
            try changed(sealed, "r", .array([recipients[0]])),
            try changed(sealed, "r", .array(recipients.reversed())),
            try changed(sealed, "r", .array(recipients + [recipients[0]])),
            try changed(sealed, "r", .array([])),
            try changed(sealed, "f", .string(alice.signing.publicKey.fingerprint.text)),
            try changed(sealed, "h", .string(Base64.text([UInt8](repeating: 0, count: 32).span))),
            try changed(sealed, "sf", nil),
        ]
        for bytes in changes {
            let code = failure { _ = try SealedEnvelope.open(bytes, with: alice.encryption, signers: signers) }
            #expect(code == .decryptFailed || code == .objectCorrupt)
        }
        let newer = try changed(sealed, "sealed", .integer(2))
        #expect(failure { _ = try SealedEnvelope.summary(of: newer) } == .formatUnsupported)
    }

    @Test func `a long ciphertext is read where it stands, and only the one of the envelope itself`() throws {
        let long = SeededRandom.announced("EnvelopeTests").block(200_000)
        let sealed = try SealedEnvelope.seal(long, to: alice.encryption.publicKey, signer: bob.signing)
        var wrapped: [UInt8] = []
        for (index, byte) in sealed.enumerated() {
            if index % 76 == 0, index > 0 { wrapped += [0x0D, 0x0A] }
            wrapped.append(byte)
        }
        let text = try #require(try inner(sealed)["c"]?.text)
        var members = try #require(try inner(sealed).members)
        members.insert(JSONMember(name: "x", value: .record(["c": .string(text)])), at: 0)
        for bytes in [sealed, wrapped, wrapped + [0x0A], envelope(.object(members))] {
            let opened = try SealedEnvelope.open(bytes, with: alice.encryption, signers: signers)
            #expect(try opened.plaintext() == long)
        }
        // Some writers of JSON escape the slash.
        let decoded = Base64.decode(sealed.span) ?? []
        let escaped = Array(String(decoding: decoded, as: UTF8.self).replacing("/", with: "\\/").utf8)
        let slashed = Base64.encode(escaped.span)
        #expect(try SealedEnvelope.open(slashed, with: alice.encryption, signers: signers).plaintext() == long)
        // A short one beside a long one of the same name in another object.
        let short = try SealedEnvelope.seal(message, to: alice.encryption.publicKey)
        var others = try #require(try inner(short).members)
        others.insert(JSONMember(name: "x", value: .record(["c": .string(text)])), at: 0)
        let opened = try SealedEnvelope.open(envelope(.object(others)), with: alice.encryption, signers: signers)
        #expect(try opened.plaintext() == message)
        // Padding at the end of a piece, a foreign character, an escape, a cut, a repeated member.
        var padded = Array(text.utf8)
        padded[65_535] = UInt8(ascii: "=")
        var foreign = Array(text.utf8)
        foreign[70_000] = UInt8(ascii: "*")
        for changed in [padded, foreign, Array(text.utf8.dropLast(4)), Array(text.utf8.dropLast(1))] {
            let value = JSONValue.string(String(decoding: changed, as: UTF8.self))
            let bytes = try self.changed(sealed, "c", value)
            let code = failure { _ = try SealedEnvelope.open(bytes, with: alice.encryption, signers: signers) }
            #expect(code == .decryptFailed)
        }
        members[0] = JSONMember(name: "c", value: .string(text))
        let twice = envelope(.object(members))
        let code = failure { _ = try SealedEnvelope.open(twice, with: alice.encryption, signers: signers) }
        #expect(code == .objectCorrupt)
    }
}
