import Testing
import VaultFormat
import VaultTestSupport

@Suite("Names, client versions, features and content types")
struct RuleTests {
    @Test("branch and tag names are allowed as in the reference")
    func names() throws {
        for row in try VectorFile("rules.json").rows("names", count: 27) {
            let name = try row.string("name")
            // The reference lets one trailing line feed through in branch names.
            let isBranch = try row.flag("branch_name") && name != "a\n"
            #expect(BranchRecord.isValidName(name) == isBranch, "\(name)")
            #expect(TagName.isAllowed(name) == (try row.flag("new_tag_name")), "\(name)")
            #expect(TagName.isStored(name) == (try row.flag("stored_tag_name")), "\(name)")
        }
    }

    @Test("a client is refused below the minimum of the vault, as in the reference")
    func clientGate() throws {
        for row in try VectorFile("rules.json").rows("client_gate", count: 10) {
            let refused = FormatGate.refusedBelow(
                minClient: row["min_client"]?.text, client: try row.string("client"))
            #expect((refused != nil) == (try row.flag("refused")), "\(row.testDescription)")
        }
    }

    @Test("every member of the gate is read, and decides, as in the reference")
    func formatGate() throws {
        for row in try VectorFile("format_gate.json").rows("cases", count: 45) {
            var members = [JSONMember(name: "branches", value: .array([]))]
            members += try #require(row["index_members"]?.members)
            let stored = JSONWriter.bytes(.object(members), .python)
            let result = try row.string("result")
            guard result != "index unreadable" else {
                #expect(failure { _ = try BranchIndex.decode(stored) } == .malformed, "\(row.testDescription)")
                continue
            }
            let index = try BranchIndex.decode(stored)
            let client = try row.string("client")
            let refused = FormatGate.refusedBelow(minClient: index.minClient, client: client)
            #expect((refused != nil) == (result == "refused"), "\(row.testDescription)")
            if let refused, let message = row["message"]?.text { #expect(message.contains(">= \(refused.text) ")) }
            #expect(index.workingFormat == Int(try row.integer("format")))
            #expect(index.idWidth.digits == Int(try row.integer("new_id_hex")))
            #expect(index.features == row["features"]?.items?.compactMap(\.text))
            if client == "v" + FormatGate.compatibleVersion {
                #expect(failure { try index.checkGate() } == (refused == nil ? nil : .unsupported))
            }
        }
    }

    @Test("the anchor of the signature policy is written and read as in the reference")
    func anchors() throws {
        let file = try VectorFile("format_gate.json")
        for row in try file.rows("anchors_written", count: 3) {
            let head = try row.string("head")
            let feature = Feature.anchor(head: head.isEmpty ? nil : try ObjectID(head))
            #expect((feature ?? "") == (try row.string("feature")))
        }
        for row in try file.rows("anchors_read", count: 6) {
            let stored = JSONValue.record(["branches": .array([]), "features": .array([row["feature"] ?? .null])])
            let index = try BranchIndex.decode(JSONWriter.bytes(stored, .python))
            #expect((Feature.anchorDigits(in: index.features) ?? "") == (try row.string("anchor")))
        }
    }

    @Test("a vault of a later format, or with packs, is not written to")
    func writable() {
        var index = BranchIndex()
        for (format, isWritable) in [(nil, true), (1, true), (2, true), (0, false), (3, false)] as [(Int?, Bool)] {
            index.format = format
            #expect(index.isWritable == isWritable)
        }
        index.format = 1
        index.features = ["new-thing", "blob-deflate"]
        #expect(index.isWritable)
        #expect(index.hasFeature(Feature.blobDeflate))
        index.features.append("packs")
        #expect(!index.isWritable)
    }

    @Test("the compiled table of content types is the table of the vectors")
    func contentTypeTable() throws {
        let file = try VectorFile("mime.json")
        #expect(ContentType.unknown == (try file.root.string("default")))
        let types = try #require(file.root["types"]?.members)
        #expect(types.count == 149)
        for type in types {
            #expect(ContentType.guess(name: utf8("x" + type.name)) == type.value.text, "\(type.name)")
        }
        let encodings = try #require(file.root["encodings"]?.members)
        #expect(encodings.count == 5)
        for encoding in encodings {
            #expect(ContentType.guess(name: utf8("x.css" + encoding.name)) == "text/css")
        }
        let suffixes = try #require(file.root["suffixes"]?.members)
        #expect(suffixes.count == 6)
        for suffix in suffixes {
            let long = utf8("x" + (suffix.value.text ?? ""))
            #expect(ContentType.guess(name: utf8("x" + suffix.name)) == ContentType.guess(name: long))
        }
    }

    @Test("names get the content type that the reference guesses")
    func contentTypes() throws {
        let samples = try #require(try VectorFile("mime.json").root["samples"]?.members)
        #expect(samples.count == 21)
        for sample in samples {
            #expect(ContentType.guess(name: utf8(sample.name)) == sample.value.text, "\(sample.name)")
        }
        for row in try VectorFile("extra.json").rows("content_types", count: 300) {
            let items = try #require(row.items)
            let name = try #require(items[0].text)
            #expect(ContentType.guess(name: utf8(name)) == items[1].text, "\(name)")
        }
        #expect(ContentType.guess(name: []) == ContentType.unknown)
        #expect(ContentType.guess(name: [0xFF, 0x2E, 0xFF]) == ContentType.unknown)
    }

    @Test("zips with keys in them are found as the reference finds them")
    func secretScan() throws {
        for row in try VectorFile("extra.json").rows("zips", count: 48) {
            let content = try row.base64("content_b64")
            let found = SecretScan.secretEntry(in: content).map { text($0) }
            #expect(found == row["entry"]?.text, "\(row["why"]?.text ?? "")")
            let streamed = SecretScan.secretEntry(size: content.count) { (offset: Int, count: Int) throws(Never) in
                Array(content[offset..<(offset + count)])
            }
            #expect(streamed.map { text($0) } == found)
        }
        #expect(!SecretScan.looksLikeZip(utf8("PK")))
    }

    @Test("an error while a zip is read is passed on; content that got shorter is no secret")
    func secretScanErrors() throws {
        let zip = try #require(try VectorFile("extra.json").root["zips"]?.items?.first).base64("content_b64")
        #expect(
            failure {
                _ = try SecretScan.secretEntry(size: zip.count) { (_: Int, _: Int) throws(FormatError) -> [UInt8] in
                    throw .malformed("cannot read")
                }
            } == .malformed)
        let shorter = SecretScan.secretEntry(size: zip.count) { (offset: Int, count: Int) throws(Never) in
            Array(zip[offset..<(offset + count)].prefix(10))
        }
        #expect(shorter == nil)
    }
}
