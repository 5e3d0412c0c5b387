import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Records, stashes and keys of a clone that do not read: told, and mended.
@Suite("Own records that do not read")
struct OwnRecordTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        (setting, first) = try await TwoClones.published()
    }

    private func overwrite(_ folder: any Directory, _ name: String, _ text: String?) throws {
        try folder.removeTree(Array(name.utf8))
        guard let text else { return }
        try folder.createFile(Array(name.utf8), mode: 0o600).write(Array(text.utf8).span)
    }

    private func own() throws -> any Directory { try first.layout.local.openDirectory(Array("vaultctl".utf8)) }

    private func repaired(hasRemote: Bool = true) async throws -> FsckReport {
        try await setting.open("a").fsck(
            FsckOptions(repair: true), repairFrom: hasRemote ? try setting.remote() : nil)
    }

    @Test(arguments: OwnRecord.all.map(\.name), ["", "{\"v\":1,\"bran", "[]"])
    func `each is named, and a repair leads out`(name: String, content: String) async throws {
        try overwrite(try own(), name, content)
        let report = try await setting.open("a").fsck()
        if OwnRecord.all.first(where: { $0.name == name })?.isDurable == false {
            #expect(report.isClean && report.notes.count == 1 && report.notes[0].contains(name))
        } else {
            #expect(report.broken.map(\.id) == ["local/vaultctl/\(name)"])
            #expect(report.isDamaged)
            #expect(try !setting.open("a").checkOwnFiles().broken.isEmpty)
        }
        let mended = try await repaired()
        guard OwnRecord.all.first(where: { $0.name == name })?.mending != .kept else {
            #expect(!mended.isClean)
            return
        }
        #expect(mended.isClean && mended.repaired == ["local/vaultctl/\(name)"] && mended.notes.count == 1)
        #expect(try await setting.open("a").fsck().isClean)
        try setting.write("two", to: "f", in: "a")
        _ = try setting.open("a").commit()
        #expect(try await setting.open("a").push(to: try setting.remote()).outcome == .pushed)
    }

    @Test(arguments: ["pending_registration.json", "push_state.json", "remotes.json"])
    func `a file that the reference writes as well is mended`(name: String) async throws {
        try first.addRemote(name: "spare", url: setting.folder.appending("spare").text, isDefault: false)
        #expect(try await repaired().repaired.isEmpty)
        try overwrite(first.layout.local, name, "{")
        #expect(try await setting.open("a").fsck().broken.map(\.id) == ["local/\(name)"])
        let mended = try await repaired()
        #expect(mended.isClean && mended.repaired == ["local/\(name)"] && mended.notes.count == 1)
        try setting.write("two", to: "f", in: "a")
        let head = try setting.open("a").commit().commit?.id
        #expect(try await setting.open("a").push(to: try setting.remote()).new == head)
    }

    @Test(arguments: OwnRecord.all.map(\.name), [false, true])
    func `one of a newer version is told by name, beside all else, and left alone`(
        name: String, repairs: Bool
    ) async throws {
        let blob = try #require(try setting.open("a").list().first?.objectID)
        try first.layout.data.removeFile(Array(blob.text.utf8))
        try overwrite(try own(), name, "{\"v\":2,\"more\":[]}")
        let remote = try setting.remote()
        let report = try await setting.open("a").fsck(FsckOptions(repair: repairs), repairFrom: remote)
        #expect(report.newer.map(\.id) == ["local/vaultctl/\(name)"])
        #expect(report.newer.first?.detail.contains("newer") == true && !report.isClean)
        #expect(report.isDamaged == !repairs && report.missing.map(\.id) == (repairs ? [] : [blob.text]))
        #expect(report.repaired == (repairs ? [blob.text] : []))
        #expect(try own().contents(name, limit: 100) == Array("{\"v\":2,\"more\":[]}".utf8))
    }

    @Test(arguments: [true, false])
    func `what was never pushed is found again`(hasRemote: Bool) async throws {
        _ = try first.createBranch("topic")
        _ = try first.createTag("v1", message: "one")
        let (branches, tags) = (try first.unpushedBranches(), try first.pendingTags())
        #expect(branches.count == 1 && tags.count == 1)
        try overwrite(try own(), OwnRecord.unpushedBranches, "{")
        try overwrite(try own(), OwnRecord.unpushedTags, "{")
        #expect(try await repaired(hasRemote: hasRemote).isClean)
        #expect(try first.unpushedBranches() == branches)
        #expect(try first.pendingTags() == tags)
    }

    @Test func `a file that this ground can not hold is not taken for deleted`() async throws {
        try setting.remove("f", in: "a")
        try overwrite(try own(), OwnRecord.notStored, "{")
        #expect(try await repaired().isClean)
        #expect(try setting.open("a").status().isClean)
        #expect(try setting.open("a").contents(of: try VaultPath("f")) == Array("one".utf8))
    }

    @Test(arguments: ["cut", "removed", "manifest cut"])
    func `a damaged stash is told by fsck and by the list`(what: String) async throws {
        try setting.write("work", to: "f", in: "a")
        _ = try first.stash()
        #expect(try await first.fsck().isClean)
        let shelf = try own().openDirectory(Array("stash".utf8))
        let name = try #require(try shelf.entries().first?.name)
        let folder = try shelf.openDirectory(name)
        let object = try #require(try folder.entries().first { $0.name != Array("manifest".utf8) }?.name)
        let target = what == "manifest cut" ? "manifest" : String(decoding: object, as: UTF8.self)
        try overwrite(folder, target, what == "removed" ? nil : "cut")
        let options = what == "removed" ? [FsckOptions(), FsckOptions(connectivityOnly: true)] : [FsckOptions()]
        for options in options {
            let report = try await first.fsck(options)
            #expect(report.broken.map(\.id) == ["local/vaultctl/stash/\(String(decoding: name, as: UTF8.self))"])
        }
        #expect((try first.stashes().first?.damage != nil) == (what == "manifest cut"))
    }

    @Test func `a stash without its list is told`() async throws {
        try setting.write("work", to: "f", in: "a")
        _ = try first.stash()
        let shelf = try own().openDirectory(Array("stash".utf8))
        let name = try #require(try shelf.entries().first?.name)
        try overwrite(try shelf.openDirectory(name), "manifest", nil)
        let report = try await first.fsck()
        #expect(report.broken.map(\.id) == ["local/vaultctl/stash/\(String(decoding: name, as: UTF8.self))"])
        #expect(report.isDamaged)
    }

    @Test(arguments: [nil, "", "-----BEGIN PRIVATE KEY-----\nMIG"])
    func `a clone whose signing key is lost gets another one`(content: String?) async throws {
        let state = try first.loadState()
        let id = try #require(state.cloneBranch?.publicKeyID)
        try overwrite(first.layout.local, "\(id.text).pem", content)
        let report = try await setting.open("a").fsck()
        #expect(report.broken.map(\.id) == (content == nil ? [] : ["local/\(id.text).pem"]))
        #expect(report.notes.contains { $0.contains(id.text) } == (content == nil))
        try setting.write("two", to: "f", in: "a")
        if content != nil {
            let error = #expect(throws: VaultError.self) { _ = try setting.open("a").commit() }
            #expect(error?.hint == "vaultctl fsck --repair")
        }
        #expect(try await repaired().isClean)
        let again = try setting.open("a")
        #expect(try again.loadState().head == state.head)
        let head = try again.commit().commit?.id
        #expect(try await again.push(to: try setting.remote()).new == head)
        let checked = try await again.fsck()
        #expect(checked.isClean && checked.signatures.verified == checked.checked.commits)
        let second = try await setting.clone("b")
        #expect(try await second.fsck().signatures.noKey == 0)
    }

    @Test func `damaged settings keep nobody out of the repair, cached keys or not`() async throws {
        try overwrite(try own(), "derived-keys", nil)
        try overwrite(try own(), "config.json", "x")
        #expect(try await repaired().repaired == ["local/vaultctl/config.json"])
        #expect(try await setting.open("a").fsck().isClean)
    }

    @Test func `keys are not kept again by a command that began before they were to be forgotten`() throws {
        try overwrite(try own(), "derived-keys", nil)
        try first.setSetting("core.cacheKeys", to: .bool(false))
        _ = try setting.open("a").status()
        #expect(try own().statusIfPresent(of: Array("derived-keys".utf8)) == nil)
    }
}
