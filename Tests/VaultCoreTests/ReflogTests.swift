import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// `local/reflog.jsonl` (spec 03 §2): what a lost ref named is found in it.
@Suite("The reflog")
struct ReflogTests {
    private let vault: Vault
    private let log: Reflog
    private let scratch: ScratchArea

    init() throws {
        vault = try VaultScene(keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: 16).create("a")
        log = Reflog(files: vault.files)
        let folder = try vault.layout.local.openDirectory(beneath: Array("vaultctl/tmp".utf8))
        scratch = ScratchArea(directory: folder, random: SeededRandom(seed: 16))
    }

    private func id(_ number: Int) throws -> ObjectID {
        let digits = String(number, radix: 16)
        return try ObjectID("obj-cas-imm-" + String(repeating: "0", count: 12 - digits.count) + digits)
    }

    private func ref(_ number: Int) throws -> RefID { try RefID("ref-pid-muw-00000000000\(number)") }

    private func move(_ number: Int, _ place: Int, timeMs: Int64 = 1_700_000_000_000) throws -> Reflog.Entry {
        Reflog.Entry(ref: try ref(place), old: nil, new: try id(number), timeMs: timeMs)
    }

    private func append(_ text: String) throws {
        let file = try vault.layout.local.openForAppending(Array(Reflog.fileName.utf8), mode: 0o666)
        try file.write(Array(text.utf8).span)
    }

    @Test func `goes on after a line that was cut short`() throws {
        let before = try log.entries()
        for torn in ["{\"ref_id\": \"ref-pid", "{", "x"] {
            try append(torn)
            let next = try move(torn.utf8.count, 1)
            log.append(next, scratch: scratch)
            #expect(try log.entries().last == next)
        }
        #expect(try log.entries().count == before.count + 3)
    }

    @Test func `keeps the last move of a ref that has not moved for long`() throws {
        let quiet = try move(1, 1)
        try log.replace(with: [move(2, 2), quiet], scratch: scratch)
        for number in 10...1400 { log.append(try move(number, 2), scratch: scratch) }
        let moves = try log.entries()
        #expect(moves.count < 1200)
        #expect(moves.first == quiet)
        #expect(moves.filter { $0.ref == quiet.ref } == [quiet])
        #expect(try moves.last == move(1400, 2))
    }

    @Test(arguments: [Int64.min, Int64.min + 1, -1, 0] as [Int64])
    func `takes any number for a time`(timeMs: Int64) throws {
        try log.replace(with: [move(1, 1, timeMs: timeMs), move(2, 1), move(3, 1)], scratch: scratch)
        #expect(try log.unexpired(nowMs: 1_700_000_000_000).kept.map(\.new) == [id(2), id(3)])
        #expect(try log.unexpired(nowMs: 1_700_000_000_000).expired == 1)
    }
}

/// What a damaged log of moves does to the commands that read it.
@Suite("A damaged reflog")
struct DamagedReflogTests {
    private let setting: TwoClones
    private let first: Vault
    /// The commits of the clone, the oldest first.
    private let commits: [ObjectID]

    init() throws {
        setting = try TwoClones()
        first = try setting.create("a")
        var commits: [ObjectID] = []
        for number in 1...4 {
            try setting.write("\(number)", to: "f", in: "a")
            commits.append(try #require(try first.commit().commit?.id))
        }
        self.commits = commits
    }

    private func damage(line number: Int) throws {
        var lines = try #require(try first.files.read(Reflog.fileName)).split(separator: UInt8(ascii: "\n"))
        lines[lines.count - 1 - number] = Array("{garbage".utf8)[...]
        let bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")])) + [UInt8(ascii: "\n")]
        let lock = try first.lock()
        try first.files.write(Reflog.fileName, bytes, scratch: lock.scratch)
    }

    @Test func `a line that does not read keeps its number, and naming it is an error`() throws {
        try damage(line: 1)
        let moves = try first.reflog()
        #expect(moves.map(\.number) == Array(0..<moves.count))
        #expect(moves[..<4].map(\.new) == [commits[3], nil, commits[1], commits[0]])
        #expect(moves[1].refID == nil && moves[1].timeMs == nil)
        let error = #expect(throws: VaultError.self) { try first.reset(to: "@{1}", ResetOptions(hard: true)) }
        #expect(error?.code == .revisionNotFound && error?.message.contains("@{1}") == true)
        #expect(setting.read("f", in: "a") == "4")
        #expect(try first.reset(to: "@{2}", ResetOptions(hard: true)).new == commits[1])
    }

    @Test func `fsck notes it, gc forgets nothing meanwhile, and a repair keeps the rest`() async throws {
        let before = try Reflog(files: first.files).entries().count
        try damage(line: 1)
        let found = try await first.fsck()
        #expect(found.isClean && found.notes.count == 1)
        #expect(found.notes.first?.hasPrefix("1 line of local/reflog.jsonl can not be read") == true)
        let later: Int64 = 1 << 50
        #expect(try Reflog(files: first.files).unexpired(nowMs: later).expired == 0)
        let report = try await first.fsck(FsckOptions(repair: true))
        #expect(report.isClean && report.repaired == [Reflog.path])
        #expect(try await first.fsck().notes.isEmpty)
        #expect(try Reflog(files: first.files).entries().count == before - 1)
        #expect(try first.reflog().prefix(3).map(\.new) == [commits[3], commits[1], commits[0]])
        let kept = try first.layout.ownSubfolder("quarantine").contents(Reflog.fileName, limit: 1 << 20)
        #expect(kept.map { String(decoding: $0, as: UTF8.self).contains("{garbage\n") } == true)
    }

    @Test(arguments: ["mkdir", "mkfifo", "ln -s /dev/zero", "truncate -s 5M"])
    func `what is no log is damage, and a repair moves it away`(command: String) async throws {
        let path = "'\(setting.folder.path.text)/a/.sg_vault/local/reflog.jsonl'"
        for number in 1...2 {
            try Shell.run("rm -f \(path) && \(command) \(path)")
            let found = try await setting.open("a").fsck()
            #expect(found.broken.map(\.id) == [Reflog.path])
            #expect(throws: VaultError.coded(.objectCorrupt)) { try setting.open("a").reflog() }
            // Work goes on, and is not recorded.
            try setting.write("\(command)\(number)", to: "f", in: "a")
            _ = try setting.open("a").commit()
            let report = try await setting.open("a").fsck(FsckOptions(repair: true))
            #expect(report.isClean && report.repaired == [Reflog.path])
            try setting.write("after\(number)", to: "f", in: "a")
            let head = try setting.open("a").commit().commit?.id
            #expect(try setting.open("a").reflog().map(\.new) == [head])
        }
    }
}
