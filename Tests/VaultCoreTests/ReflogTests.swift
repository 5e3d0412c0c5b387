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
