import Testing
import VaultFormat

@testable import PKICore

/// The cases of `TestVectors/pki/bundles.json`; see the README there.
@Suite struct BundleVectorTests {
    @Test func `bundles are read or refused as the vectors say, and kept byte for byte as the reference keeps them`()
        throws
    {
        var counts: [String: Int] = [:]
        for item in try pkiCases("bundles", count: 30) {
            let (id, expect) = (item["id"]?.text ?? "", try #require(item["expect"]?.text))
            let bytes = try content(item, "bundle")
            counts[expect, default: 0] += 1
            guard expect != "reject" else {
                let code = failure { _ = try PublicBundle(parsing: bytes) }
                #expect(code == (id == "version-2" ? .formatUnsupported : .objectCorrupt), "\(id)")
                continue
            }
            let bundle = try PublicBundle(parsing: bytes)
            let scene = try TestStore()
            let result = try scene.store.importContact(bundle)
            #expect(!result.replaced)
            guard let contact = item["contact"] else { continue }
            let name = try #require(contact["file"]?.text)
            #expect(try scene.file("keyring", name).text == contact["text"]?.text, "\(id)")
            #expect(try scene.store.contacts().items == [bundle.identity], "\(id)")
            // Two of them name a signing key and hold none.
            let claims = ["wrong-fingerprints-inside": 2, "no-sign": 1, "sign-empty": 1]
            #expect(
                result.warnings.map(\.code) == Array(repeating: "wrong_fingerprint", count: claims[id] ?? 0), "\(id)")
        }
        #expect(counts == ["accept": 12, "reject": 17, "optional": 1])
    }

    @Test func `the exported bundle is that of the reference, byte for byte`() throws {
        for identity in try TestIdentities().all {
            let read = try PublicBundle(parsing: Array(identity.bundle.utf8))
            #expect(String(decoding: PublicBundle(read.identity).bytes(), as: UTF8.self) == identity.bundle)
        }
    }

    @Test func `a link stands for the same identity, and no other text does`() throws {
        for identity in try TestIdentities().all {
            let bundle = try PublicBundle(parsing: Array(identity.bundle.utf8))
            let link = try bundle.link()
            #expect(link.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
            #expect(try PublicBundle(parsing: Array("\n \(link)\r\n".utf8)).identity == bundle.identity)
            let signless = PublicIdentity(label: "x", encryption: bundle.identity.encryption, signing: nil)
            let short = try PublicBundle(signless).link()
            #expect(try PublicBundle(parsing: Array(short.utf8)).identity == signless)
            let start = String(link.prefix(400))
            let replaced = link.prefix(401).hasSuffix("x") ? "y" : "x"
            var changes = [link + ".", link + "A", String(link.dropFirst(1)), String(link.dropLast(1)) + "="]
            changes.append(link.replacing("vaultctl-id:1.", with: "vaultctl-id:1.A"))
            changes.append(link.replacing(".MF", with: ".NF"))
            changes.append(start + "\n" + String(link.dropFirst(400)))
            changes.append(start + replaced + String(link.dropFirst(401)))
            for changed in changes {
                let code = failure { _ = try PublicBundle(parsing: Array(changed.utf8)) }
                #expect(code == .objectCorrupt, "\(changed)")
            }
            let newer = link.replacing("vaultctl-id:1.", with: "vaultctl-id:2.")
            #expect(failure { _ = try PublicBundle(parsing: Array(newer.utf8)) } == .formatUnsupported)
        }
    }
}
