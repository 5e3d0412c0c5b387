import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

/// What a writer of a key store leaves that is killed, and who removes it.
@Suite struct LeftoverTests {
    private let identities: TestIdentities
    private let scene: TestStore

    init() throws {
        identities = try TestIdentities()
        scene = try TestStore()
    }

    private var root: FilePath { scene.folder.appending("store") }

    private func folder(_ name: String) throws -> any Directory {
        try LinuxFileSystem().createDirectories(root.appending(component: name), mode: 0o700)
        return try LinuxFileSystem().openDirectory(root.appending(component: name))
    }

    private func names(_ name: String) throws -> Set<String> {
        Set(try folder(name).entries().map { String(decoding: $0.name, as: UTF8.self) })
    }

    private func bundle(_ name: String) throws -> PublicBundle {
        PublicBundle(try identities[name].pair().publicIdentity(label: name))
    }

    /// Runs a call that is cut off at a rename: from then on nothing happens any more, as if the process were killed.
    private func killed(atRename number: Int, _ body: (KeyStore) throws -> Void) {
        let plan = FaultFileSystem(LinuxFileSystem())
        plan.set(.init(atCall: number, isSticky: true, kinds: [.rename, .removeFile, .removeDirectory]))
        #expect(failure { try body(KeyStore(folder: root, fileSystem: plan, clock: scene.clock)) } == .ioError)
        #expect(plan.hasFired)
    }

    /// The six renames of an added identity are those of its five files and of the folder.
    @Test(arguments: [1, 6])
    func `half a new identity is private, is no identity, and is gone after the next change`(call: Int) throws {
        let passphrase = try Passphrase(Array("a passphrase".utf8))
        let alice = try identities["alice"].pair()
        killed(atRename: call) { _ = try $0.add(alice, label: "", passphrase: passphrase) }
        let keys = try folder("keys")
        let left = try keys.entries().map(\.name)
        let half = try #require(left.first { TemporaryName.isFolder($0) })
        #expect(left.count == 2 && left.contains(TemporaryName.lock(ofFolder: half)))
        #expect(try keys.status(of: half).mode == 0o700)
        var privateKeys = 0
        let inside = try keys.openDirectory(half)
        for name in try inside.entries().map(\.name) {
            let text = String(decoding: try inside.readFileIfPresent(name, limit: 1 << 20) ?? [], as: UTF8.self)
            guard text.contains("PRIVATE") else { continue }
            privateKeys += 1
            #expect(try inside.status(of: name).mode == 0o600)
        }
        #expect(privateKeys == (call == 1 ? 1 : 2))
        #expect(try scene.store.identities().items.isEmpty && scene.store.identities().warnings.isEmpty)
        _ = try scene.store.importContact(bundle("bob"))
        #expect(try names("keys").isEmpty)
        #expect(try scene.store.contacts().items.count == 1)
    }

    @Test func `half a file beside an identity or a contact is gone after the next change`() throws {
        for identity in identities.all { try scene.install(identity) }
        let fingerprint = try scene.store.identity(named: "Alice Example").fingerprint
        let folderName = "keys/" + (try identities["alice"].folder)
        let before = try names(folderName)
        killed(atRename: 1) { try $0.renameIdentity(fingerprint, to: "Other") }
        #expect(try names(folderName).count == before.count + 1)
        killed(atRename: 1) { _ = try $0.importContact(bundle("bob")) }
        #expect(try names("keyring").count == 1)
        #expect(try scene.store.contacts().items.isEmpty)
        _ = try scene.store.importContact(bundle("bob"))
        #expect(try names(folderName) == before)
        #expect(try names("keyring").count == 1)
        #expect(try scene.store.identity(named: "Alice Example").fingerprint == fingerprint)
    }

    @Test func `what a living writer is at work on, and what is not ours, stays`() throws {
        let (keys, contacts) = (try folder("keys"), try folder("keyring"))
        let names = [".tmp-secret-ab12_xyz", ".tmp-", ".tmp-0123456789abcdeG", ".tmp-0123456789abcde.lock", "notes"]
        for name in names.map({ Array($0.utf8) }) {
            _ = try keys.createFile(name, mode: 0o600)
            _ = try contacts.createFile(name, mode: 0o600)
        }
        var held = [
            try scene.store.createHeld(in: contacts, mode: 0o600) { TemporaryName.file($0) },
            try scene.store.createHeld(in: keys, mode: 0o600) {
                TemporaryName.lock(ofFolder: TemporaryName.folder($0))
            },
        ]
        let working = try #require(TemporaryName.folder(ofLock: held[1].name))
        try keys.createDirectory(working, mode: 0o700)
        scene.store.removeLeftovers()
        #expect(try keys.entries().count == names.count + 2 && contacts.entries().count == names.count + 1)
        // Their process ends.
        held.removeAll()
        scene.store.removeLeftovers()
        #expect(try self.names("keys") == Set(names) && self.names("keyring") == Set(names))
    }
}
