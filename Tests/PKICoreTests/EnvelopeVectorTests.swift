import Testing
import VaultFormat

@testable import PKICore

/// The cases of `TestVectors/pki/envelopes.json`; see the README there.
@Suite struct EnvelopeVectorTests {
    private func name(_ signature: EnvelopeSignature) -> String {
        switch signature {
        case .unsigned: "unsigned"
        case .verified: "verified"
        case .unknownSigner: "unknown-signer"
        case .invalid: "invalid"
        }
    }

    @Test func `envelopes open or not, and are signed or not, as the vectors say`() throws {
        let identities = try TestIdentities()
        var counts: [String: Int] = [:]
        for item in try pkiCases("envelopes", count: 91) {
            let id = item["id"]?.text ?? ""
            let recipient = try #require(item["recipient"]?.text)
            let key = try identities[recipient].pair().encryption
            let contacts = (item["contacts"]?.items ?? []).compactMap(\.text)
            let signers = try identities.signers(contacts: contacts, own: [recipient])
            let bytes = try content(item, "envelope")
            guard item["expect"]?.text == "accept" else {
                let code = failure { _ = try SealedEnvelope.open(bytes, with: key, signers: signers) }
                #expect(code?.exitCode == 8 || code == .formatUnsupported, "\(id) \(String(describing: code))")
                counts["reject", default: 0] += 1
                continue
            }
            let opened = try SealedEnvelope.open(bytes, with: key, signers: signers)
            #expect(try opened.content == content(item, "plaintext"), "\(id)")
            #expect(name(opened.signature) == item["signature"]?.text, "\(id)")
            counts[name(opened.signature), default: 0] += 1
            if case .verified(_, let covers) = opened.signature { #expect(covers == .ciphertext, "\(id)") }
            if case .invalid = opened.signature {
                #expect(failure { _ = try opened.plaintext() } == .signatureBad, "\(id)")
            } else {
                #expect(try opened.plaintext() == opened.content, "\(id)")
            }
        }
        #expect(counts == ["reject": 56, "verified": 15, "unsigned": 13, "invalid": 6, "unknown-signer": 1])
    }

    @Test(arguments: [
        ("version-0", PKIError.Code.formatUnsupported), ("version-3", .formatUnsupported),
        ("version-true", .formatUnsupported), ("version-missing", .objectCorrupt), ("wrong-recipient", .decryptFailed),
        ("w-511", .decryptFailed), ("key-16-bytes", .decryptFailed), ("iv-16-bytes", .decryptFailed),
        ("c-tag-flip", .decryptFailed), ("inner-junk-in-w", .decryptFailed), ("s-number", .objectCorrupt),
        ("s-bad-base64", .objectCorrupt), ("outer-raw-json", .objectCorrupt), ("inner-array", .objectCorrupt),
        ("missing-c", .decryptFailed), ("oaep-sha1", .decryptFailed),
    ])
    func `a refusal has its code, and one code alone after the envelope was understood`(
        id: String, code: PKIError.Code
    ) throws {
        let item = try #require(try pkiCases("envelopes", count: 91).first { $0["id"]?.text == id })
        let identities = try TestIdentities()
        let key = try identities["alice"].pair().encryption
        let bytes = try content(item, "envelope")
        #expect(failure { _ = try SealedEnvelope.open(bytes, with: key, signers: .none) } == code)
    }

    @Test func `the answers to all ways of not decrypting are one and the same`() throws {
        let key = try TestIdentities()["alice"].pair().encryption
        var messages: Set<String> = []
        for item in try pkiCases("envelopes", count: 91) where item["expect"]?.text == "reject" {
            let bytes = try content(item, "envelope")
            do {
                _ = try SealedEnvelope.open(bytes, with: key, signers: .none)
            } catch {
                if error.code == .decryptFailed { messages.insert("\(error)") }
            }
        }
        #expect(messages.count == 1)
    }
}
