import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

@Suite struct KeyStoreTests {
    private let identities: TestIdentities

    init() throws { identities = try TestIdentities() }

    @Test func `folders that the reference wrote are listed and opened with their passphrases`() throws {
        let scene = try TestStore()
        for identity in identities.all { try scene.install(identity) }
        let listing = try scene.store.identities()
        #expect(listing.warnings.isEmpty)
        // In the order of folder names: 28aa…, then those of alice and carol.
        #expect(listing.items.map(\.fingerprint) == listing.items.map(\.fingerprint).sorted())
        #expect(listing.items.count == 3)
        for identity in identities.all {
            let stored = try scene.store.identity(named: identity.folder.replacing("sha256_", with: "sha256:"))
            let metadata = try #require(identity.files.first { $0.name == "metadata.json" })
            let bytes = Array(metadata.text.utf8)
            let value = try JSONReader.parse(bytes.span)
            #expect(stored.label == value["label"]?.text)
            #expect(stored.createdMs == value["created"]?.int)
            #expect(stored.signingFingerprint?.text == value["signing_fingerprint"]?.text)
            #expect(stored.keySize == 4096)
            let passphrase = try Passphrase(identity.passphrase)
            let expected = try identity.pair()
            let (name, store) = (stored.fingerprint, scene.store)
            #expect(try store.isEncrypted(name, .encryption) && store.isEncrypted(name, .signing))
            let encryption = try store.encryptionKey(of: name, passphrase: passphrase)
            #expect(encryption.publicKey == expected.encryption.publicKey)
            #expect(try store.signingKey(of: name, passphrase: passphrase).publicKey == expected.signing.publicKey)
            let wrong = try Passphrase(identity.passphrase + [0x20])
            #expect(failure { _ = try store.encryptionKey(of: name, passphrase: wrong) } == .keyWrong)
            #expect(failure { _ = try store.signingKey(of: name, passphrase: wrong) } == .keyWrong)
            let none = try Passphrase.none()
            #expect(failure { _ = try store.signingKey(of: name, passphrase: none) } == .keyMissing)
        }
    }

    @Test func `an added identity has the files, modes and metadata of the reference`() throws {
        let scene = try TestStore()
        let alice = try identities["alice"]
        let passphrase = try Passphrase(Array("a passphrase".utf8))
        let stored = try scene.store.add(try alice.pair(), label: "Alice Example", passphrase: passphrase)
        #expect(stored.fingerprint.text == "sha256:d4c4ab77bf610487")
        for (name, text, mode) in alice.files {
            let found = try scene.file("keys", alice.folder, name)
            #expect(found.mode == mode, "\(name)")
            switch name {
            case "public_key.pem", "signing_public.pem": #expect(found.text == text)
            case "metadata.json":
                // The moment is the test clock's.
                let created = try #require(text.split(separator: "\"created\": ").last?.split(separator: "\n").first)
                #expect(found.text == text.replacing(created, with: "1767323045000"))
            default: #expect(found.text.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
            }
        }
        let names = try LinuxFileSystem().openDirectory(scene.folder.appending("store").appending(component: "keys"))
        #expect(try names.entries().map(\.name) == [Array(alice.folder.utf8)])
        let opened = try scene.store.signingKey(of: stored.fingerprint, passphrase: passphrase)
        #expect(try opened.publicKey == alice.pair().signing.publicKey)
        let again = failure { _ = try scene.store.add(try alice.pair(), label: "x", passphrase: passphrase) }
        #expect(again == .nameTaken)
        let none = try Passphrase.none()
        let bob = try identities["bob"].pair()
        #expect(failure { _ = try scene.store.add(bob, label: "", passphrase: none) } == .usage)
        #expect(try scene.store.add(bob, label: "", passphrase: passphrase).label == "default")
    }

    @Test func `folders of keys and contacts that others can enter are closed to them, the one above stays`() throws {
        let scene = try TestStore()
        let top = scene.folder.appending("store")
        let mode = { (path: FilePath) in try LinuxFileSystem().status(of: path, followLinks: false).mode & 0o777 }
        for identity in identities.all { try scene.install(identity) }
        try scene.installContact(try identities["bob"])
        try Shell.run("chmod 755 '\(top.text)' && chmod 775 '\(top.text)/keys' && chmod 755 '\(top.text)/keyring'")
        _ = try scene.store.importContact(try PublicBundle(parsing: Array(try identities["alice"].bundle.utf8)))
        #expect(try mode(top.appending(component: "keyring")) == 0o700)
        #expect(try mode(top.appending(component: "keys")) == 0o775)
        let passphrase = try Passphrase([1])
        let pair = try identities["bob"].pair()
        #expect(failure { _ = try scene.store.add(pair, label: "", passphrase: passphrase) } == .nameTaken)
        #expect(try mode(top.appending(component: "keys")) == 0o700)
        #expect(try mode(top) == 0o755)
        #expect(try scene.store.identities().items.count == 3)
    }

    @Test func `a moment of making that no calendar has is none`() throws {
        let scene = try TestStore()
        let alice = try identities["alice"]
        let metadata = try #require(alice.files.first { $0.name == "metadata.json" }).text
        let created = try #require(metadata.split(separator: "\"created\": ").last?.split(separator: "\n").first)
        for (text, expected) in [
            ("0", Int64(0)), ("253402300799999", 253_402_300_799_999), ("253402300800000", nil), ("-1", nil),
            ("9223372036854775807", nil), ("1e400", nil), ("\"x\"", nil), ("null", nil),
        ] {
            try scene.install(alice)
            try scene.put(metadata.replacing(created, with: text), at: "keys", alice.folder, "metadata.json")
            #expect(try scene.store.identities().items.map(\.createdMs) == [expected], "\(text)")
            try scene.store.deleteIdentity(try scene.store.identity(named: "d4c4").fingerprint)
        }
    }

    @Test func `a folder that does not fit its name, or is damaged, is left out with a warning`() throws {
        let scene = try TestStore()
        let (alice, bob) = (try identities["alice"], try identities["bob"])
        for identity in identities.all { try scene.install(identity) }
        let other = try #require(bob.files.first { $0.name == "public_key.pem" }).text
        try scene.put(other, at: "keys", alice.folder, "public_key.pem")
        try scene.put("{", at: "keys", bob.folder, "metadata.json")
        try scene.put("{}", at: "keys", "sha256_../../x", "metadata.json")
        try scene.put("{}", at: "keys", "sha256_D4C4AB77BF610487", "metadata.json")
        let listing = try scene.store.identities()
        #expect(try listing.items.map(\.label) == [identities["carol"].record["label"]?.text])
        #expect(listing.warnings.map(\.code) == ["unreadable_key_pair", "unreadable_key_pair"])
    }

    @Test func `a private key in another identity's folder is refused`() throws {
        let scene = try TestStore()
        let (alice, bob) = (try identities["alice"], try identities["bob"])
        try scene.install(alice)
        for name in ["private_key.pem", "signing_private.pem"] {
            let text = try #require(bob.files.first { $0.name == name }).text
            try scene.put(text, at: "keys", alice.folder, name)
        }
        let fingerprint = try scene.store.identity(named: "d4c4").fingerprint
        let passphrase = try Passphrase(bob.passphrase)
        let store = scene.store
        #expect(failure { _ = try store.encryptionKey(of: fingerprint, passphrase: passphrase) } == .objectCorrupt)
        #expect(failure { _ = try store.signingKey(of: fingerprint, passphrase: passphrase) } == .objectCorrupt)
    }

    @Test func `names are fingerprints in any case, their beginnings, or labels, and never paths`() throws {
        let scene = try TestStore()
        for identity in identities.all { try scene.install(identity) }
        let store = scene.store
        let expected = try identities["alice"].known(.ownKey).identity.fingerprint
        for name in [
            "sha256:d4c4ab77bf610487", "  SHA256:D4C4AB77BF610487\n", "d4c4", "D4C4AB", "sha256:d4c4", "Alice Example",
        ] {
            #expect(try store.identity(named: name).fingerprint == expected, "\(name)")
        }
        for name in [
            "", " ", "d4c", "sha256:", "sha256:d4c", "alice example", "d4c5", "../keys/sha256_d4c4ab77bf610487",
            "sha256_d4c4ab77bf610487", "sha256:d4c4ab77bf6104870", "sha256:d4c4ab77bf61048g",
        ] {
            #expect(failure { _ = try store.identity(named: name) } == .keyNotFound, "\(name)")
        }
        try store.renameIdentity(expected, to: "default")
        // Bob's label is "default" too.
        #expect(failure { _ = try store.identity(named: "default") } == .keyNotFound)
    }

    @Test func `a label that looks like digits takes no other key's place`() throws {
        let scene = try TestStore()
        for name in ["alice", "bob"] { try scene.install(try identities[name]) }
        let store = scene.store
        let (alice, bob) = (
            try store.identity(named: "d4c4").fingerprint, try store.identity(named: "28aa").fingerprint
        )
        // The beginning of Alice's fingerprint: either could be meant.
        try store.renameIdentity(bob, to: "d4c4")
        #expect(failure { _ = try store.identity(named: "d4c4") } == .keyNotFound)
        #expect(try store.identity(named: "d4c4a").fingerprint == alice)
        #expect(try store.identity(named: "sha256:d4c4").fingerprint == alice)
        // A whole fingerprint, of a key that is there and of one that is not.
        for label in ["d4c4ab77bf610487", "0123456789abcdef"] {
            try store.renameIdentity(bob, to: label)
            let found = try? store.identity(named: label).fingerprint
            #expect(found == (label.hasPrefix("d4c4") ? alice : nil))
        }
        // Digits that begin no fingerprint are a label like any other, and one key can have both.
        try store.renameIdentity(bob, to: "cafe")
        #expect(try store.identity(named: "cafe").fingerprint == bob)
        try store.renameIdentity(bob, to: "28aa")
        #expect(try store.identity(named: "28aa").fingerprint == bob)
    }

    @Test func `renaming keeps everything else, and deleting removes the folder alone`() throws {
        let scene = try TestStore()
        let alice = try identities["alice"]
        for identity in identities.all { try scene.install(identity) }
        let fingerprint = try scene.store.identity(named: "Alice Example").fingerprint
        try scene.store.renameIdentity(fingerprint, to: "Álice")
        let metadata = try #require(alice.files.first { $0.name == "metadata.json" }).text
        let expected = metadata.replacing("Alice Example", with: "\\u00c1lice")
        #expect(try scene.file("keys", alice.folder, "metadata.json").text == expected)
        try scene.store.deleteIdentity(fingerprint)
        #expect(try scene.store.identities().items.count == 2)
        #expect(failure { try scene.store.deleteIdentity(fingerprint) } == .keyNotFound)
        let passphrase = try Passphrase(alice.passphrase)
        #expect(failure { _ = try scene.store.signingKey(of: fingerprint, passphrase: passphrase) } == .keyNotFound)
    }

    @Test func `a store that is not there is empty`() throws {
        let scene = try TestStore()
        #expect(try scene.store.identities().items.isEmpty)
        #expect(try scene.store.contacts().items.isEmpty)
        #expect(failure { _ = try scene.store.recipient(named: "d4c4") } == .keyNotFound)
    }
}
