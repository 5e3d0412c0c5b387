import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Every form in which a commit can be named, each compared with the id that its commit was made with.
@Suite("Revisions")
struct RevisionTests {
    private let setting: TwoClones
    private let vault: Vault
    /// The commits of the first line, oldest first, `init` first.
    private let line: [ObjectID]
    /// One of the other clone, and the merge of both.
    private let other: ObjectID
    private let merge: ObjectID

    init() async throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        var made: [ObjectID] = []
        try vault.log { entry in
            made.append(entry.commit.id)
            return true
        }
        func commit(_ vault: Vault, _ name: String, _ place: String) throws -> ObjectID {
            try setting.write(name, to: name, in: place)
            return try #require(try vault.commit(CommitOptions(message: name)).commit?.id)
        }
        made.append(try commit(vault, "one", "a"))
        _ = try await vault.push(to: try setting.remote())
        let second = try await setting.clone("b")
        other = try commit(second, "other", "b")
        _ = try await second.push(to: try setting.remote())
        made.append(try commit(vault, "two", "a"))
        made.append(try commit(vault, "three", "a"))
        let pulled = try await vault.pull(from: try setting.remote())
        #expect(pulled.outcome == .merged)
        line = made
        merge = try #require(try vault.status().head)
        self.setting = setting
        self.vault = vault
    }

    private func id(_ text: String) throws -> ObjectID {
        guard case .commit(let entry) = try vault.show(text) else { throw Errno.invalidArgument }
        return entry.commit.id
    }

    /// Puts a tag into the vault as another client would.
    private func tag(
        _ name: String, _ commit: ObjectID, as stored: String? = nil, deleted: Bool = false
    ) throws {
        let state = try vault.loadState()
        let branch = try #require(state.cloneBranch)
        let key = try #require(try vault.signingKey(branch))
        var tag = TagObject(
            name: stored ?? name, commitID: commit, message: "a tag", taggerBranch: branch.branchID,
            taggerKeyID: try #require(branch.publicKeyID), timestampMs: 1)
        try tag.sign(with: key)
        let plaintext = tag.encode()
        let bytes = try vault.cipher.sealRandom(plaintext.span, random: SecureRandom())
        let id = ObjectID(digest: try SHA256.hash(bytes.span), width: state.idWidth)
        try put(bytes, at: .object(id))
        var index = state.index
        index.tags.append(TagEntry(name: name, tagID: id, isDeleted: deleted, timestampMs: 1))
        try put(try vault.refs.encodeIndex(index, random: SecureRandom()), at: .index(vault.ids.index))
    }

    private func put(_ bytes: [UInt8], at file: FileID) throws {
        let place = try vault.layout.place(of: file)
        try? place.folder.removeFile(place.name)
        try place.folder.createFile(place.name, mode: 0o644).write(bytes.span)
    }

    @Test func `the head, parents and chains of them`() throws {
        for text in ["HEAD", "@", "HEAD~0", "HEAD^0"] { #expect(try id(text) == merge, "\(text)") }
        for text in ["@~", "HEAD^", "HEAD^1", "@~1", "~"] { #expect(try id(text) == line[3], "\(text)") }
        #expect(try id("HEAD^2") == other)
        #expect(try id("HEAD~2") == line[2] && id("@^^") == line[2] && id("@~1^1") == line[2])
        #expect(try id("HEAD^2~1") == line[1] && id("HEAD~3") == line[1])
        #expect(try id("~1") == line[3] && id("^2") == other)
        for text in ["HEAD^3", "HEAD~9", "HEAD~~~~~~~", "HEAD^2^2"] {
            #expect(throws: VaultError.coded(.revisionNotFound)) { try id(text) }
        }
    }

    @Test func `where the head was so many moves ago`() throws {
        #expect(try id("@{0}") == merge && id("HEAD@{0}") == merge)
        #expect(try id("@{1}") == line[3] && id("HEAD@{2}") == line[2] && id("@{1}~1") == line[2])
        #expect(throws: VaultError.coded(.revisionNotFound)) { try id("@{99}") }
    }

    @Test func `ids, and beginnings of at least four digits in any case`() throws {
        #expect(try id(merge.text) == merge && id(merge.hex) == merge && id(other.text + "~1") == line[1])
        #expect(try id(String(other.hex.prefix(8))) == other && id(other.hex.prefix(8).uppercased()) == other)
        #expect(throws: VaultError.coded(.revisionNotFound)) { try id(String(merge.hex.prefix(3))) }
        // Trees and blobs have ids too, and no commit's name.
        guard case .commit(let head) = try vault.show("HEAD") else { throw Errno.invalidArgument }
        let tree = head.commit.tree
        let blob = try #require(try vault.list().first?.objectID)
        for id in [tree, blob] {
            #expect(throws: VaultError.coded(.revisionNotFound)) { try self.id(id.text) }
            #expect(throws: VaultError.coded(.revisionNotFound)) { try self.id(String(id.hex.prefix(10))) }
        }
    }

    @Test func `beginnings of several ids are refused`() throws {
        // Of 17 commits two begin with the same digit, but that is too few digits to be asked for; so many are made that
        // two of them begin with the same four.
        var byPrefix: [String: [ObjectID]] = [:]
        var made = 0
        while !byPrefix.values.contains(where: { $0.count > 1 }), made < 2000 {
            let commit = try vault.commit(CommitOptions(message: "\(made)", allowEmpty: true, sign: false))
            let id = try #require(commit.commit?.id)
            byPrefix[String(id.hex.prefix(4)), default: []].append(id)
            made += 1
        }
        let twins = try #require(byPrefix.first { $0.value.count > 1 })
        #expect(throws: VaultError.coded(.revisionNotFound)) { try id(twins.key) }
        #expect(try id(String(twins.value[0].hex.prefix(12))) == twins.value[0])
    }

    @Test func `branches, by name and id, and those of the remote`() throws {
        let branch = try vault.loadState().namedBranch
        #expect(try id("current") == merge && id(branch.branchID.text) == merge)
        #expect(try id("origin/current") == other && id("origin/current~1") == line[1])
        for text in ["origin/none", "nowhere/current", "none"] {
            #expect(throws: VaultError.coded(.revisionNotFound)) { try id(text) }
        }
    }

    @Test func `tags that verify are followed, in every position`() throws {
        try tag("v1", line[2])
        try tag("dir/v2", other)
        for (text, expected) in [("v1", line[2]), ("tag:v1", line[2]), ("dir/v2", other)] {
            guard case .tag(let tag, let entry) = try vault.show(text) else { throw Errno.invalidArgument }
            #expect(entry.commit.id == expected && tag.target == expected && tag.signature == .verified, "\(text)")
            #expect(tag.message == "a tag")
        }
        #expect(try id("v1~1") == line[1] && id("tag:v1^") == line[1])
        guard case .file(let path, let commit) = try vault.show("tag:v1:two") else { throw Errno.invalidArgument }
        #expect(path.bytes == Array("two".utf8) && commit == line[2])
        try tag("gone", line[2], deleted: true)
        #expect(throws: VaultError.coded(.revisionNotFound)) { try id("gone") }
        #expect(throws: VaultError.coded(.revisionNotFound)) { try id("tag:none") }
    }

    @Test func `a tag under another name, or none, is not followed`() throws {
        try tag("moved", line[1], as: "v1")
        #expect(throws: VaultError.coded(.signatureBad)) { try id("moved") }
        var index = try vault.loadState().index
        index.tags.append(
            TagEntry(name: "lost", tagID: try ObjectID("obj-cas-imm-aaaaaaaaaaaa"), isDeleted: false, timestampMs: 2))
        try put(try vault.refs.encodeIndex(index, random: SecureRandom()), at: .index(vault.ids.index))
        #expect(throws: VaultError.coded(.objectMissing)) { try id("lost") }
    }

    @Test func `a word with two meanings is refused, and each meaning has a spelling of its own`() throws {
        let prefix = String(line[1].hex.prefix(6))
        try tag(prefix, line[2])
        try tag("current", line[2])
        for text in [prefix, "current", "\(prefix)~1"] {
            #expect(throws: VaultError.coded(.revisionNotFound), "\(text)") { try id(text) }
        }
        guard case .tag(let tag, _) = try vault.show("tag:\(prefix)") else { throw Errno.invalidArgument }
        #expect(tag.target == line[2])
        #expect(try id(String(line[1].hex.prefix(8))) == line[1])
        #expect(try id(vault.loadState().namedBranch.branchID.text) == merge)
        // The same word means one thing only where both lead to it as the head's name does.
        try self.tag("HEAD", line[1])
        #expect(try id("HEAD") == merge)
    }

    @Test func `ranges`() throws {
        func ids(_ text: String) throws -> Set<ObjectID> {
            var found: Set<ObjectID> = []
            try vault.log(LogOptions(revision: text)) { entry in
                found.insert(entry.commit.id)
                return true
            }
            return found
        }
        #expect(try ids("HEAD^2..HEAD") == [merge, line[2], line[3]])
        #expect(try ids("HEAD^1..HEAD") == [merge, other])
        #expect(try ids("HEAD^1..HEAD^2") == [other])
        // From the merge base of both, which is the first commit.
        #expect(try ids("HEAD^1...HEAD^2") == [other])
        #expect(try ids("HEAD^2...HEAD^1") == [line[2], line[3]])
        #expect(try ids("HEAD~2..") == [merge, line[3], other])
        #expect(try ids("..HEAD^2") == [] && ids("..") == [])
        #expect(try ids("origin/current..HEAD") == [merge, line[2], line[3]])
        #expect(try ids("HEAD..origin/current") == [])
        // A word with a slash is no range.
        #expect(throws: VaultError.coded(.revisionNotFound)) { try ids("x/y..HEAD") }
        #expect(throws: VaultError.coded(.revisionNotFound)) { try ids("none..HEAD") }
        let ends = try vault.diff(DiffOptions(subject: .since("HEAD^1...HEAD^2"))) { _ in true }
        #expect(ends == DiffEnds(from: line[1], to: other))
    }
}
