import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@Suite("Refs, keys, tags and cache objects")
struct ObjectVectorTests {
    private let file: VectorFile
    private let cipher: VaultCipher

    init() throws {
        file = try VectorFile("objects.json")
        cipher = try VaultFormatTests.cipher(try file.root.hex("read_key"))
    }

    /// Opens a row's object, compares it with the row's plaintext, and seals it again with the same IV.
    private func opened(_ row: JSONValue) throws -> [UInt8] {
        let ciphertext = try row.base64("ciphertext_b64")
        let plaintext = try cipher.open(ciphertext, limit: Limits.metadataPlaintext)
        #expect(text(plaintext) == (try row.string("plaintext")))
        let again = try cipher.sealRandom(plaintext, random: GivenBytes(Array(ciphertext.prefix(12))))
        #expect(again == ciphertext)
        if let path = row["file_id"]?.text { #expect(try FileID(path: path).path == path) }
        return plaintext
    }

    @Test("refs name the commits they name in the reference")
    func refs() throws {
        for row in try file.rows("refs", count: 2) {
            let id = try RefObject.decode(try opened(row))
            #expect(id?.text == (try row.string("commit_id")))
        }
        let id = try ObjectID("obj-cas-imm-e02339a01f33")
        #expect(text(RefObject.encode(id)) == "{\"commit_id\": \"obj-cas-imm-e02339a01f33\"}")
        #expect(text(RefObject.encode(nil)) == "{\"commit_id\": \"\"}")
        #expect(try RefObject.decode(RefObject.encode(nil)) == nil)
        #expect(try RefObject.decode(utf8("{\"commit_id\": \" OBJ-CAS-IMM-E02339A01F33 \"}")) == id)
    }

    @Test("a ref that names no commit is unreadable")
    func badRefs() {
        for ref in [
            "{}", "{\"commit_id\":null}", "{\"commit_id\":5}", "{\"commit_id\":\"x\"}", "[]", "",
            "{\"commit_id\":\"../x\"}",
        ] {
            #expect(failure { _ = try RefObject.decode(utf8(ref)) } == .malformed, "\(ref)")
        }
        let long = utf8("{\"x\": \"") + [UInt8](repeating: 0x61, count: Limits.refPlaintext) + utf8("\"}")
        #expect(failure { _ = try RefObject.decode(long) } == .limitExceeded)
    }

    @Test("a public key comes out of its object and goes back in; a private one is none")
    func keys() throws {
        let rows = try file.rows("key_objects", count: 2)
        let plaintext = try opened(rows[0])
        let pem = try KeyObject.decode(plaintext)
        #expect(text(pem) == (try file.root.string("signing_public_key_pem")))
        #expect(KeyObject.encode(pem: pem) == plaintext)
        let key = try publicKey(pem)
        let print = hexText(try hash(key.subjectPublicKeyInfo)).prefix(16)
        #expect("sha256:" + print == (try rows[0].string("fingerprint")))
        let privatePlaintext = try opened(rows[1])
        #expect(failure { _ = try KeyObject.decode(privatePlaintext) } == .malformed)
        for other in ["{}", "{\"type\":\"public\"}", "{\"type\":\"public\",\"pem\":\"x\"}", "[]"] {
            #expect(failure { _ = try KeyObject.decode(utf8(other)) } == .malformed)
        }
    }

    @Test("tags of the reference read, verify and come back byte for byte")
    func tags() throws {
        for row in try file.rows("tags", count: 3) {
            let plaintext = try opened(row)
            let tag = try TagObject.decode(plaintext)
            #expect(tag.encode() == plaintext)
            #expect(text(tag.signingBytes()) == (try row.string("signing_bytes")))
            let key = try publicKey(try row.utf8("public_key_pem"))
            #expect(tag.verify(with: key) == (try row.flag("signature_verifies")))
            #expect(try tag.target().text == "obj-cas-imm-e02339a01f33")
            let digest = try hash(try row.base64("ciphertext_b64"))
            #expect(ObjectID(digest: digest, width: .short).text == (try row.string("object_id_12")))
        }
    }

    @Test("a tag signed here verifies, and no longer when it changes")
    func signingTags() throws {
        let key = try privateKey(try file.root.utf8("signing_private_key_pem"))
        var tag = TagObject(
            name: "v1.0", commitID: try ObjectID("obj-cas-imm-e02339a01f33"), message: "première 😀",
            taggerBranch: try BranchID("branch-clone-00112233445566aa"),
            taggerKeyID: try KeyID("key-rnd-imm-00112233445566bb"), timestampMs: 1_767_225_602_000)
        #expect(!tag.verify(with: key.publicKey))
        try tag.sign(with: key)
        let stored = try TagObject.decode(tag.encode())
        #expect(stored == tag)
        #expect(stored.verify(with: key.publicKey))
        tag.name = "v1.1"
        #expect(!tag.verify(with: key.publicKey))
    }

    @Test("odd values of each member of a tag are read as the reference reads them")
    func tagMembers() throws {
        let cases = try #require(try VectorFile("extra.json").root["tag_objects"])
        let base = try #require(cases["base"]?.members)
        for row in try cases.rows("cases", count: 42) {
            let member = try row.string("member")
            var members = base.filter { $0.name != member }
            members.append(JSONMember(name: member, value: row["value"] ?? .null))
            let stored = JSONWriter.bytes(.object(members), .python)
            guard try row.flag("accepted") else {
                #expect(failure { _ = try TagObject.decode(stored) } != nil, "\(row.testDescription)")
                continue
            }
            #expect(try parseJSON(try TagObject.decode(stored).encode()) == row["result"], "\(row.testDescription)")
        }
    }

    @Test("cache objects of the reference come back byte for byte, at the place that follows from their path")
    func cache() throws {
        let ids = try DerivedIDs(
            readKey: try readKey(bytes: try file.root.hex("read_key")), vaultID: try VaultID("objects01"))
        for row in try file.rows("cache", count: 2) {
            let plaintext = try opened(row)
            let object = try CacheObject.decode(plaintext)
            #expect(object.encode() == plaintext)
            #expect(object.path == (try row.string("path")))
            let places = try ids.cacheIDs(path: utf8(object.path), mutability: object.mutability)
            switch object.content {
            case .value(let bytes):
                #expect(text(bytes) == "hello")
                #expect(FileID.cacheValue(places.value).path == (try row.string("file_id")))
            case .tree: #expect(FileID.cachePointer(places.pointer).path == (try row.string("file_id")))
            case .blob: Issue.record("no such object in the vectors")
            }
        }
    }

    @Test("a pointer to a file comes back; what is no cache object is refused")
    func cachePointers() throws {
        let object = CacheObject(
            path: "a/b", mutability: .multiWriter, commitID: try ObjectID("obj-cas-imm-0123456789ab"),
            contentType: "text/plain", contentHash: "0123456789ab",
            content: .blob(try ObjectID("obj-cas-imm-ffffffffffff"), size: 7))
        #expect(try CacheObject.decode(object.encode()) == object)
        for other in [
            "{}", "[]", "{\"kind\":\"value\"}",
            "{\"kind\":\"value\",\"path\":\"a\",\"mutability\":\"snw\",\"commit_id\":\"x\",\"value_b64\":\"\",\"size\":0}",
        ] {
            #expect(failure { _ = try CacheObject.decode(utf8(other)) } == .malformed)
        }
    }
}
