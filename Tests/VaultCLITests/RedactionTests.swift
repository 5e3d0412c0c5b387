import Testing
import VaultCrypto

@testable import VaultCLI

@Suite("The redaction filter")
struct RedactionTests {
    private static let hex = String(repeating: "0123456789abcdef", count: 4)

    /// The patterns of spec 10 B.5.
    @Test(
        "what looks like key material is replaced",
        arguments: [
            ("sgit_private_vault_top-secret:abcd1234", "top-secret"),
            ("bad key 'sgit_private_read_\(hex):k7m2p9x4'", hex), ("sgit_vk1_old:abcd1234 given", "old:"),
            ("sgit_rk1_xyz", "xyz"), ("key q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4 refused", "q3v9x0k2"),
            ("{\"read_key\":\"\(hex)\"}", hex), ("write key: \(hex.uppercased())", hex.uppercased()),
            ("https://user:hunter2@example.org/x", "hunter2"),
        ])
    func redacted(text: String, secret: String) {
        let result = Redaction.redacted(text)
        #expect(!result.contains(secret))
        #expect(result.contains(Redaction.mark))
        #expect(Redaction.findsSecret(in: text))
    }

    @Test(
        "ids, hashes, paths and plain URLs stay",
        arguments: [
            "obj-cas-imm-0123456789ab", "sha256 \(hex)", "/srv/vaults/notes: no such folder",
            "https://example.org/a@b", "vault k7m2p9x4", "sgit_public_read_\(hex)", "12:34:56",
        ])
    func kept(text: String) {
        #expect(Redaction.redacted(text) == text)
        #expect(!Redaction.findsSecret(in: text))
    }

    @Test("a secret that was seen is never repeated, whatever it looks like")
    func known() throws {
        let secrets = KnownSecrets()
        secrets.remember(try SecretBytes(copying: Array("sgit_vk1_any words:abcd1234".utf8).span))
        #expect(secrets.redacted("opening 'any words:abcd1234' failed") == "opening '<redacted>' failed")
        #expect(secrets.redacted("any words: nothing") == "any words: nothing")
        secrets.remember(try SecretBytes(copying: Array("abc".utf8).span))
        #expect(secrets.redacted("abc") == "abc")
        secrets.remember(try SecretBytes(copying: Array("redacted".utf8).span))
        #expect(secrets.redacted("redacted twice, redacted") == "<redacted> twice, <redacted>")
    }

    @Test("overlapping finds give one mark")
    func overlapping() {
        let key = "sgit_private_vault_q3v9x0k2m8t5w1z7r4y6b0n2:k7m2p9x4"
        #expect(Redaction.redacted("<\(key)") == "<sgit_private_vault_<redacted>")
    }
}
