import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A clone with work on two branches: every one of them is checked, kept by gc and mended, not only the one that is
/// worked on.
@Suite("All branches of a clone")
struct LocalBranchTests {
    private let setting: TwoClones
    private let first: Vault
    /// Of the branch that is not worked on.
    private let named: RefID
    private let own: RefID
    private let head: ObjectID

    init() async throws {
        (setting, first) = try await TwoClones.published()
        _ = try first.switchBranch(to: "side", creating: true)
        try setting.write("side", to: "s", in: "a")
        head = try #require(try first.commit().commit?.id)
        let state = try first.loadState()
        (named, own) = (state.namedBranch.headRefID, state.headRef)
        _ = try first.switchBranch(to: "current")
    }

    private func lose(_ ref: RefID, content: String?) throws {
        try first.layout.refs.removeFile(Array(ref.text.utf8))
        guard let content else { return }
        try first.layout.refs.createFile(Array(ref.text.utf8), mode: 0o644).write(Array(content.utf8).span)
    }

    private func forget(_ names: [String]) throws {
        for name in names {
            let own = name == "own-head.json" ? try first.layout.ownFolder(create: false) : first.layout.local
            try own?.removeFile(Array(name.utf8))
        }
    }

    private func repaired(from remote: Bool = false) async throws -> FsckReport {
        try await setting.open("a").fsck(
            FsckOptions(repair: true), repairFrom: remote ? try setting.remote() : nil)
    }

    @Test func `a healthy clone has nothing that is unreachable`() async throws {
        for options in [FsckOptions(), FsckOptions(connectivityOnly: true)] {
            let report = try await setting.open("a").fsck(options)
            #expect(report.isClean && report.dangling == 0)
            #expect(report.checked.commits == 3)
        }
    }

    @Test func `an object of any branch that is missing is told, and gc removes nothing then`() async throws {
        try first.layout.data.removeFile(head.utf8)
        for options in [FsckOptions(), FsckOptions(connectivityOnly: true)] {
            let report = try await setting.open("a").fsck(options)
            #expect(report.missing.map(\.id) == [head.text])
        }
        #expect(throws: VaultError.coded(.objectMissing)) { try setting.open("a").collectGarbage() }
    }

    @Test(arguments: [nil, "", "garbage"])
    func `a ref of another branch is put back by the log`(content: String?) async throws {
        for ref in [named, own] {
            try lose(ref, content: content)
            let found = try await setting.open("a").fsck()
            #expect(found.broken.map(\.id) == [ref.text])
            if ref == own {
                let error = #expect(throws: VaultError.self) { try setting.open("a").switchBranch(to: "side") }
                #expect(error?.code == .refUnreadable && error?.hint == "vaultctl fsck --repair")
                #expect(throws: VaultError.coded(.refUnreadable)) { try setting.open("a").branches() }
                #expect(throws: VaultError.coded(.refUnreadable)) { try setting.open("a").collectGarbage() }
            }
            let report = try await repaired()
            #expect(report.isClean && report.repaired == [ref.text])
            #expect(try await setting.open("a").fsck().dangling == 0)
        }
        #expect(try first.refs.commit(of: own) == head)
        let again = try setting.open("a")
        #expect(try again.switchBranch(to: "side").head == head)
        #expect(setting.read("s", in: "a") == "side")
    }

    @Test func `without a record the guess is told, with the commits beyond it`() async throws {
        let start = try #require(try first.loadState().head)
        try forget([Reflog.fileName])
        for remote in [false, true] {
            try lose(own, content: nil)
            #expect(try await !setting.open("a").fsck().isClean)
            let report = try await repaired(from: remote)
            #expect(!report.isClean && report.repaired.isEmpty)
            #expect(report.broken.map(\.id) == [own.text])
            #expect(report.broken.first?.detail.contains("put back to \(start.text), which is a guess") == true)
            #expect(report.broken.first?.detail.contains("the newest first: \(head.text);") == true)
            #expect(try first.refs.commit(of: own) == start)
            // The log of moves knows of the guess now.
            try forget([Reflog.fileName])
        }
        // What it names leads out.
        let again = try setting.open("a")
        _ = try again.switchBranch(to: "side")
        _ = try again.reset(to: head.text, ResetOptions(hard: true))
        #expect(setting.read("s", in: "a") == "side")
        #expect(try await again.fsck().isClean)
    }

    @Test func `a branch of this clone whose key is lost counts as long as the log knows it`() async throws {
        let key = try #require(try first.loadState().index.branches.first { $0.headRefID == own }?.publicKeyID)
        try first.layout.local.removeFile(Array("\(key.text).pem".utf8))
        #expect(try await setting.open("a").fsck().dangling == 0)
        try lose(own, content: nil)
        #expect(try await setting.open("a").fsck().broken.map(\.id) == [own.text])
        #expect(try await repaired().repaired == [own.text])
        #expect(try first.refs.commit(of: own) == head)
    }

    @Test func `commits that no record knows are named when a ref is put back before them`() async throws {
        let ref = try first.loadState().headRef
        let start = try #require(try first.loadState().head)
        try setting.write("two", to: "f", in: "a")
        let beyond = try #require(try first.commit().commit?.id)
        do {
            // As when another program, which keeps no log, made the commit.
            let lock = try first.lock()
            let moves = try Reflog(files: first.files).entries().filter { $0.new != beyond }
            try Reflog(files: first.files).replace(with: moves, scratch: lock.scratch)
        }
        try forget(["own-head.json"])
        try lose(ref, content: nil)
        let report = try await repaired()
        #expect(report.isClean && report.repaired == [ref.text])
        #expect(report.notes.contains { $0.contains("put back to \(start.text)") && $0.contains(beyond.text) })
    }

    @Test(arguments: [true, false])
    func `the newest record of a lost ref counts`(logKnows: Bool) async throws {
        var heads: [ObjectID] = []
        for number in 0..<3 {
            try setting.write("\(number)", to: "f", in: "a")
            heads.append(try #require(try first.commit().commit?.id))
        }
        let ref = try first.loadState().headRef
        // One of the two records is old, as after a power cut.
        if logKnows {
            let lock = try first.lock()
            try first.recordOwnHead(heads[0], ref: ref, scratch: lock.scratch)
        } else {
            let lock = try first.lock()
            let moves = try Reflog(files: first.files).entries().filter { $0.new != heads[2] }
            try Reflog(files: first.files).replace(with: moves, scratch: lock.scratch)
        }
        try lose(ref, content: nil)
        let error = #expect(throws: VaultError.self) { try setting.open("a").status() }
        #expect(error?.message.contains("it last named \(heads[2].text)") == true)
        #expect(try await repaired().isClean)
        #expect(try setting.open("a").status().head == heads[2])
    }

    @Test func `own-head and a copy that was set aside tell a ref without the log`() async throws {
        try setting.write("two", to: "f", in: "a")
        let newest = try #require(try first.commit().commit?.id)
        let ref = try first.loadState().headRef
        let bytes = try #require(try first.refs.bytes(of: .ref(ref)))
        try lose(ref, content: nil)
        try forget([Reflog.fileName])
        #expect(try await repaired().isClean)
        #expect(try setting.open("a").status().head == newest)
        try forget([Reflog.fileName, "own-head.json"])
        try lose(ref, content: nil)
        let quarantine = try first.layout.ownSubfolder("quarantine")
        try quarantine.createFile(Array(ref.text.utf8), mode: 0o600).write(bytes.span)
        #expect(try await repaired().isClean)
        #expect(try setting.open("a").status().head == newest)
    }

    @Test(arguments: [true, false])
    func `a key that opens nothing is told by every command, and a repair writes nothing`(refsToo: Bool) async throws {
        // Another vault's key in this clone, as a slip in the key's text makes one.
        let other = try TwoClones()
        _ = try other.create("b")
        try Shell.run(
            "cd '\(setting.folder.path.text)/a/.sg_vault/local' && "
                + "cp -f '\(other.folder.path.text)/b/.sg_vault/local/vault_key' vault_key && rm -f vaultctl/derived-keys"
        )
        if refsToo { try Shell.run("cd '\(setting.folder.path.text)/a/.sg_vault/bare' && rm -f indexes/* refs/*") }
        let list =
            "cd '\(setting.folder.path.text)/a/.sg_vault' && find bare local -type f ! -name lock ! -name derived-keys | "
            + "sort | xargs sha256sum"
        let before = try Shell.run(list)
        #expect(throws: VaultError.coded(.keyWrong)) { try setting.open("a").status() }
        for options in [FsckOptions(), FsckOptions(repair: true)] {
            await #expect(throws: VaultError.coded(.keyWrong)) { try await setting.open("a").fsck(options) }
        }
        #expect(throws: VaultError.coded(.keyWrong)) { try setting.open("a").commit() }
        #expect(try Shell.run(list) == before)
    }
}
