import Testing
import VaultCrypto
import VaultFormat
import VaultTestSupport

@Suite("Trees")
struct TreeVectorTests {
    private let file: VectorFile
    private let cipher: VaultCipher

    init() throws {
        file = try VectorFile("objects.json")
        cipher = try VaultFormatTests.cipher(try file.root.hex("read_key"))
    }

    @Test("a flat list of files gives every tree of the reference, byte for byte", arguments: 0..<13)
    func trees(row number: Int) throws {
        let row = try file.rows("trees", count: 13)[number]
        let width: IDWidth = try row.integer("id_hex_len") == 12 ? .short : .long
        let expected = try #require(row["trees"]?.items)
        #expect(!expected.isEmpty)
        var built: [String: (id: ObjectID, ciphertext: [UInt8], plaintext: [UInt8])] = [:]
        let root = try build(try #require(row["files"]?.members), at: "", width: width, into: &built)
        #expect(root.text == (try row.string("root_tree_id")))
        #expect(built.count == expected.count)
        for tree in expected {
            let path = try tree.string("path")
            let found = try #require(built[path], "no tree for \(path)")
            #expect(text(found.plaintext) == (try tree.string("plaintext")))
            #expect(found.ciphertext == (try tree.base64("ciphertext_b64")))
            #expect(found.id.text == (try tree.string("object_id")))
            let decoded = try TreeObject.open(found.ciphertext, cipher: cipher)
            let names = try #require(tree["names"]?.items).compactMap(\.text)
            #expect(decoded.entries.map { text($0.name) }.elementsEqual(names) { $0.utf8.elementsEqual($1.utf8) })
            #expect(try decoded.encode(cipher: cipher) == found.plaintext)
        }
    }

    /// Builds the folder `at` and all below it, deepest first.
    private func build(
        _ files: [JSONMember], at folder: String, width: IDWidth,
        into built: inout [String: (id: ObjectID, ciphertext: [UInt8], plaintext: [UInt8])]
    ) throws -> ObjectID {
        var entries: [TreeEntry] = []
        var folders: [[UInt8]: [JSONMember]] = [:]
        for file in files {
            let path = utf8(file.name)
            if let slash = path.firstIndex(of: 0x2F) {
                let rest = JSONMember(name: text(Array(path[(slash + 1)...])), value: file.value)
                folders[Array(path[..<slash]), default: []].append(rest)
            } else {
                entries.append(TreeEntry(name: path, target: .file(try entry(file.value))))
            }
        }
        for (name, files) in folders {
            let path = folder.isEmpty ? text(name) : folder + "/" + text(name)
            let id = try build(files, at: path, width: width, into: &built)
            entries.append(TreeEntry(name: name, target: .folder(id)))
        }
        let tree = TreeObject(entries: entries)
        let sealed = try tree.seal(cipher: cipher, width: width)
        built[folder] = (sealed.id, sealed.ciphertext, try tree.encode(cipher: cipher))
        return sealed.id
    }

    private func entry(_ row: JSONValue) throws -> FileEntry {
        FileEntry(
            blobID: try ObjectID(try row.string("blob_id")), size: try row.integer("size"),
            contentHash: try ContentHash(hex: try row.string("content_hash")),
            contentType: try row.string("content_type"), isLarge: try row.flag("large"))
    }

    @Test("the tree cases of the reference's readers are read alike")
    func readerCases() throws {
        let rows = try file.rows("reader_cases", count: 49).filter { $0["object"]?.text == "tree" }
        #expect(rows.count == 7)
        for row in rows {
            var tree = try #require(row["json"])
            // The cases hold no real ciphertext; put a name and a size in their place.
            tree = try tree.replacing("AAAA") { member in
                let sample = ["name_enc": "a", "size_enc": "5", "content_hash_enc": "0123456789ab"][member] ?? "text/x"
                return try cipher.sealText(utf8(sample))
            }
            let why = try row.string("why")
            let decoded = try TreeObject.decode(JSONWriter.bytes(tree, .python), cipher: cipher)
            let file = decoded.entries.first?.file
            switch why {
            case "no schema": #expect(decoded.entries.isEmpty)
            case "only an id and a name":
                #expect(file?.size == 0 && file?.contentHash == nil && file?.contentType == "")
            case "large is a number": #expect(file?.isLarge == true)
            default: #expect(file?.size == 5 && file?.isLarge == false && file?.contentType == "text/x", "\(why)")
            }
        }
    }

    private func decode(_ entries: String) throws(FormatError) -> [TreeEntry] {
        try TreeObject.decode(utf8("{\"entries\":[" + entries + "]}"), cipher: cipher).entries
    }

    private static let blob = "\"blob_id\":\"obj-cas-imm-0123456789ab\""

    @Test("entries without a name, or with an empty one, or that stand for nothing, are left out")
    func skipped() throws {
        let name = try cipher.sealText(utf8("a"))
        let empty = try cipher.sealText([])
        #expect(try decode("{\(Self.blob)}").isEmpty)
        #expect(try decode("{\(Self.blob),\"name_enc\":\"\"}").isEmpty)
        #expect(try decode("{\(Self.blob),\"name_enc\":\"\(empty)\"}").isEmpty)
        #expect(try decode("{\"name_enc\":\"\(name)\"}").isEmpty)
        #expect(try decode("{\(Self.blob),\"name_enc\":\"\(name)\"}").count == 1)
    }

    @Test("an id of another shape rejects the whole tree")
    func badIDs() throws {
        let name = try cipher.sealText(utf8("a"))
        for id in ["obj-cas-imm-0123456789AB", " obj-cas-imm-0123456789ab", "x", "obj-cas-imm-0123456789abc"] {
            #expect(failure { _ = try decode("{\"blob_id\":\"\(id)\",\"name_enc\":\"\(name)\"}") } == .malformed)
            let entry = "{\(Self.blob),\"tree_id\":\"\(id)\",\"name_enc\":\"\(name)\"}"
            #expect(failure { _ = try decode(entry) } == .malformed)
        }
        for tree in ["{}", "[]", "null", "{\"entries\":null}", "{\"entries\":{}}", "{\"entries\":[5]}", ""] {
            #expect(failure { _ = try TreeObject.decode(utf8(tree), cipher: cipher) } == .malformed, "\(tree)")
        }
    }

    @Test("of two entries with one name the later stands, in both ways of reading")
    func duplicates() throws {
        let first = try TreeObject(entries: [.init(name: utf8("a"), target: .file(Self.file("0123456789ab", size: 1)))])
            .encode(cipher: cipher)
        let second = try TreeObject(entries: [.init(name: utf8("a"), target: .file(Self.file("ffffffffffff", size: 2)))]
        )
        .encode(cipher: cipher)
        let head = text(first).dropLast(2)
        let tail = text(second).dropFirst("{\"schema\": \"tree_v1\", \"entries\": [".utf8.count)
        for separator in [", ", ","] {
            let tree = try TreeObject.decode(utf8(head + separator + tail), cipher: cipher)
            #expect(tree.entries.map(\.file?.size) == [2])
        }
    }

    private static func file(_ hex: String, size: Int64) throws -> FileEntry {
        FileEntry(
            blobID: try ObjectID("obj-cas-imm-" + hex), size: size, contentHash: nil, contentType: "text/plain")
    }

    @Test("names and sizes that no tree may have are not written")
    func unwritable() throws {
        func encoded(_ names: [String], size: Int64 = 1) throws {
            let file = try Self.file("0123456789ab", size: size)
            let tree = TreeObject(entries: names.map { TreeEntry(name: utf8($0), target: .file(file)) })
            _ = try tree.encode(cipher: cipher)
        }
        #expect(failure { try encoded([""]) } == .malformed)
        #expect(failure { try encoded(["a/b"]) } == .malformed)
        #expect(failure { try encoded(["a", "a"]) } == .malformed)
        #expect(failure { try encoded(["a"], size: -1) } == .malformed)
        #expect(failure { try encoded([String(repeating: "n", count: 741)]) } == .limitExceeded)
        #expect(failure { try encoded([String(repeating: "n", count: 740)]) } == nil)
        #expect(failure { try encoded(["e\u{301}", "\u{E9}"]) } == nil)
        let invalid = TreeEntry(name: [0xFF], target: .file(try Self.file("0123456789ab", size: 1)))
        #expect(failure { _ = try TreeObject(entries: [invalid]).encode(cipher: cipher) } == .malformed)
    }

    @Test("sizes that are no numbers, or too large for a file, are refused")
    func badSizes() throws {
        let name = try cipher.sealText(utf8("a"))
        for size in ["", "x", "-5", " 5", "5.0", "9223372036854775808", "99999999999999999999999"] {
            let entry = "{\(Self.blob),\"name_enc\":\"\(name)\",\"size_enc\":\"\(try cipher.sealText(utf8(size)))\"}"
            #expect(failure { _ = try decode(entry) } == .malformed, "\(size)")
        }
    }

    @Test("any tree comes back, and in any spelling of its JSON")
    func roundTrip() throws {
        let random = SeededRandom.announced("tree round trip")
        for _ in 0..<60 {
            var names = Set<[UInt8]>()
            let tree = TreeObject(
                entries: (0..<random.below(30)).compactMap { _ in
                    let name = random.name()
                    guard names.insert(name).inserted else { return nil }
                    return TreeEntry(name: name, target: random.target())
                })
            let plaintext = try tree.encode(cipher: cipher)
            let sorted = tree.entries.sorted { $0.precedes($1) }
            #expect(try TreeObject.decode(plaintext, cipher: cipher).entries == sorted, "\(random)")
            let value = try parseJSON(plaintext)
            for style in [JSONWriter.Style.canonical, .compact, .pythonIndented2] {
                let other = JSONWriter.bytes(value, style)
                #expect(try TreeObject.decode(other, cipher: cipher).entries == sorted, "\(random)")
            }
            #expect(JSONWriter.bytes(value, .python) == plaintext, "\(random)")
        }
    }

    @Test("a folder of 10,000 files is written and read in well under a second")
    func size() throws {
        let entries = try (0..<10_000).map { number in
            TreeEntry(
                name: utf8("file-\(number).txt"), target: .file(try Self.file("0123456789ab", size: Int64(number))))
        }
        let clock = ContinuousClock()
        let start = clock.now
        let plaintext = try TreeObject(entries: entries).encode(cipher: cipher)
        let written = clock.now
        let tree = try TreeObject.decode(plaintext, cipher: cipher)
        let read = clock.now
        #expect(tree.entries.count == 10_000)
        print("10,000 entries: encode \(written - start), decode \(read - written)")
        // A wide bound for debug builds on a busy machine; quadratic work would take minutes.
        #expect(read - start < .seconds(30))
    }
}

extension JSONValue {
    /// The value with every string `text` replaced by what `make` gives for its member's name.
    fileprivate func replacing(
        _ text: String, in member: String = "", _ make: (String) throws -> String
    ) rethrows -> JSONValue {
        switch self {
        case .string(text): .string(try make(member))
        case .array(let items): .array(try items.map { try $0.replacing(text, in: member, make) })
        case .object(let members):
            .object(
                try members.map {
                    JSONMember(name: $0.name, value: try $0.value.replacing(text, in: $0.name, make))
                })
        default: self
        }
    }
}

extension SeededRandom {
    /// A name as trees hold them, from a few alphabets.
    fileprivate func name() -> [UInt8] {
        let pieces = ["a", "b", "Z", ".", " ", "\\", "\"", "\n", "é", "e\u{301}", "\u{FFFF}", "😀", "0", "~"]
        let count = below(20) == 0 ? 100 : 1 + below(5)
        return utf8((0..<count).map { _ in pieces[below(pieces.count)] }.joined())
    }

    fileprivate func target() -> TreeEntry.Target {
        let digest = block(32)
        let id = ObjectID(digest: digest, width: below(2) == 0 ? .short : .long)
        guard below(4) > 0 else { return .folder(id) }
        return .file(
            FileEntry(
                blobID: id, size: Int64(below(2) == 0 ? below(1000) : Int.max - below(5)),
                contentHash: below(5) == 0 ? nil : ContentHash(digest: digest),
                contentType: ["text/plain", "application/octet-stream", "x"][below(3)], isLarge: below(3) == 0))
    }
}
