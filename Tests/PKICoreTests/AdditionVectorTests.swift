import Testing
import VaultFormat
import VaultTestSupport

@testable import PKICore

/// The cases of `TestVectors/pki/additions.json`: what `docs/pki-format.md` describes, made from its text by other code.
@Suite struct AdditionVectorTests {
    @Test func `envelopes made from the format page open for every recipient, verified as a whole`() throws {
        let root = try Vectors.json("pki/additions.json")
        let identities = try TestIdentities()
        let message = try content(root, "message")
        let cases = root["envelopes"]?.items ?? []
        #expect(cases.count == 5)
        for item in cases {
            let (id, bytes) = (item["id"]?.text ?? "", try content(item, "envelope"))
            let recipients = (item["recipients"]?.items ?? []).compactMap(\.text)
            let signer = item["signer"]?.text
            let signers = try identities.signers(contacts: ["alice", "bob", "carol"], own: [])
            for name in recipients {
                let key = try identities[name].pair().encryption
                let opened = try SealedEnvelope.open(bytes, with: key, signers: signers)
                #expect(try opened.plaintext() == message, "\(id)")
                let expected = try signer.map {
                    EnvelopeSignature.verified(try identities[$0].known(.contact), covers: .whole)
                }
                #expect(opened.signature == expected ?? .unsigned, "\(id)")
            }
            let summary = try SealedEnvelope.summary(of: bytes)
            let fingerprints = try recipients.map { try identities[$0].known(.contact).identity.fingerprint }
            #expect(summary.recipients == (summary.form == .sealed ? fingerprints : []), "\(id)")
        }
    }

    @Test func `links made from the format page are read, and written the same`() throws {
        let links = try Vectors.json("pki/additions.json")["links"]?.items ?? []
        #expect(links.count == 3)
        let identities = try TestIdentities()
        for item in links {
            let text = try #require(item["link"]?.text)
            let name = try #require(item["identity"]?.text)
            let whole = try identities[name].known(.contact).identity
            let bundle = try PublicBundle(parsing: Array(text.utf8))
            #expect(bundle.identity.encryption == whole.encryption)
            #expect(bundle.identity.signing == (item["signs"]?.boolean == true ? whole.signing : nil))
            // Bob's record has no label, his bundle the one that the reference put in its place.
            #expect(name == "bob" || bundle.identity.label == whole.label)
            #expect(try bundle.link() == text)
        }
    }
}
