import Testing
import VaultFormat
import VaultSystem

@testable import PKICore

@Suite struct ContactTests {
    private let identities: TestIdentities

    init() throws { identities = try TestIdentities() }

    private func bundle(_ name: String) throws -> PublicBundle {
        try PublicBundle(parsing: Array(try identities[name].bundle.utf8))
    }

    @Test func `contact files of the reference are read, and written the same`() throws {
        for identity in identities.all {
            let scene = try TestStore()
            try scene.installContact(identity)
            let contact = try scene.store.contact(named: identity.folder.replacing("sha256_", with: "sha256:"))
            #expect(try contact == identity.known(.contact).identity)
            try scene.store.deleteContact(contact.fingerprint)
            #expect(try scene.store.contacts().items.isEmpty)
            #expect(failure { try scene.store.deleteContact(contact.fingerprint) } == .keyNotFound)
            _ = try scene.store.importContact(try bundle(identity.name))
            #expect(try scene.file("keyring", identity.contactName).text == identity.contactText)
        }
    }

    @Test func `importing again replaces, and says what changed`() throws {
        let scene = try TestStore()
        let (alice, bob) = (try bundle("alice"), try bundle("bob"))
        #expect(try scene.store.importContact(alice).replaced == false)
        #expect(try scene.store.importContact(alice).warnings.isEmpty)
        let mixed = PublicBundle(
            PublicIdentity(label: "Mixed", encryption: alice.identity.encryption, signing: bob.identity.signing))
        #expect(failure { _ = try scene.store.importContact(mixed) } == .refused)
        #expect(try scene.store.contacts().items == [alice.identity])
        let result = try scene.store.importContact(mixed, replacingSigningKey: true)
        #expect(result.replaced)
        #expect(result.warnings.map(\.code) == ["signing_key_changed", "label_changed"])
        #expect(try scene.store.contacts().items.map(\.label) == ["Mixed"])
    }

    @Test func `no bundle gives a known encryption key another signing key, takes it or adds one`() throws {
        let (alice, bob) = (try bundle("alice").identity, try bundle("bob").identity)
        for (known, offered) in [
            (alice.signing, bob.signing), (alice.signing, nil), (nil, alice.signing), (nil, bob.signing),
        ] {
            let scene = try TestStore()
            let before = PublicIdentity(label: "Ann", encryption: alice.encryption, signing: known)
            _ = try scene.store.importContact(PublicBundle(before))
            let after = PublicIdentity(label: "Ann", encryption: alice.encryption, signing: offered)
            #expect(failure { _ = try scene.store.importContact(PublicBundle(after)) } == .refused)
            #expect(try scene.store.contacts().items == [before])
        }
        // Nor an own encryption key: its signatures would be shown as one's own.
        let scene = try TestStore()
        try scene.install(try identities["alice"])
        let claim = PublicIdentity(label: "me", encryption: alice.encryption, signing: bob.signing)
        #expect(failure { _ = try scene.store.importContact(PublicBundle(claim)) } == .refused)
        #expect(try scene.store.contacts().items.isEmpty)
        #expect(try scene.store.importContact(PublicBundle(alice)).warnings.isEmpty)
    }

    @Test func `a contact that is damaged, and so cannot be compared, is replaced only by force`() throws {
        let alice = try identities["alice"]
        for damage in ["", "{}", alice.contactText.replacing("public_key_pem", with: "public"), "{\"label\": 1}"] {
            let scene = try TestStore()
            try scene.put(damage, at: "keyring", alice.contactName)
            let given = try bundle("alice")
            #expect(failure { _ = try scene.store.importContact(given) } == .objectCorrupt)
            #expect(try scene.file("keyring", alice.contactName).text == damage)
            _ = try scene.store.importContact(given, replacingSigningKey: true)
            #expect(try scene.store.contacts().items == [given.identity])
        }
    }

    @Test func `a signing key that is somebody else's already is refused unless both are wanted`() throws {
        let scene = try TestStore()
        let (alice, bob) = (try bundle("alice").identity, try bundle("bob").identity)
        _ = try scene.store.importContact(PublicBundle(alice))
        let mallory = PublicIdentity(label: "Mallory", encryption: bob.encryption, signing: alice.signing)
        #expect(failure { _ = try scene.store.importContact(PublicBundle(mallory)) } == .refused)
        #expect(try scene.store.contacts().items == [alice])
        let forced = try scene.store.importContact(PublicBundle(mallory), replacingSigningKey: true)
        #expect(forced.warnings.map(\.code) == ["signing_key_known"])
        #expect(try scene.store.contacts().warnings.map(\.code) == ["signing_key_shared"])
        // Who is asked for is who is named, whichever file comes first.
        let claimed = try #require(alice.signingFingerprint).text
        for wanted in [alice, mallory] {
            #expect(try scene.store.knownSigners(preferring: wanted)[claimed]?.identity == wanted)
            #expect(try scene.store.signer(named: wanted.fingerprint.text).identity == wanted)
        }
        #expect(failure { _ = try scene.store.signer(named: claimed) } == .keyNotFound)
    }

    @Test func `an own key pair stands before a contact with its signing key`() throws {
        let scene = try TestStore()
        try scene.install(identities["alice"])
        let own = try scene.store.identities().items[0].identity
        let bob = try bundle("bob").identity
        let mallory = PublicIdentity(label: "Mallory", encryption: bob.encryption, signing: own.signing)
        #expect(failure { _ = try scene.store.importContact(PublicBundle(mallory)) } == .refused)
        _ = try scene.store.importContact(PublicBundle(mallory), replacingSigningKey: true)
        let signing = try #require(own.signingFingerprint)
        #expect(try scene.store.knownSigners()[signing.text]?.source == .ownKey)
    }

    @Test func `a signer is named by the fingerprint of the signing key too`() throws {
        let scene = try TestStore()
        let bob = try bundle("bob").identity
        _ = try scene.store.importContact(PublicBundle(bob))
        let signing = try #require(bob.signingFingerprint).text
        #expect(try scene.store.signer(named: signing).identity == bob)
        #expect(try scene.store.signer(named: String(signing.dropFirst(7))).identity == bob)
        #expect(failure { _ = try scene.store.signer(named: "sha256:0000000000000000") } == .keyNotFound)
    }

    @Test func `stored fingerprints are computed again`() throws {
        let scene = try TestStore()
        let alice = try identities["alice"]
        let forged = alice.contactText.replacing("866301aac8c27b74", with: "0000000000000000")
        try scene.put(forged, at: "keyring", alice.contactName)
        let listing = try scene.store.contacts()
        #expect(listing.items.map(\.signingFingerprint?.text) == ["sha256:866301aac8c27b74"])
        #expect(listing.warnings.map(\.code) == ["wrong_fingerprint"])
        try scene.put(alice.contactText, at: "keyring", "sha256_0000000000000000.json")
        #expect(try scene.store.contacts().warnings.map(\.code) == ["unreadable_contact", "wrong_fingerprint"])
        let signers = try scene.store.knownSigners()
        #expect(signers["sha256:0000000000000000"] == nil)
        #expect(signers[""] == nil)
        #expect(signers["sha256:866301aac8c27b74"]?.source == .contact)
    }

    @Test func `recipients are contacts first, then own keys`() throws {
        let scene = try TestStore()
        for identity in identities.all { try scene.install(identity) }
        try scene.installContact(try identities["bob"])
        #expect(try scene.store.recipient(named: "28aac7a7ead9dfdf").source == .contact)
        #expect(try scene.store.recipient(named: "D4C4").source == .ownKey)
    }

    @Test func `a renamed contact keeps its keys`() throws {
        let scene = try TestStore()
        let alice = try identities["alice"]
        try scene.installContact(alice)
        let before = try scene.store.contact(named: "Alice Example")
        try scene.store.renameContact(before.fingerprint, to: "A.")
        let expected = alice.contactText.replacing("Alice Example", with: "A.")
        #expect(try scene.file("keyring", alice.contactName).text == expected)
        #expect(try scene.store.contact(named: "A.").encryption == before.encryption)
    }

    @Test func `labels are shown without what would change a terminal`() {
        #expect("a\u{1B}[31m".quotedForDisplay == "\"a\\033[31m\"")
        #expect("Alice".quotedForDisplay == "Alice")
        #expect("Alice B.".labelForDisplay == "Alice B.")
        #expect(
            "Ann, sha256:0123456789abcdef, contact)".labelForDisplay == "\"Ann, sha256:0123456789abcdef, contact)\"")
        #expect("a\nsha256:".labelForDisplay == "\"a\\nsha256:\"")
    }
}
