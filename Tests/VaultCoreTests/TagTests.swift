import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("Tags")
struct TagTests {
    private let lab: TagScene
    private let head: ObjectID

    init() async throws {
        lab = try await TagScene()
        head = try #require(try lab.open("a").status().head)
    }

    @Test func `are made here, sent by a push, and seen by pulls, fetches and clones`() async throws {
        let made = try lab.open("a").createTag("v1", message: "first\nof all")
        #expect(made.tag.target == head && made.oldTarget == nil && !made.tag.isPushed)
        #expect(try await lab.remoteIndex().tags == [])
        #expect(try await lab.pull("b").tags == [])
        #expect(try lab.tags("a") == ["v1": .verified])
        let sent = TagChange(name: "v1", kind: .added, target: head)
        #expect(try await lab.push("a").tags == [sent])
        #expect(try await lab.pull("b").tags == [sent])
        #expect(try await lab.pull("b").tags == [])
        try await lab.scene.clone("c")
        for name in ["a", "b", "c"] {
            let tag = try lab.open(name).tag(named: "v1")
            #expect(tag.message == "first\nof all" && tag.signature == .verified && tag.isPushed, "\(name)")
            #expect(tag.id == made.tag.id && tag.target == head)
            #expect(try await lab.open(name).fsck().isClean)
        }
        _ = try lab.open("b").createTag("v2")
        try await lab.push("b")
        #expect(try await lab.open("c").fetch(from: lab.scene.remote()).tags.map(\.name) == ["v2"])
        #expect(try lab.tags("c") == ["v1": .verified, "v2": .verified])
    }

    @Test func `that are all there is to send leave the branch's ref as it is`() async throws {
        // The clone "b" never pushed, so that it is registered along with its tag.
        let ref = FileID.ref(try lab.open("b").ids.headRef)
        let before = try await lab.file(ref)
        _ = try lab.open("b").createTag("v1")
        let counting = CountingRemote(lab.scene.remote())
        let result = try await lab.open("b").push(to: counting)
        #expect(result.outcome == .pushed && result.commits == 0 && result.old == head && result.new == head)
        #expect(counting.counted.namedRefSwaps == 0)
        #expect(try await lab.file(ref) == before)
        #expect(try await lab.push("b").outcome == .upToDate)
        try await lab.pull("a")
        #expect(try lab.tags("a") == ["v1": .verified])
    }

    @Test func `that were deleted do not come back from a clone that still has them`() async throws {
        _ = try lab.open("a").createTag("v1")
        try await lab.push("a")
        try await lab.pull("b")
        let deletion = try lab.open("a").deleteTag("v1")
        #expect(deletion.outcome == .deleted && deletion.target == head)
        #expect(try lab.tags("a") == [:] && lab.tags("b") == ["v1": .verified])
        #expect(throws: VaultError.coded(.revisionNotFound)) { try lab.open("a").deleteTag("v1") }
        #expect(try await lab.push("a").tags == [TagChange(name: "v1", kind: .deleted, target: nil)])
        // "b" has the tag in its index, works on and publishes.
        try lab.commit("two", in: "b")
        try await lab.push("b")
        #expect(try await lab.remoteIndex().tags.map(\.isDeleted) == [true])
        #expect(try lab.tags("b") == [:])
        try await lab.pull("a")
        #expect(try lab.tags("a") == [:])
        // The name is free again, and a new tag of it outlives the tombstone.
        _ = try lab.open("b").createTag("v1")
        #expect(try await lab.push("b").tags.map(\.kind) == [.added])
        #expect(try await lab.pull("a").tags.map(\.kind) == [.added])
        #expect(try lab.tags("a") == ["v1": .verified])
    }

    @Test func `that were never sent are gone when they are deleted`() async throws {
        _ = try lab.open("a").createTag("v1")
        #expect(try lab.open("a").deleteTag("v1").outcome == .removed)
        #expect(try await lab.push("a").outcome == .upToDate)
        #expect(try await lab.remoteIndex().tags == [])
    }

    @Test func `do not move, unless that is asked for`() async throws {
        let vault = try lab.open("a")
        _ = try vault.createTag("v1")
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.createTag("v1", at: "HEAD~1") }
        try await lab.push("a")
        try await lab.pull("b")
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.createTag("v1", at: "HEAD~1") }
        let moved = try vault.createTag("v1", at: "HEAD~1", force: true)
        #expect(moved.oldTarget == head && moved.tag.target != head)
        #expect(try await lab.push("a").tags == [TagChange(name: "v1", kind: .moved, target: moved.tag.target)])
        #expect(try await lab.pull("b").tags.map(\.kind) == [.moved])
        // A change of ours dropped: the vault's stands again.
        _ = try vault.createTag("v1", force: true)
        #expect(try vault.deleteTag("v1").outcome == .restored)
        #expect(try vault.tag(named: "v1").target == moved.tag.target)
        #expect(try await lab.push("a").outcome == .upToDate)
    }

    @Test func `that others made meanwhile under the same name are not replaced`() async throws {
        _ = try lab.open("a").createTag("v1", at: "HEAD~1")
        _ = try lab.open("b").createTag("v1")
        try await lab.push("b")
        try lab.commit("two", in: "a")
        await #expect(throws: VaultError.coded(.nameTaken)) { try await lab.push("a") }
        // Nothing of the push has happened.
        #expect(try await lab.open("a").snapshot(of: lab.scene.remote(), ref: lab.open("a").ids.headRef).head == head)
        try await lab.pull("a")
        await #expect(throws: VaultError.coded(.nameTaken)) { try await lab.push("a") }
        #expect(try lab.open("a").deleteTag("v1").outcome == .restored)
        #expect(try await lab.push("a").tags == [])
        #expect(try lab.open("a").tag(named: "v1").target == head)
        // Nor is one deleted that moved meanwhile, nor one made again that was deleted.
        _ = try lab.open("a").deleteTag("v1")
        _ = try lab.open("b").createTag("v1", at: "HEAD~1", force: true)
        try await lab.push("b", PushOptions(pullFirst: true))
        await #expect(throws: VaultError.coded(.nameTaken)) { try await lab.push("a") }
        _ = try lab.open("a").createTag("v1", force: true)
        _ = try lab.open("b").deleteTag("v1")
        lab.clock.advance(ms: 1000)
        try await lab.pull("b")
        await #expect(throws: VaultError.coded(.nameTaken)) { try await lab.push("a") }
    }

    @Test func `win over a clock that is ahead, and are not drawn ahead by one that is far ahead`() async throws {
        _ = try lab.open("a").createTag("near")
        _ = try lab.open("a").createTag("far")
        try await lab.push("a")
        let now = lab.clock.nowMs
        let hour: Int64 = 3_600_000
        try await lab.changeIndex { index in
            for position in index.tags.indices {
                index.tags[position].timestampMs = now + (index.tags[position].name == "near" ? hour : 72 * hour)
            }
        }
        try await lab.pull("b")
        for name in ["near", "far"] { _ = try lab.open("b").createTag(name, at: "HEAD~1", force: true) }
        #expect(try await lab.push("b").tags.map(\.kind) == [.moved, .moved])
        let tags = try await lab.remoteIndex().tags
        #expect(tags.map(\.name) == ["far", "near"])
        #expect(tags[1].timestampMs == now + hour + 1)
        #expect((now..<(now + hour)).contains(tags[0].timestampMs))
    }

    @Test func `wait for their commit to be at the remote`() async throws {
        let vault = try lab.open("a")
        _ = try vault.switchBranch(to: "drafts", creating: true)
        let draft = try lab.commit("draft", in: "a")
        _ = try vault.createTag("early")
        _ = try vault.switchBranch(to: "current")
        _ = try vault.createTag("v1")
        let result = try await lab.push("a")
        #expect(result.tags.map(\.name) == ["v1"] && result.waitingTags == ["early"])
        #expect(try await lab.remoteIndex().tags.map(\.name) == ["v1"])
        #expect(try vault.tag(named: "early").isPushed == false && vault.tag(named: "v1").isPushed)
        _ = try vault.switchBranch(to: "drafts")
        #expect(try await lab.push("a").tags == [TagChange(name: "early", kind: .added, target: draft)])
        // At another branch of the remote it is there as well, although the branch that is pushed does not lead to it.
        _ = try vault.createTag("again", at: "early")
        _ = try vault.switchBranch(to: "current")
        #expect(try await lab.push("a").tags.map(\.name) == ["again"])
        #expect(try await lab.open("a").fsck().isClean)
    }

    @Test func `go along to every further remote, with their objects`() async throws {
        _ = try lab.open("a").createTag("v1")
        try await lab.push("a")
        _ = try lab.open("a").createTag("v2")
        let scene = lab.scene
        let backup = FolderRemote(
            path: scene.path("backup"), vaultID: scene.keys.vaultID, environment: scene.environment)
        #expect(try await lab.open("a").push(to: backup).tags.map(\.name) == ["v1", "v2"])
        _ = try await Vault.clone(
            from: backup, key: scene.keys.clone, to: scene.path("c"), options: CloneOptions(),
            environment: scene.environment, observer: SilentObserver())
        #expect(try lab.tags("c") == ["v1": .verified, "v2": .verified])
        #expect(try await lab.push("a").tags.map(\.name) == ["v2"])
        try await lab.pull("b")
        #expect(try lab.tags("b") == ["v1": .verified, "v2": .verified])
    }

    @Test func `are merged anew when another client writes the index meanwhile`() async throws {
        _ = try lab.open("a").createTag("ours")
        let lab = lab
        let racing = RacingRemote(lab.scene.remote()) { try await lab.changeIndex { $0.features = ["of-tomorrow"] } }
        #expect(try await lab.open("a").push(to: racing).tags.map(\.name) == ["ours"])
        let index = try await lab.remoteIndex()
        #expect(index.features == ["of-tomorrow"] && index.tags.map(\.name) == ["ours"])
    }

    @Test func `of a push that was interrupted are found to have arrived`() async throws {
        _ = try lab.open("a").createTag("v1")
        let points = FailPoints { (point: FailPoint) throws(Errno) in
            if point == .pushBeforeLocal { throw .ioError }
        }
        let broken = VaultScene(keys: lab.scene.keys, on: lab.memory, seed: 12, failPoints: points, clock: lab.clock)
        await #expect(throws: VaultError.coded(.ioError)) { try await broken.open("a").push(to: broken.remote()) }
        #expect(try await lab.remoteIndex().tags.map(\.name) == ["v1"])
        #expect(try lab.open("a").tag(named: "v1").isPushed == false)
        #expect(try await lab.push("a").outcome == .upToDate)
        #expect(try lab.open("a").tag(named: "v1").isPushed)
        #expect(try lab.open("a").loadState().index.tags.map(\.name) == ["v1"])
    }

    @Test func `are refused under names and with messages that they can not have`() throws {
        let vault = try lab.open("a")
        for name in [
            "", "-v", ".v", "v.", "v/", "a..b", "a//b", "head", "HEAD", "abcdef0", "obj-cas-imm-x", "a b", "ä",
        ] {
            #expect(throws: VaultError.coded(.usage), "\(name)") { try vault.createTag(name) }
        }
        for message in ["\u{7}", "a\u{0}b", String(repeating: "x", count: 4097)] {
            #expect(throws: VaultError.coded(.usage)) { try vault.createTag("v1", message: message) }
        }
        #expect(throws: VaultError.coded(.revisionNotFound)) { try vault.createTag("v1", at: "nothing") }
        #expect(try vault.tags() == [])
        for name in ["v1.0", "release/2026-10", "abcdef", "0", String(repeating: "x", count: 100)] {
            _ = try vault.createTag(name, message: String(repeating: "é", count: 4096))
        }
        #expect(try vault.tags(matching: "r*/*-1?").map(\.name) == ["release/2026-10"])
        #expect(try vault.tags(matching: "*").count == 5 && vault.tags(matching: "[v0]*").count == 2)
        #expect(try vault.tags(matching: "v1").isEmpty)
    }

    @Test func `need this clone's key, and a clone that can write`() async throws {
        let key = try lab.signer("a").id
        let folder = try lab.memory.openDirectory("/a/.sg_vault/local")
        try folder.removeFile(Array("\(key.text).pem".utf8))
        #expect(throws: VaultError.coded(.keyMissing)) { try lab.open("a").createTag("v1") }
        var options = CloneOptions()
        options.readOnly = true
        let scene = lab.scene
        let reader = try scene.keys.text.withBytes { try CloneKey(.vault(VaultKey(parsing: $0)), options: options) }
        _ = try await Vault.clone(
            from: scene.remote(), key: reader, to: scene.path("r"), options: options, environment: scene.environment,
            observer: SilentObserver())
        #expect(throws: VaultError.coded(.readOnlyClone)) { try lab.open("r").createTag("v1") }
        #expect(throws: VaultError.coded(.readOnlyClone)) { try lab.open("r").deleteTag("v1") }
        _ = try lab.open("b").createTag("v1")
        try await lab.push("b")
        _ = try await lab.open("r").pull(from: scene.remote())
        #expect(try lab.tags("r") == ["v1": .verified])
    }

    @Test func `that this version can not read keep their name`() async throws {
        let strange = JSONValue.object([
            JSONMember(name: "name", value: .string("v1")), JSONMember(name: "of_tomorrow", value: .bool(true)),
        ])
        try await lab.changeIndex { $0.carriedTags.append(strange) }
        _ = try lab.open("a").createTag("v1")
        await #expect(throws: VaultError.coded(.nameTaken)) { try await lab.push("a") }
        try await lab.pull("b")
        #expect(throws: VaultError.coded(.nameTaken)) { try lab.open("b").createTag("v1", force: true) }
        #expect(try await lab.remoteIndex().carriedTags.count == 1)
    }

    @Test func `whose object is absent, damaged or huge spoil no pull`() async throws {
        let made = try lab.open("a").createTag("v1")
        try await lab.push("a")
        let id = FileID.object(try #require(made.tag.id))
        let honest = lab.scene.remote()
        let huge = [UInt8](repeating: 7, count: Limits.metadataPlaintext + 1)
        for lie in [LyingRemote.Lie.absent, .flipBit, .truncate, .answer(huge)] {
            let pulled = try await lab.open("b").pull(from: LyingRemote(honest, lies: [id: lie]))
            #expect(pulled.outcome == .upToDate)
            #expect(try lab.tags("b") == ["v1": .missing])
            #expect(throws: VaultError.coded(.objectMissing)) { try lab.open("b").show("v1") }
            let report = try await lab.open("b").fsck()
            #expect(report.isClean && report.tags.missing == 1)
        }
        try await lab.pull("b")
        #expect(try lab.tags("b") == ["v1": .verified])
    }

    @Test func `that do not verify are told by fsck, and damaged ones are fetched again`() async throws {
        let made = try lab.open("a").createTag("v1")
        let id = try #require(made.tag.id)
        try await lab.push("a")
        try await lab.changeIndex { index in
            index.tags.append(TagEntry(name: "other", tagID: id, isDeleted: false, timestampMs: 1))
        }
        try await lab.pull("b")
        #expect(try lab.tags("b") == ["other": .bad, "v1": .verified])
        let report = try await lab.open("b").fsck()
        #expect(report.badTags == ["other"] && !report.isClean && report.tags.verified == 1 && report.dangling == 0)
        let data = try lab.memory.openDirectory("/a/.sg_vault/bare/data")
        try data.removeFile(Array(id.text.utf8))
        try data.createFile(Array(id.text.utf8), mode: 0o644).write([UInt8](repeating: 1, count: 300).span)
        let damaged = try await lab.open("a").fsck()
        #expect(damaged.corrupt.map(\.kind) == [.tag])
        let repaired = try await lab.open("a").fsck(FsckOptions(repair: true), repairFrom: lab.scene.remote())
        #expect(repaired.repaired == [id.text] && repaired.isClean)
        #expect(try lab.tags("a") == ["v1": .verified])
    }

    @Test func `whose record of changes does not read are refused, and told by fsck`() async throws {
        _ = try lab.open("a").createTag("v1")
        let folder = try lab.memory.openDirectory("/a/.sg_vault/local/vaultctl")
        let name = Array("unpushed-tags.json".utf8)
        try folder.removeFile(name)
        try folder.createFile(name, mode: 0o600).write(Array(#"{"v":1,"tags":[{"entry":{"name":1}}]}"#.utf8).span)
        #expect(throws: VaultError.coded(.objectCorrupt)) { try lab.open("a").tags() }
        #expect(try await lab.open("a").fsck().broken.map(\.kind) == [.state])
    }
}
