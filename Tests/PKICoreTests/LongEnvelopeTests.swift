import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

/// Envelopes of long messages: their limit, and how they are read and written piece by piece.
@Suite struct LongEnvelopeTests {
    private let identities: TestIdentities
    private let alice: KeyPair
    private let bob: KeyPair
    private let signers: KnownSigners

    init() throws {
        identities = try TestIdentities()
        alice = try identities["alice"].pair()
        bob = try identities["bob"].pair()
        signers = try identities.signers(contacts: ["bob"], own: ["alice"])
    }

    @Test func `a message above the limit is refused by name before any work`() throws {
        let large = [UInt8](repeating: 0, count: SealedEnvelope.maximumPlaintextCount + 1)
        #expect(failure { _ = try SealedEnvelope.seal(large, to: alice.encryption.publicKey) } == .refused)
        #expect(failure { _ = try SealedEnvelope.seal(large, toAll: [alice.encryption.publicKey]) } == .refused)
        let text = [UInt8](repeating: 0x41, count: SealedEnvelope.maximumEnvelopeCount + 1)
        #expect(failure { _ = try SealedEnvelope.summary(of: text) } == .refused)
        // 16/9 of the largest message, and the most recipients with the largest keys, stay below the limit.
        let inner =
            Base64.encodedCount(SealedEnvelope.maximumPlaintextCount + 28) + 1024 * (Base64.encodedCount(2048) + 100)
        #expect(Base64.encodedCount(inner) < SealedEnvelope.maximumEnvelopeCount)
    }

    @Test(arguments: [0, 1, 36_863, 36_864, 36_865, 700_001])
    func `a file is sealed into a file piece by piece like its bytes at once`(count: Int) throws {
        let folder = try TemporaryFolder("sealing")
        let directory = try folder.open()
        let bytes = SeededRandom.announced("EnvelopeTests").block(count)
        let source = try directory.createFile(Array("message".utf8), mode: 0o600)
        try source.write(bytes.span)
        for addressee in [
            SealedEnvelope.Addressee.one(alice.encryption.publicKey),
            .several([bob, alice].map(\.encryption.publicKey)),
        ] {
            for signer in [nil, bob.signing] {
                try source.seek(to: 0)
                let name = Array("sealed".utf8)
                let target = try directory.createFile(name, mode: 0o600)
                let written = try SealedEnvelope.seal(
                    .file(source, count: count, name: "message"), to: addressee, signer: signer, writingTo: target,
                    name: "sealed")
                let sealed = try LinuxFileSystem().readFile(folder.appending("sealed"), limit: 1 << 24)
                #expect(written == sealed.count)
                // As long as what is made in memory, wherever it was cut, and read like it.
                #expect(try SealedEnvelope.seal(.bytes(bytes), to: addressee, signer: signer).count == sealed.count)
                let opened = try SealedEnvelope.open(sealed, with: alice.encryption, signers: signers)
                #expect(try opened.plaintext() == bytes)
                let known = try identities["bob"].known(.contact)
                #expect(opened.signature == (signer == nil ? .unsigned : .verified(known, covers: .whole)))
                try directory.removeFile(name)
            }
        }
    }

    @Test func `a file that grows beyond the limit while it is read, or cannot be written, is no success`() throws {
        let key = SealedEnvelope.Addressee.one(alice.encryption.publicKey)
        let folder = try TemporaryFolder("sealing")
        let plan = FaultFileSystem(LinuxFileSystem())
        let directory = try plan.openDirectory(folder.path)
        let source = try directory.createFile(Array("message".utf8), mode: 0o600)
        try source.truncate(to: Int64(SealedEnvelope.maximumPlaintextCount) + 1)
        let target = try directory.createFile(Array("sealed".utf8), mode: 0o600)
        func seal(count: Int) -> PKIError.Code? {
            failure {
                _ = try SealedEnvelope.seal(
                    .file(source, count: count, name: "message"), to: key, signer: nil, writingTo: target, name: "it")
            }
        }
        #expect(seal(count: SealedEnvelope.maximumPlaintextCount + 1) == .refused)
        try source.truncate(to: 100_000)
        let message = Message.file(source, count: 10, name: "message")
        var seen = 0
        #expect(failure { try message.forEachPiece(limit: 99_999) { seen += $0.count } } == .refused)
        #expect(seen < 100_000)
        try source.truncate(to: 3_000_000)
        for (call, code) in [(FileSystemCall.write, PKIError.Code.noSpace), (.read, .ioError)] {
            try source.seek(to: 0)
            plan.set(.init(atCall: 3, error: call == .write ? .noSpace : .ioError, kinds: [call]))
            #expect(seal(count: 3_000_000) == code)
        }
    }

    @Test func `an envelope that is given away or kept opens alike, and a kept one stays as it was`() throws {
        let long = SeededRandom.announced("EnvelopeTests").block(300_000)
        let sealed = try SealedEnvelope.seal(long, to: alice.encryption.publicKey)
        let copy = sealed.map { $0 }
        for _ in 0..<2 {
            #expect(try SealedEnvelope.open(sealed, with: alice.encryption, signers: signers).plaintext() == long)
        }
        #expect(sealed == copy)
        #expect(
            failure { _ = try SealedEnvelope.open(sealed, with: bob.encryption, signers: signers) } == .decryptFailed)
        #expect(sealed == copy)
    }
}
