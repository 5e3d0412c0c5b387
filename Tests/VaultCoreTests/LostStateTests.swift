import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A clone whose branch index or `config.json` is lost: nothing that was committed is, and a repair leads out.
@Suite("Lost index and config")
struct LostStateTests {
    private let setting: TwoClones

    init() async throws {
        (setting, _) = try await TwoClones.published()
        _ = try await setting.clone("b")
    }

    private enum Loss: String, CaseIterable { case deleted, emptied, cutShort }

    private func lose(_ which: String, _ how: Loss, in name: String) throws {
        let vault = try setting.open(name)
        var files: [(folder: any Directory, name: String)] = []
        if which != "config" { files.append((vault.layout.indexes, vault.ids.index.text)) }
        if which != "index" { files.append((vault.layout.local, "config.json")) }
        for file in files {
            let bytes = try #require(try file.folder.contents(file.name, limit: 1 << 20))
            try file.folder.removeFile(Array(file.name.utf8))
            let kept = how == .cutShort ? Array(bytes[..<(bytes.count / 2)]) : []
            if how == .deleted { continue }
            try file.folder.createFile(Array(file.name.utf8), mode: 0o600).write(kept.span)
        }
    }

    @Test(arguments: ["index", "config", "both"], ["a", "b"])
    func `what was not pushed is kept, with a remote and without`(which: String, name: String) async throws {
        for (number, how) in Loss.allCases.enumerated() {
            for hasRemote in [true, false] {
                try setting.write("\(number)\(hasRemote)", to: "mine", in: name)
                let before = try setting.open(name)
                let head = try #require(try before.commit().commit?.id)
                let own = try before.loadState().cloneBranch
                try lose(which, how, in: name)
                let error = #expect(throws: VaultError.self) { _ = try setting.open(name).status() }
                #expect(error?.hint == "vaultctl fsck --repair")
                #expect([.refUnreadable, .objectCorrupt].contains(error?.code))
                #expect(try await !setting.open(name).fsck().isClean)
                let remote = hasRemote ? try setting.remote() : nil
                let report = try await setting.open(name).fsck(FsckOptions(repair: true), repairFrom: remote)
                #expect(report.isClean, "\(how): \(report.broken) \(report.missing)")
                #expect(!report.repaired.isEmpty && !(report.notes.isEmpty && !hasRemote))
                let after = try setting.open(name)
                #expect(try after.status().head == head)
                #expect(try after.status().isClean)
                #expect(try after.loadState().cloneBranch?.headRefID == own?.headRefID)
                #expect(try after.loadState().cloneBranch?.publicKeyID == own?.publicKeyID)
                #expect(try await after.fsck().isClean)
                #expect(try await after.push(to: try setting.remote()).new == head)
                #expect(try await after.fsck().signatures.verified == after.fsck().checked.commits)
            }
        }
        _ = try await setting.clone("c")
        #expect(setting.read("mine", in: "c") == "2false")
        // The other clone goes on as ever.
        let other = name == "a" ? "b" : "a"
        let vault = try setting.open(other)
        _ = try await vault.pull(from: try setting.remote())
        #expect(setting.read("mine", in: other) == "2false")
        #expect(try vault.loadState().index.namedBranches.map(\.name).filter { $0 == "current" }.count >= 1)
    }

    @Test func `work on a branch that no index names any more is told with the way to it`() async throws {
        let first = try setting.open("a")
        _ = try first.createBranch("topic")
        _ = try first.switchBranch(to: "topic")
        try setting.write("topic", to: "t", in: "a")
        let head = try #require(try first.commit().commit?.id)
        _ = try first.switchBranch(to: "current")
        try lose("index", .deleted, in: "a")
        let report = try await setting.open("a").fsck(FsckOptions(repair: true), repairFrom: try setting.remote())
        #expect(report.isClean)
        #expect(report.notes.contains { $0.contains("switch -c NAME --from \(head.text)") })
    }

    @Test func `a read-only clone whose config is lost gets it back`() async throws {
        _ = try await setting.clone("r", CloneOptions(readOnly: true))
        try lose("config", .deleted, in: "r")
        let report = try await setting.open("r").fsck(FsckOptions(repair: true), repairFrom: try setting.remote())
        #expect(report.isClean)
        #expect(try setting.open("r").status().isClean)
        #expect(try setting.open("r").loadState().config.isReadOnly)
    }
}
