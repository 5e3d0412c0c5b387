import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@Suite("Vault keys and what follows from them")
struct KeyVectorTests {
    @Test("every key text of the reference parses, derives and prints as there", arguments: 0..<23)
    func vaultKeys(row number: Int) throws {
        let row = try VectorFile("keys.json").rows("vault_keys", count: 23)[number]
        let input = try row.utf8("input")
        #expect(keyKind(input).rawValue == (try row.string("kind")))
        let key = try vaultKey(input)
        let (id, isUsable) = (key.vaultID, key.isUsableByReference)
        #expect(id.text == (try row.string("vault_id")))
        #expect(isUsable == (try row.flag("usable_by_commands")))
        let display = try shown(key)
        #expect(display == (try row.string("display_form")))
        let read = try key.deriveReadKey()
        let write = try key.deriveWriteKey()
        #expect(try shown(read) == (try row.string("read_key")))
        #expect(try shown(write) == (try row.string("write_key")))
        try checkIDs(of: read, vaultID: id, row)
        // What the reference derives as well but never uses: the derivation must be known, not offered.
        let structure = try derived(from: read, info: "sg-vault-v1:structure-key")
        #expect(structure == (try row.string("structure_key")))
        for (member, kind) in [("read_key_private", KeyTextKind.readPrivate), ("read_key_public", .readPublic)] {
            let prefixed = try row.utf8(member)
            #expect(keyKind(prefixed) == kind)
            #expect(try shown(readKey(prefixed)) == (try row.string("read_key")))
        }
    }

    private func derived(from key: ReadKey, info: String) throws -> String {
        let info = utf8(info)
        let salt: [UInt8] = []
        let secret = try key.withBytes { bytes in
            try HKDF.sha256(ikm: bytes, salt: salt.span, info: info.span, count: 32)
        }
        return hexText(secret.withBytes { $0.copied })
    }

    @Test("the file key that the reference defines and never uses")
    func fileKeys() throws {
        for row in try VectorFile("envelope.json").rows("file_key_hkdf", count: 1) {
            let key = try readKey(bytes: try row.hex("vault_key_hex"))
            let found = try derived(from: key, info: "sg-send-file-key" + (try row.string("context")))
            #expect(found == (try row.string("file_key_hex")))
        }
    }

    private func checkIDs(of key: ReadKey, vaultID: VaultID, _ row: JSONValue) throws {
        let ids = try DerivedIDs(readKey: key, vaultID: vaultID)
        #expect(ids.headRef.text == (try row.string("ref_file_id")))
        #expect(ids.index.text == (try row.string("branch_index_file_id")))
        let tails = try #require(row["branch_ref_tails"]?.members)
        #expect(tails.count == 3)
        for tail in tails {
            let ref = try ids.firstCloneRef(named: tail.name)
            #expect(ref.text == "ref-pid-snw-" + (tail.value.text ?? ""))
            #expect(ref.kind == .clone)
        }
        for cache in try row.rows("cache_ids", count: 3) {
            let found = try ids.cacheIDs(path: try cache.utf8("path"))
            #expect(found.value.text == (try cache.string("value")))
            #expect(found.pointer.text == (try cache.string("pointer")))
        }
    }

    @Test("a text the reference takes for no vault key is refused")
    func invalidVaultKeys() throws {
        for row in try VectorFile("keys.json").rows("invalid_vault_keys", count: 17) {
            let input = try row.utf8("input")
            #expect(failure { _ = try vaultKey(input) } == .invalidKey, "\(row.testDescription)")
        }
    }

    @Test("a key that is not UTF-8 is refused")
    func notText() {
        let input: [UInt8] = [0x61, 0xFF, 0x3A] + utf8("abcd1234")
        #expect(failure { _ = try vaultKey(input) } == .invalidKey)
    }

    @Test("a key argument is routed to reading or writing as the reference does")
    func routing() throws {
        for row in try VectorFile("keys.json").rows("clone_argument_routing", count: 17) {
            let argument = try row.utf8("argument")
            let option = row["read_key_option"]?.text.map { utf8($0) }
            let mode = row["mode"]?.text
            // Not a vault id: the reference takes it and fails later, here it is refused at once.
            if row["vault_key"]?.text == "Not-An-Id_1" {
                #expect(failure { _ = try Self.route(argument, option) } == .invalidKey)
                continue
            }
            guard let mode else {
                #expect(row["error"] != nil)
                #expect(failure { _ = try Self.route(argument, option) } == .invalidKey, "\(row.testDescription)")
                continue
            }
            switch try Self.route(argument, option) {
            case .vault(let key):
                #expect(mode == "read-write")
                let display = try shown(key)
                #expect(display == "sgit_private_vault_" + (try row.string("vault_key")))
            case .read(let key, let id):
                #expect(mode == "read-only")
                #expect(id.text == (try row.string("vault_key")))
                #expect(try shown(key) == (try row.string("read_key")))
            }
        }
    }

    private static func route(_ argument: [UInt8], _ option: [UInt8]?) throws(FormatError) -> AccessKey {
        guard let option else { return try AccessKey.routing(argument: argument.span, readKey: nil) }
        return try AccessKey.routing(argument: argument.span, readKey: option.span)
    }

    @Test("the id of a read-only clone may be written as an address")
    func vaultScheme() throws {
        let key = utf8(String(repeating: "ab", count: 32))
        let route = try Self.route(utf8("vault://abcd1234"), key)
        let id = route.vaultID
        #expect(id.text == "abcd1234")
    }

    @Test("a read key's text is taken with any prefix, in either case, and only with 64 digits")
    func readKeyTexts() throws {
        for row in try VectorFile("keys.json").rows("read_key_imports", count: 6) {
            let input = try row.utf8("read_key_text")
            let bytes = row["read_key_bytes_hex"]?.text.flatMap { hexDecoded(utf8($0)) }
            // The reference takes 32 digits for a shorter key.
            guard let bytes, bytes.count == 32 else {
                #expect(failure { _ = try readKey(input) } == .invalidKey, "\(row.testDescription)")
                continue
            }
            let key = try readKey(input)
            #expect(try shown(key) == hexText(bytes))
            let ids = try DerivedIDs(readKey: key, vaultID: try VaultID(try row.string("vault_id")))
            #expect(ids.headRef.text == (try row.string("ref_file_id")))
            #expect(ids.index.text == (try row.string("branch_index_file_id")))
        }
    }

    @Test("a new key has 24 and 8 characters, evenly drawn, and servers take its id")
    func generation() throws {
        let random = SeededRandom(seed: 4)
        var counts: [UInt8: Int] = [:]
        for _ in 0..<400 {
            let key = try VaultKey.generate(using: random)
            let bare = utf8(try shown(key)).dropFirst("sgit_private_vault_".utf8.count)
            let (isUsable, isServable) = (key.isUsableByReference, key.vaultID.isServable)
            #expect(bare.count == 33)
            #expect(isUsable)
            #expect(isServable)
            for byte in bare where byte != 0x3A { counts[byte, default: 0] += 1 }
        }
        #expect(counts.count == 36)
        // 12,800 draws of 36 symbols: 355 each, and six standard deviations are 113.
        for count in counts.values { #expect((240...470).contains(count)) }
        let first = try VaultKey.generate()
        let second = try VaultKey.generate()
        let ids = (first.vaultID, second.vaultID)
        #expect(ids.0 != ids.1)
    }

    @Test("what a server keeps of a write key is the hash of its hex text")
    func ownerHash() throws {
        // SHA-256 of 64 characters "0", as any tool computes it.
        let zeros = utf8(String(repeating: "0", count: 64))
        let key = try WriteKey(hex: zeros.span)
        #expect(try key.ownerHash() == "60e05bd1b195af2f94112fa7197a5c88289058840ce7c6df9693756bc6250f55")
        #expect(failure { _ = try WriteKey(hex: zeros.span.extracting(first: 62)) } == .invalidKey)
    }

    @Test("ids shorter than servers take are ids all the same")
    func servable() throws {
        #expect(try !VaultID("abcd").isServable)
        #expect(try VaultID("abcd1234").isServable)
    }

    @Test("a prefix is named, white space around the text does not count")
    func prefixes() {
        #expect(keyPrefix(utf8(" sgit_rk1_x")) == "sgit_rk1_")
        #expect(keyPrefix(utf8("x")) == nil)
        #expect(keyKind(utf8("\u{2003}sgit_public_read_x")) == .readPublic)
    }
}
