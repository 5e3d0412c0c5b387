import VaultFormat
import VaultSystem
import VaultTestSupport
import Testing

@testable import VaultCore

/// What a check says while another command works, and where files can not be read.
@Suite("fsck beside others")
struct FsckTests {
    private let memory = InMemoryFileSystem(clock: VaultScene.clock)
    private let keys: SceneKeys
    private let scene: VaultScene
    private let first: Vault

    init() throws {
        keys = try SceneKeys.shared()
        scene = VaultScene(keys: keys, on: memory, seed: 1)
        first = try scene.create("a")
        try scene.put("one", at: "d/one", in: "a")
        _ = try first.commit()
    }

    @Test(
        "a healthy clone is clean whenever another command commits or makes a tag meanwhile",
        arguments: [
            (FsckOptions(), 3), (FsckOptions(quick: true), 3), (FsckOptions(connectivityOnly: true), 1),
        ])
    func commitsMeanwhile(options: FsckOptions, step: Int) async throws {
        var number = 1
        while true {
            let copy = memory.afterKill()
            let other = VaultScene(keys: keys, on: copy, seed: UInt64(number))
            let watched = FaultFileSystem(copy)
            let vault = try VaultScene(keys: keys, on: watched, seed: 2).open("a")
            let outcome = Locked<Result<Void, any Error>?>(nil)
            watched.intervene(atCall: number) {
                let result = Result {
                    try other.put("two", at: "e/two", in: "a")
                    let writer = try other.open("a")
                    _ = try writer.commit()
                    _ = try writer.createTag("v1")
                }
                outcome.withLock { $0 = result }
            }
            let report = try await vault.fsck(options)
            guard let result = outcome.withLock({ $0 }) else { break }
            try result.get()
            #expect(report.isClean, "call \(number): \(report.missing) \(report.corrupt) \(report.broken)")
            #expect(report.dangling == 0, "call \(number)")
            number += step
        }
        // The list, every object of two commits, and the state are more calls than this.
        #expect(number > 20)
    }

    private static func blob(_ path: String, of vault: Vault) throws -> ObjectID {
        let graph = CommitGraph(store: vault.store, cipher: vault.cipher)
        let head = try #require(try vault.loadState().head)
        return try #require(
            try vault.treeReader().entry(try VaultPath(path), in: try graph.tree(of: head))?.file?.blobID)
    }

    @Test("objects that can not be opened are listed each, and the rest is checked")
    func unreadable() async throws {
        let watched = FaultFileSystem(memory)
        let vault = try VaultScene(keys: keys, on: watched, seed: 2).open("a")
        let blob = try Self.blob("d/one", of: vault)
        let held = try vault.store.allIDs()
        let head = try #require(try vault.status().head)
        watched.close([Array(blob.text.utf8), Array(head.text.utf8)])
        for options in [FsckOptions(), FsckOptions(quick: true)] {
            let report = try await vault.fsck(options)
            #expect(report.unreadable.map(\.id) == [blob.text, head.text].sorted())
            #expect(!report.isClean && !report.isDamaged)
            #expect(report.checked.objects == held.count)
        }
        watched.close([Array(head.text.utf8)])
        let report = try await vault.fsck(FsckOptions(connectivityOnly: true))
        #expect(report.unreadable.map(\.id) == [head.text] && !report.isDamaged)
    }

    @Test(arguments: ["mkdir", "mkfifo", "ln -s /dev/zero"])
    func `what stands in the place of an object is damage, and a repair puts it aside`(command: String) async throws {
        let (setting, first) = try await TwoClones.published()
        let blob = try Self.blob("f", of: first)
        let path = "'\(setting.folder.path.text)/a/.sg_vault/bare/data/\(blob.text)'"
        try Shell.run("rm \(path) && \(command) \(path)")
        for options in [FsckOptions(), FsckOptions(quick: true), FsckOptions(connectivityOnly: true)] {
            let report = try await setting.open("a").fsck(options)
            #expect(report.corrupt.map(\.id) == [blob.text])
        }
        let report = try await setting.open("a").fsck(FsckOptions(repair: true), repairFrom: try setting.remote())
        #expect(report.isClean && report.repaired == [blob.text])
        #expect(try setting.open("a").contents(of: try VaultPath("f")) == Array("one".utf8))
    }
}
