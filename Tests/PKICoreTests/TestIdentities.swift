import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import PKICore

/// The three identities of `TestVectors/pki/identities.json`, which the reference made.
struct TestIdentities {
    /// One of them.
    struct Identity {
        let name: String
        let record: JSONValue

        var folder: String { record["folder"]?.text ?? "" }
        var passphrase: [UInt8] { Hex.decode(Array((record["passphrase_hex"]?.text ?? "").utf8).span) ?? [] }
        var bundle: String { record["bundle_export"]?.text ?? "" }
        var contactName: String { record["contact_file"]?["name"]?.text ?? "" }
        var contactText: String { record["contact_file"]?["text"]?.text ?? "" }
        var files: [(name: String, text: String, mode: UInt32)] {
            (record["files"]?.members ?? []).map { member in
                let mode = UInt32(member.value["mode"]?.text ?? "", radix: 8) ?? 0
                return (member.name, member.value["text"]?.text ?? "", mode)
            }
        }

        func pair() throws -> KeyPair {
            let none = try Passphrase.none()
            let encryption = Array((record["encryption"]?["private_pkcs8_pem"]?.text ?? "").utf8)
            let signing = Array((record["signing"]?["private_pkcs8_pem"]?.text ?? "").utf8)
            return KeyPair(
                encryption: try EncryptionPrivateKey(
                    pem: encryption, passphrase: none, check: .arithmetic, name: "the key"),
                signing: try SigningPrivateKey(pem: signing, passphrase: none))
        }

        func known(_ source: KnownKey.Source) throws -> KnownKey {
            KnownKey(identity: try PublicBundle(parsing: Array(bundle.utf8)).identity, source: source)
        }
    }

    let all: [Identity]

    init() throws {
        let records = try Vectors.json("pki/identities.json")["identities"]?.items ?? []
        all = records.map { Identity(name: $0["name"]?.text ?? "", record: $0) }
        #expect(all.map(\.name) == ["alice", "bob", "carol"])
    }

    subscript(name: String) -> Identity {
        get throws { try #require(all.first { $0.name == name }) }
    }

    /// Contacts and own keys by name, in the order in which a store gives them.
    func signers(contacts: [String], own: [String]) throws -> KnownSigners {
        let contacts = try contacts.map { try self[$0].known(.contact) }
        return KnownSigners(try contacts + own.map { try self[$0].known(.ownKey) })
    }
}

/// The cases of a vector file, as many as the README says.
func pkiCases(_ name: String, count: Int) throws -> [JSONValue] {
    let cases = try Vectors.json("pki/\(name).json")["cases"]?.items ?? []
    #expect(cases.count == count)
    return cases
}

/// The bytes of a member that is text, or hex under the name with `_hex`.
func content(_ item: JSONValue, _ name: String) throws -> [UInt8] {
    if let text = item[name: name]?.text { return Array(text.utf8) }
    let digits = Array(try #require(item[name: name + "_hex"]?.text).utf8)
    let decoded = Hex.decode(digits.span)
    return try #require(decoded)
}

/// The code of what a call throws; nil if it throws nothing.
func failure(_ body: () throws -> Void) -> PKIError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? PKIError)?.code
    }
}

/// A store in a folder of its own.
struct TestStore {
    let folder: TemporaryFolder
    let store: KeyStore
    let clock = TestClock()

    init() throws {
        folder = try TemporaryFolder("pki")
        store = KeyStore(folder: folder.appending("store"), clock: clock)
    }

    /// Puts an identity in as the reference wrote it.
    func install(_ identity: TestIdentities.Identity) throws {
        let path = folder.appending("store").appending(component: "keys").appending(component: identity.folder)
        try LinuxFileSystem().createDirectories(path, mode: 0o755)
        let directory = try LinuxFileSystem().openDirectory(path)
        for (name, text, mode) in identity.files { try put(text, Array(name.utf8), directory, mode: mode) }
    }

    func installContact(_ identity: TestIdentities.Identity) throws {
        let path = folder.appending("store").appending(component: "keyring")
        try LinuxFileSystem().createDirectories(path, mode: 0o755)
        try put(
            identity.contactText, Array(identity.contactName.utf8), try LinuxFileSystem().openDirectory(path),
            mode: 0o644)
    }

    /// Replaces a file below the store's folder.
    func put(_ text: String, at path: String...) throws {
        var place = folder.appending("store")
        for part in path.dropLast() { place = place.appending(component: part) }
        try LinuxFileSystem().createDirectories(place, mode: 0o755)
        let directory = try LinuxFileSystem().openDirectory(place)
        let name = Array((path.last ?? "").utf8)
        try directory.removeTree(name)
        try put(text, name, directory, mode: 0o644)
    }

    private func put(_ text: String, _ name: [UInt8], _ directory: any Directory, mode: UInt32) throws {
        let file = try directory.createFile(name, mode: 0o600)
        let bytes = Array(text.utf8)
        try file.write(bytes.span)
        try file.setMode(mode)
    }

    /// The text and mode of a file below the store's folder.
    func file(_ path: String...) throws -> (text: String, mode: UInt32) {
        let place = path.reduce(folder.appending("store")) { $0.appending(component: $1) }
        let bytes = try LinuxFileSystem().readFile(place, limit: 1 << 20)
        return (
            String(decoding: bytes, as: UTF8.self), try LinuxFileSystem().status(of: place, followLinks: false).mode
        )
    }
}

/// A wish to stop that is seen after some looks.
final class StopsAfter: Cancellation {
    private let left: Locked<Int>

    init(_ looks: Int) { left = Locked(looks) }

    func check() throws(Interruption) {
        let isOver = left.withLock { left in
            left -= 1
            return left < 0
        }
        if isOver { throw Interruption(signal: 2) }
    }
}
