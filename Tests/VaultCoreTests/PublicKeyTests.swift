import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Public keys that are lost or do not read, here or at a remote: none is published, and a repair brings them back.
@Suite("Public keys that do not read")
struct PublicKeyTests {
    /// What became of a stored key.
    enum Damage: CaseIterable, Sendable {
        case lost, empty, random, oneBit, folder
    }

    private let setting: TwoClones
    private let first: Vault
    /// The key that the first clone signs with.
    private let own: KeyID

    init() async throws {
        setting = try TwoClones()
        first = try setting.create("a")
        try setting.write("one", to: "f", in: "a")
        _ = try first.commit()
        own = try #require(try first.loadState().cloneBranch?.publicKeyID)
    }

    private func damage(_ id: KeyID, in folder: any Directory, _ damage: Damage) throws {
        let name = Array(id.text.utf8)
        var bytes = try #require(try folder.contents(name, limit: 4096))
        try folder.removeFile(name)
        switch damage {
        case .lost: return
        case .empty: bytes = []
        case .random: bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 73 &+ 5) }
        case .oneBit: bytes[bytes.count / 2] ^= 0x10
        case .folder:
            try folder.createDirectory(name, mode: 0o755)
            return try folder.openDirectory(name).createFile([0x78], mode: 0o644).write([1].span)
        }
        try folder.createFile(name, mode: 0o644).write(bytes.span)
    }

    private func remoteKeys() throws -> any Directory {
        try setting.environment.fileSystem.openDirectory(
            setting.remotePath.appending(relative: Array("bare/keys".utf8)))
    }

    /// The PEM of a key at the remote or in a clone; nil where it does not read.
    private func pem(_ id: KeyID, in folder: any Directory) throws -> [UInt8]? {
        guard let bytes = try? folder.contents(id.text, limit: 4096) else { return nil }
        return SignatureChecker.publicKey(bytes, cipher: first.cipher)?.pem
    }

    private func ownPEM() throws -> [UInt8] { try #require(try first.privateKey(own)).publicKey.pem }

    private func repaired(_ name: String, hasRemote: Bool = true) async throws -> FsckReport {
        try await setting.open(name).fsck(
            FsckOptions(repair: true), repairFrom: hasRemote ? try setting.remote() : nil)
    }

    @Test(arguments: Damage.allCases)
    func `the first push publishes the clone's own key whole`(kind: Damage) async throws {
        try damage(own, in: first.layout.keys, kind)
        #expect(try await first.push(to: try setting.remote()).outcome == .created)
        #expect(try pem(own, in: remoteKeys()) == ownPEM())
        #expect(try pem(own, in: first.layout.keys) == ownPEM())
        let report = try await setting.clone("b").fsck()
        #expect(report.isClean && report.signatures.noKey == 0 && report.signatures.verified == 2)
        #expect(try await setting.open("a").fsck().isClean)
    }

    @Test func `a dry run makes no key anew`() async throws {
        try damage(own, in: first.layout.keys, .empty)
        _ = try await first.push(to: try setting.remote(), PushOptions(dryRun: true))
        #expect(try first.layout.keys.contents(own.text, limit: 4096) == [])
    }

    @Test(arguments: [Damage.empty, .random, .oneBit, .folder])
    func `a damaged key of somebody else is not published`(kind: Damage) async throws {
        let other = try #require(try first.loadState().namedBranch.publicKeyID)
        try damage(other, in: first.layout.keys, kind)
        let error = await #expect(throws: VaultError.self) { _ = try await first.push(to: try setting.remote()) }
        #expect(error?.code == .objectCorrupt && error?.message.contains(other.text) == true)
        #expect(throws: Errno.noSuchFile) { try remoteKeys() }
    }

    @Test(arguments: [Damage.lost, .empty, .random, .oneBit])
    func `a repair of the remote compares keys and mends them`(kind: Damage) async throws {
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try damage(own, in: remoteKeys(), kind)
        #expect(try await first.push(to: try setting.remote()).outcome == .upToDate)
        // From the private half where the key here is damaged too; somebody else's from the copy.
        try damage(own, in: first.layout.keys, kind)
        for vault in [first, second] {
            #expect(try await vault.repairRemote(try setting.remote()).restored == [own.text])
            #expect(try pem(own, in: remoteKeys()) == ownPEM())
            #expect(try await vault.repairRemote(try setting.remote()).restored.isEmpty)
            try damage(own, in: remoteKeys(), kind)
        }
        try damage(own, in: second.layout.keys, kind)
        if kind == .lost {
            #expect(try await second.repairRemote(try setting.remote()).restored.isEmpty)
        } else {
            await #expect(throws: VaultError(.objectCorrupt, "")) {
                try await second.repairRemote(try setting.remote())
            }
        }
        #expect(try pem(own, in: remoteKeys()) == nil)
    }

    @Test func `another key in the place of the own one is replaced at the remote`() async throws {
        _ = try await first.push(to: try setting.remote())
        let named = try #require(try first.loadState().namedBranch.publicKeyID)
        let bytes = try #require(try remoteKeys().contents(named.text, limit: 4096))
        try remoteKeys().removeFile(Array(own.text.utf8))
        try remoteKeys().createFile(Array(own.text.utf8), mode: 0o644).write(bytes.span)
        #expect(try await first.repairRemote(try setting.remote()).restored == [own.text])
        #expect(try pem(own, in: remoteKeys()) == ownPEM())
    }

    @Test(arguments: Damage.allCases)
    func `fsck tells of a key that is needed, and a repair brings it back`(kind: Damage) async throws {
        _ = try await first.push(to: try setting.remote())
        _ = try await setting.clone("b")
        for name in ["a", "b"] {
            let vault = try setting.open(name)
            try damage(own, in: vault.layout.keys, kind)
            let report = try await setting.open(name).fsck()
            // Of another clone's key that is not there nobody knows whether it ever was.
            let isTold = name == "a" || kind != .lost
            #expect((report.missing + report.broken).map(\.id) == (isTold ? [own.text] : []))
            #expect(report.isDamaged == isTold)
            #expect(report.signatures.noKey == 2)
            // The own one needs no remote.
            let mended = try await repaired(name, hasRemote: name == "b")
            #expect(mended.isClean && mended.repaired == [own.text] && mended.signatures.verified == 2)
            #expect(try pem(own, in: vault.layout.keys) == ownPEM())
            #expect(try await setting.open(name).fsck().isClean)
        }
    }

    @Test(arguments: Damage.allCases)
    func `a key that is nowhere is told, with what it means, until somebody publishes it`(kind: Damage) async throws {
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try damage(own, in: second.layout.keys, kind)
        if kind == .folder {
            try remoteKeys().removeFile(Array(own.text.utf8))
        } else {
            try damage(own, in: remoteKeys(), kind)
        }
        for hasRemote in [true, false] {
            let report = try await repaired("b", hasRemote: hasRemote)
            #expect(report.isDamaged == (kind != .lost))
            #expect(report.unrepaired == (kind == .lost ? [] : [own.text]))
            #expect(report.notes.contains { $0.contains(own.text) && $0.contains("push --repair") })
        }
        #expect(try setting.open("b").status().isClean)
        _ = try await first.repairRemote(try setting.remote())
        #expect(try await repaired("b").isClean)
    }

    @Test(arguments: [Damage.lost, .empty])
    func `a repair asks a remote in vain only for what is damaged`(kind: Damage) async throws {
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try damage(own, in: second.layout.keys, kind)
        let deaf = LyingRemote(try setting.remote(), lies: [.key(own): .fail(VaultError(.unreachable, "no answer"))])
        if kind == .lost {
            #expect(try await second.fsck(FsckOptions(repair: true), repairFrom: deaf).isClean)
        } else {
            await #expect(throws: VaultError.coded(.unreachable)) {
                _ = try await second.fsck(FsckOptions(repair: true), repairFrom: deaf)
            }
        }
    }

    @Test func `what a repair replaces is kept aside`() async throws {
        try damage(own, in: first.layout.keys, .random)
        let bad = try #require(try first.layout.keys.contents(own.text, limit: 4096))
        #expect(try await repaired("a", hasRemote: false).isClean)
        #expect(try first.layout.ownSubfolder("quarantine").contents(own.text, limit: 4096) == bad)
    }
}
