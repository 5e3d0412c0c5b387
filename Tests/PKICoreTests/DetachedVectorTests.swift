import Testing
import VaultFormat

@testable import PKICore

/// The cases of `TestVectors/pki/detached.json`; see the README there.
@Suite struct DetachedVectorTests {
    @Test func `signature files are valid or not as the vectors say`() throws {
        let identities = try TestIdentities()
        var counts: [String: Int] = [:]
        for item in try pkiCases("detached", count: 43) {
            let id = item["id"]?.text ?? ""
            let expected = try #require(item["status"]?.text)
            let names = { (member: StaticString) in (item[member]?.items ?? []).compactMap(\.text) }
            let signers = try identities.signers(contacts: names("contacts"), own: names("own_keys"))
            let (message, file) = (try content(item, "message"), try content(item, "signature_file"))
            counts[expected, default: 0] += 1
            guard expected != "malformed" else {
                #expect(failure { _ = try DetachedSignature(parsing: file) } == .objectCorrupt, "\(id)")
                continue
            }
            let signature = try DetachedSignature(parsing: file)
            let reference = item["reference"]?["json"]
            switch try signature.verify(message, signers: signers) {
            case .valid(let key):
                #expect(expected == "valid", "\(id)")
                #expect(key.identity.label == reference?["signer_label"]?.text, "\(id)")
                #expect(key.source.rawValue == reference?["signer_source"]?.text, "\(id)")
                #expect(signature.claimedSigner == reference?["signing_fingerprint"]?.text, "\(id)")
            case .invalid(let key):
                #expect(expected == "invalid", "\(id)")
                // Where the reference is less strict it found the signature valid, of the same signer.
                #expect(key.identity.label == reference?["signer_label"]?.text, "\(id)")
            case .unknownSigner: #expect(expected == "unknown-signer", "\(id)")
            }
        }
        #expect(counts == ["valid": 8, "invalid": 11, "unknown-signer": 6, "malformed": 18])
    }

    @Test func `what is written has the bytes that the reference writes`() throws {
        let item = try #require(try pkiCases("detached", count: 43).first { $0["id"]?.text == "as-written-contact" })
        let file = try content(item, "signature_file")
        #expect(try DetachedSignature(parsing: file).bytes() == file)
    }
}
