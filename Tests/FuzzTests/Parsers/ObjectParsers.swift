import VaultCrypto
import VaultFormat
import VaultTestSupport

/// The readers of what a vault stores.
enum ObjectParsers {
    private static func makeCipher() throws -> VaultCipher {
        try VaultCipher(readKey: try ReadKey(bytes: try SecretBytes(copying: [UInt8](repeating: 7, count: 32).span)))
    }

    private static let cipher = Result { try makeCipher() }
    private static let limit = 1 << 16

    /// As it comes, which no tag matches; and below a good tag, as the plaintext and as a deflated stream.
    static func envelope(_ bytes: [UInt8]) throws {
        let cipher = try cipher.get()
        if (try? cipher.open(bytes.span, limit: limit)) != nil {
            throw FuzzTarget.Broken("bytes without a tag were opened")
        }
        _ = try? cipher.openText(bytes.span)
        let iv = [UInt8](repeating: 3, count: 12)
        let plain = try cipher.aead.seal(bytes.span, iv: iv.span)
        let isRead = bytes.count <= limit
        let opened = try? cipher.open(plain.span, limit: limit)
        try FuzzTarget.require(opened == (isRead ? bytes : nil), "an envelope does not come back")
        var deflated = try cipher.aead.seal(bytes.span, iv: iv.span, prefix: VaultCipher.deflateMagic.count)
        for position in VaultCipher.deflateMagic.indices { deflated[position] = VaultCipher.deflateMagic[position] }
        guard let inflated = try? cipher.open(deflated.span, limit: limit) else { return }
        try FuzzTarget.require(inflated.count <= limit, "more was inflated than is allowed")
    }

    static func tree(_ bytes: [UInt8]) throws {
        let cipher = try cipher.get()
        try check(try TreeObject.decode(bytes.span, cipher: cipher), cipher)
    }

    private static func check(_ tree: TreeObject, _ cipher: VaultCipher) throws {
        guard let again = try? tree.encode(cipher: cipher) else { return }
        // An empty content type is filled in on writing.
        guard tree.entries.allSatisfy({ $0.file?.contentType.isEmpty != true }) else { return }
        let read = try? TreeObject.decode(again.span, cipher: cipher)
        let sorted = tree.entries.sorted { $0.precedes($1) }
        try FuzzTarget.require(read?.entries == sorted, "a tree does not come back")
    }

    /// Lines become the sealed texts of one entry, so that what lies behind the tags is reached.
    static func treeEntry(_ bytes: [UInt8]) throws {
        let cipher = try cipher.get()
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
        func sealed(_ number: Int) throws -> JSONValue {
            guard number < lines.count else { return .null }
            let line = Array(lines[number])
            return .string(try cipher.sealText(line.span))
        }
        let names = ["name_enc", "size_enc", "content_hash_enc", "content_type_enc"]
        var members = [JSONMember(name: "blob_id", value: .string("obj-cas-imm-6a2cbed61ecf"))]
        for (number, name) in names.enumerated() { members.append(JSONMember(name: name, value: try sealed(number))) }
        members.append(JSONMember(name: "tree_id", value: .null))
        let document = JSONValue.record(["schema": .string("tree_v1"), "entries": .array([.object(members)])])
        let text = JSONWriter.bytes(document, .python)
        try check(try TreeObject.decode(text.span, cipher: cipher), cipher)
    }

    static func commit(_ bytes: [UInt8]) throws {
        let commit = try CommitObject.decode(bytes.span)
        let again = commit.encode()
        try FuzzTarget.require((try? CommitObject.decode(again.span)) == commit, "a commit does not come back")
        _ = commit.signingBytes() + commit.legacySigningBytes()
    }

    static func ref(_ bytes: [UInt8]) throws {
        let id = try RefObject.decode(bytes.span)
        let again = RefObject.encode(id)
        try FuzzTarget.require(try RefObject.decode(again.span) == id, "a ref does not come back")
    }

    static func index(_ bytes: [UInt8]) throws {
        let index = try BranchIndex.decode(bytes.span)
        let again = index.encode()
        try FuzzTarget.require((try? BranchIndex.decode(again.span)) == index, "an index does not come back")
        let merged = BranchIndex.merged(local: index, remote: index, nowMs: .max)
        let twice = BranchIndex.merged(local: merged, remote: index, nowMs: .max)
        try FuzzTarget.require(merged == twice, "a merge of an index with itself goes on changing")
    }

    static func tag(_ bytes: [UInt8]) throws {
        let tag = try TagObject.decode(bytes.span)
        let again = tag.encode()
        try FuzzTarget.require((try? TagObject.decode(again.span)) == tag, "a tag does not come back")
    }

    static func keyObject(_ bytes: [UInt8]) throws {
        let pem = try KeyObject.decode(bytes.span)
        let again = KeyObject.encode(pem: pem)
        try FuzzTarget.require((try? KeyObject.decode(again.span)) == pem, "a key object does not come back")
    }

    static func cacheObject(_ bytes: [UInt8]) throws {
        let object = try CacheObject.decode(bytes.span)
        let again = object.encode()
        try FuzzTarget.require((try? CacheObject.decode(again.span)) == object, "a cache object does not come back")
    }
}
