import Testing
import VaultFormat
import VaultTestSupport

@Suite("The branch index")
struct IndexVectorTests {
    /// A time after all those of the vectors but the one that lies in the far future there.
    private static let now: Int64 = 1_800_000_000_000

    private static func decode(_ members: JSONValue) throws -> BranchIndex {
        try BranchIndex.decode(JSONWriter.bytes(members, .python), nowMs: now)
    }

    @Test("indexes of the reference read and are rewritten as there")
    func indexes() throws {
        let file = try VectorFile("objects.json")
        let cipher = try VaultFormatTests.cipher(try file.root.hex("read_key"))
        for row in try file.rows("indexes", count: 4) {
            let plaintext = try cipher.open(try row.base64("ciphertext_b64"), limit: Limits.indexPlaintext)
            #expect(text(plaintext) == (try row.string("plaintext")))
            let index = try BranchIndex.decode(plaintext, nowMs: Self.now)
            #expect(text(index.encode()) == (try row.string("rewritten_plaintext")))
            #expect(index.workingFormat == Int(try row.integer("format")))
            #expect(index.idWidth.digits == Int(try row.integer("id_hex_len")))
            #expect((index.minClient ?? "") == (try row.string("min_client")))
            #expect(index.features == row["features"]?.items?.compactMap(\.text))
            #expect(index.liveTags.map(\.name) == row["live_tags"]?.items?.compactMap(\.text))
            #expect(index.carriedTags.map { $0["name"]?.text } == row["carried"]?.items?.map(\.text))
            #expect(index.branch(named: "current")?.type == .named)
            #expect(try BranchIndex.decode(index.encode(), nowMs: Self.now) == index)
        }
    }

    @Test("the index cases of the reference's readers are read alike")
    func readerCases() throws {
        let rows = try VectorFile("objects.json").rows("reader_cases", count: 49).filter {
            $0["object"]?.text == "index"
        }
        #expect(rows.count == 18)
        for row in rows {
            let stored = try #require(row["json"])
            guard try row.flag("accepted") else {
                #expect(failure { _ = try Self.decode(stored) } != nil, "\((row["why"] ?? .null).testDescription)")
                continue
            }
            var index = try Self.decode(stored)
            // Unlike the reference, members that are not known are kept.
            if try row.string("why").hasPrefix("unknown member") {
                #expect(text(index.encode()).contains("\"extra\": 1"))
                index.unknownMembers = []
                index.branches[0].unknownMembers = []
            }
            let expected = try #require(row["normalised"]?.members).filter { $0.name != "carried_tags" }
            #expect(try parseJSON(index.encode()) == .object(expected), "\((row["why"] ?? .null).testDescription)")
        }
    }

    @Test("of several entries of a tag those stand that stand in the reference", arguments: 0..<200)
    func tags(row number: Int) throws {
        let row = try VectorFile("extra.json").rows("tags", count: 200)[number]
        let index = try Self.decode(.record(["branches": .array([]), "tags": row["entries"] ?? .null]))
        let written = try parseJSON(index.encode())
        #expect(written["tags"] == row["rewritten"], "\((row["entries"] ?? .null).testDescription)")
    }

    @Test("two indexes merge as they do in the reference", arguments: 0..<80)
    func merges(row number: Int) throws {
        let row = try VectorFile("extra.json").rows("merges", count: 80)[number]
        let local = try Self.decode(try #require(row["local"]))
        let remote = try Self.decode(try #require(row["remote"]))
        let merged = BranchIndex.merged(local: local, remote: remote, nowMs: Self.now)
        let expected = try #require(row["merged"])
        let written = try parseJSON(merged.encode())
        for member in ["schema", "format", "min_client", "branches", "features", "tags"] {
            #expect(written[name: member] == expected[name: member], "\(member) of \(row.testDescription)")
        }
        // Merging is done again whenever the server moved: it must come to rest.
        let again = BranchIndex.merged(local: merged, remote: remote, nowMs: Self.now)
        #expect(BranchIndex.merged(local: again, remote: remote, nowMs: Self.now) == again)
    }

    @Test("a write that changes the gate keeps this side's, but never lowers the format")
    func localGate() throws {
        var local = BranchIndex()
        local.features = ["z"]
        local.minClient = "0.25.0"
        var remote = BranchIndex()
        remote.features = ["a"]
        remote.format = 2
        let merged = BranchIndex.merged(local: local, remote: remote, nowMs: 0, gate: .local)
        #expect(merged.features == ["ids-128", "z"])
        #expect(merged.minClient == "0.25.0")
        #expect(merged.format == 2)
        #expect(BranchIndex.merged(local: local, remote: BranchIndex(), nowMs: 0, gate: .local).format == nil)
    }

    @Test("members and records this version does not understand survive reading, merging and writing")
    func unknownMembers() throws {
        let branch = JSONValue.record([
            "branch_id": .string("branch-named-00000001"), "name": .string("current"),
            "branch_type": .string("named"), "head_ref_id": .string("ref-pid-muw-0123456789ab"),
            "public_key_id": .null, "later": .array([.integer(1)]),
        ])
        let headless = JSONValue.record(["branch_id": .string("branch-named-00000002"), "name": .string("x")])
        let stored = JSONValue.record(["branches": .array([branch, headless]), "more": .record(["a": .bool(true)])])
        let index = try Self.decode(stored)
        #expect(index.branches.count == 1)
        let merged = BranchIndex.merged(local: BranchIndex(), remote: index, nowMs: 0)
        for encoded in [index.encode(), merged.encode()] {
            let value = try parseJSON(encoded)
            #expect(value["more"]?["a"]?.boolean == true)
            #expect(value["branches"]?.items?.first?["later"] == .array([.integer(1)]))
            #expect(value["branches"]?.items?.last == headless)
        }
    }

    @Test("creation times in milliseconds and in ISO 8601 are read as in the reference")
    func dates() throws {
        for row in try VectorFile("extra.json").rows("dates", count: 36) {
            let branch = JSONValue.record([
                "branch_id": .string("branch-named-00000001"), "name": .string("current"),
                "head_ref_id": .string("ref-pid-muw-0123456789ab"), "created_at": row["value"] ?? .null,
            ])
            let stored = JSONValue.record(["branches": .array([branch])])
            guard try row.flag("accepted") else {
                #expect(failure { _ = try Self.decode(stored) } == .malformed, "\(row.testDescription)")
                continue
            }
            #expect(try Self.decode(stored).branches.first?.createdAtMs == row["result"]?.int, "\(row.testDescription)")
        }
    }

    @Test("a named branch whose name the server uses for another is left out of what is sent, with its clones")
    func clashes() throws {
        func branch(_ number: Int, _ name: String, ref: Int, clone: Bool = false, of creator: Int? = nil) throws
            -> BranchRecord
        {
            BranchRecord(
                branchID: try BranchID("branch-\(clone ? "clone" : "named")-0000000\(number)"), name: name,
                type: clone ? .clone : .named, headRefID: try RefID("ref-pid-muw-00000000000\(ref)"),
                publicKeyID: nil, createdAtMs: 1,
                creatorBranch: try creator.map { try BranchID("branch-named-0000000\($0)") })
        }
        let remote = BranchIndex(branches: [try branch(1, "current", ref: 1), try branch(2, "work", ref: 2)])
        let ours = [
            try branch(1, "current", ref: 1), try branch(3, "work", ref: 3), try branch(4, "mine", ref: 4),
            try branch(5, "local", ref: 5, clone: true, of: 3), try branch(6, "local", ref: 6, clone: true, of: 1),
            try branch(7, "work", ref: 2),
        ]
        let merged = BranchIndex.merged(local: BranchIndex(branches: ours), remote: remote, nowMs: 0)
        let result = merged.publishable(onto: remote)
        #expect(result.clashing.map(\.branchID.text) == ["branch-named-00000003", "branch-clone-00000005"])
        #expect(result.index.branches.count == merged.branches.count - 2)
    }

    @Test("an index that is no object, or with a bad member, is unreadable")
    func unreadable() {
        for index in [
            "", "5", "[]", "null", "{\"branches\":[5]}", "{\"branches\":[null]}", "{\"branches\":\"x\"}",
            "{\"features\":[null]}", "{\"format\":\"x\"}", "{\"format\":-1}", "{\"min_client\":\"v1.2.3\"}",
            "{\"schema\":\"X\"}", "{\"branches\":[{\"created_at\":[]}]}",
        ] {
            #expect(failure { _ = try BranchIndex.decode(utf8(index)) } == .malformed, "\(index)")
        }
    }
}
