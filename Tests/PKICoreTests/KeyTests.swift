import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

@Suite struct KeyTests {
    @Test func `a fingerprint has exactly one form`() {
        #expect(Fingerprint("sha256:0123456789abcdef")?.text == "sha256:0123456789abcdef")
        for text in [
            "", "sha256:", "0123456789abcdef", "sha256:0123456789abcde", "sha256:0123456789abcdef0",
            "sha256:0123456789ABCDEF", "SHA256:0123456789abcdef", "sha256:0123456789abcdeg", " sha256:0123456789abcdef",
            "sha256:0123456789abcdef\n", "sha512:0123456789abcdef",
        ] {
            #expect(Fingerprint(text) == nil, "\(text)")
        }
    }

    @Test func `keys of other programs are taken over from PKCS#8, SEC 1 and PKCS#1, plain and encrypted`() throws {
        let folder = try TemporaryFolder("openssl")
        let script = """
            cd '\(folder.path.text)'
            openssl genrsa -traditional -out rsa.pem 2048 2>/dev/null
            openssl ecparam -name prime256v1 -genkey -out ec.pem 2>/dev/null
            for key in rsa ec; do
                openssl pkcs8 -topk8 -nocrypt -in $key.pem -out $key.p8
                openssl pkcs8 -topk8 -in $key.pem -out $key.enc -passout pass:geheim
                openssl pkcs8 -topk8 -scrypt -in $key.pem -out $key.scrypt -passout pass:geheim
                openssl pkey -in $key.pem -pubout -out $key.pub
            done
            """
        try Shell.run(script)
        let read = { (name: String) in try LinuxFileSystem().readFile(folder.appending(name), limit: 1 << 16) }
        let publicKeys = (
            try EncryptionPublicKey(pem: try read("rsa.pub")), try SigningPublicKey(pem: try read("ec.pub"))
        )
        #expect(try publicKeys.0.pem == read("rsa.pub"))
        #expect(try publicKeys.1.pem == read("ec.pub"))
        for (form, passphrase) in [("pem", ""), ("p8", ""), ("enc", "geheim"), ("scrypt", "geheim")] {
            let secret = try Passphrase(Array(passphrase.utf8))
            let pair = try KeyPair(
                encryptionPEM: try read("rsa.\(form)"), signingPEM: try read("ec.\(form)"), passphrase: secret)
            #expect(pair.encryption.publicKey == publicKeys.0, "\(form)")
            #expect(pair.signing.publicKey == publicKeys.1, "\(form)")
        }
        let none = try Passphrase.none()
        let (rsa, ec) = (try read("rsa.p8"), try read("ec.p8"))
        let swapped = failure { _ = try KeyPair(encryptionPEM: ec, signingPEM: rsa, passphrase: none) }
        #expect(swapped == .objectCorrupt)
    }

    @Test func `what is written here opens with openssl`() throws {
        let scene = try TestStore()
        let pair = try TestIdentities()["bob"].pair()
        let stored = try scene.store.add(pair, label: "", passphrase: try Passphrase(Array("geheim".utf8)))
        let path = scene.folder.appending("store").text + "/keys/sha256_" + stored.fingerprint.text.dropFirst(7)
        let script = """
            cd '\(path)'
            openssl pkey -in private_key.pem -passin pass:geheim -pubout | cmp - public_key.pem &&
            openssl pkey -in signing_private.pem -passin pass:geheim -pubout | cmp - signing_public.pem && echo same
            """
        #expect(try Shell.run(script) == Array("same\n".utf8))
    }

    @Test func `an identity is generated beside its caller, with progress`() async throws {
        let events = Locked<[KeyGenerationProgress]>([])
        let pair = try await KeyPair.generate { event in events.withLock { $0.append(event) } }
        #expect(pair.encryption.publicKey.bits == 4096)
        #expect(events.withLock { $0.count { $0 == .foundPrime } } == 2)
        #expect(events.withLock { $0.contains(.searching(candidates: 1)) })
        let sealed = try SealedEnvelope.seal([1, 2, 3], to: pair.encryption.publicKey, signer: pair.signing)
        let opened = try SealedEnvelope.open(sealed, with: pair.encryption, signers: .none)
        #expect(try opened.plaintext() == [1, 2, 3])
    }

    @Test func `a cancelled task makes no identity`() async throws {
        let task = Task { try await KeyPair.generate() }
        task.cancel()
        let result = await task.result
        #expect(throws: PKIError(.cancelled, "")) { try result.get() }
    }

    @Test func `every code has an exit code of the contract and a name of its own`() {
        let known: Set<Int32> = [1, 2, 3, 5, 6, 8, 9, 12, 13, 70]
        #expect(Set(PKIError.Code.all.map(\.name)).count == PKIError.Code.all.count)
        #expect(PKIError.Code.all.allSatisfy { known.contains($0.exitCode) })
        #expect(PKIError.Code.all.map(\.exitCode) == PKIError.Code.all.map(\.exitCode).sorted())
    }
}
