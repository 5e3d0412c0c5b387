import Testing
import VaultCrypto
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("Identities on the command line")
struct PkiTests {
    /// A signal that has arrived already.
    private struct Stopped: Cancellation {
        func check() throws(Interruption) { throw Interruption(signal: 2) }
    }

    @Test("a signal ends the making of keys with 130, and nothing is left of them")
    func interrupted() async throws {
        let tool = try Tool()
        tool.environment["VAULTCTL_PASSPHRASE"] = Array("one phrase".utf8)
        tool.cancellation = Stopped()
        #expect(await tool.run("pki", "keygen").code == 130)
        #expect((try? LinuxFileSystem().openDirectory(tool.folder.path.appending("home/.sg-send"))) == nil)
    }

    @Test("a signal ends signing and verifying with 130, of a file and of a folder, and nothing is written")
    func interruptedSigning() async throws {
        let tool = try Tool()
        try ScriptVectors(tool: tool).keyStore("alice", in: Array("home/.sg-send".utf8))
        tool.environment["SG_SEND_PASSPHRASE"] = Array("correct horse battery staple".utf8)
        try tool.write([1, 2, 3], to: "folder/f")
        #expect(await tool.run("pki", "sign", "folder/f", "-o", "f.sig").code == 0)
        #expect(await tool.run("pki", "sign", "--manifest", "folder").code == 0)
        tool.cancellation = Stopped()
        for line in [
            ["sign", "folder/f", "-o", "new.sig"], ["sign", "--manifest", "folder", "-o", "new"],
            ["verify", "folder/f", "f.sig"], ["verify", "--manifest", "folder"],
        ] {
            #expect(await tool.run((["pki"] + line).map { Array($0.utf8) }).code == 130, "\(line)")
        }
        let names = try tool.folder.open().entries().map { String(decoding: $0.name, as: UTF8.self) }
        #expect(!names.contains { $0.contains("new") })
    }

    @Test("no verb shows a passphrase or a private key, however much it is asked to tell")
    func secrecy() async throws {
        let tool = try Tool()
        let vectors = ScriptVectors(tool: tool)
        try vectors.keyStore("alice", in: Array("home/.sg-send".utf8))
        try vectors.privateKey("alice", "encryption", to: Array("enc.pem".utf8))
        try vectors.privateKey("alice", "signing", to: Array("sign.pem".utf8))
        try tool.write([1, 2, 3], to: "f")
        tool.environment["SG_SEND_PASSPHRASE"] = Array("correct horse battery staple".utf8)
        let plain = try ["enc.pem", "sign.pem"].flatMap {
            String(decoding: try tool.read($0), as: UTF8.self).split(separator: "\n")
        }
        let secrets = plain.filter { $0.utf8.count == 64 } + ["horse", "PRIVATE"]
        #expect(secrets.count > 50)
        let lines = [
            ["list"], ["show"], ["id"], ["export"], ["contacts"], ["import", "enc.pem"], ["import", "sign.pem"],
            ["sign", "f"], ["verify", "f"], ["encrypt", "--recipient", "d4c4", "f"], ["seal", "--to", "d4c4", "f"],
            ["decrypt", "f.enc", "-o", "g"], ["open", "f.sealed", "-o", "h"], ["rename", "d4c4", "Ann"],
            ["adopt", "enc.pem", "f"], ["adopt", "enc.pem", "sign.pem"], ["delete", "d4c4", "--dry-run"],
        ]
        for (line, more) in lines.flatMap({ line in [[], ["--json"], ["-vv"]].map { (line, $0) } }) {
            let force = ["sign", "encrypt", "seal", "decrypt", "open"].contains(line[0]) ? ["--force"] : []
            let outcome = await tool.run((["pki"] + line + force + more).map { Array($0.utf8) })
            for secret in secrets { #expect(!(outcome.text + outcome.error).contains(secret), "\(line) \(more)") }
        }
    }

    @Test("a passphrase of 4096 bytes is taken, with NUL and line ends in it, and a longer one is refused")
    func bytes() throws {
        var longest = [UInt8](repeating: 0, count: 4095) + [0x0A, 0x0D, 0x0A]
        #expect(try SecretText.taken(&longest, from: "it", as: .passphrase).count == 4096)
        var long = [UInt8](repeating: 0x78, count: 4097)
        #expect(throws: (any Error).self) { _ = try SecretText.taken(&long, from: "it", as: .passphrase) }
        var none: [UInt8] = [0x0A]
        #expect(try SecretText.taken(&none, from: "it", as: .passphrase).count == 0)
    }
}
