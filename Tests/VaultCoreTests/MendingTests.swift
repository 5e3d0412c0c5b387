import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What a repair makes of a clone whose refs or index do not read, and what a push makes of such a remote.
@Suite("Refs and indexes that do not read")
struct MendingTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        (setting, first) = try await TwoClones.published()
    }

    private func overwrite(_ folder: any Directory, _ name: String, _ text: String) throws {
        try folder.removeTree(Array(name.utf8))
        try folder.createFile(Array(name.utf8), mode: 0o644).write(Array(text.utf8).span)
    }

    @Test(arguments: ["own", "named", "index"], ["", "garbage"])
    func `a repair makes them anew, with nothing lost`(which: String, content: String) async throws {
        try setting.write("two", to: "f", in: "a")
        let head = try first.commit().commit?.id
        let state = try first.loadState()
        switch which {
        case "own": try overwrite(first.layout.refs, state.headRef.text, content)
        case "named": try overwrite(first.layout.refs, state.namedBranch.headRefID.text, content)
        default: try overwrite(first.layout.indexes, first.ids.index.text, content)
        }
        let again = try setting.open("a")
        let report = try await again.fsck(FsckOptions(repair: true), repairFrom: try setting.remote())
        #expect(report.isClean)
        #expect(try again.status().head == head)
        #expect(try again.status().isClean)
        #expect(try await again.push(to: try setting.remote()).new == head)
    }

    @Test func `a clone whose branch the remote does not know yet gets its index back`() async throws {
        let second = try await setting.clone("b")
        let state = try second.loadState()
        try overwrite(second.layout.indexes, second.ids.index.text, "")
        let again = try setting.open("b")
        #expect(try await again.fsck(FsckOptions(repair: true), repairFrom: try setting.remote()).isClean)
        #expect(try again.loadState().cloneBranch?.headRefID == state.headRef)
        try setting.write("mine", to: "g", in: "b")
        _ = try again.commit()
        #expect(try await again.push(to: try setting.remote()).outcome == .pushed)
    }

    @Test func `a damaged ref of the remote is replaced by a forced push and by no other`() async throws {
        let name = first.ids.headRef.text
        let refs = try setting.environment.fileSystem.openDirectory(
            setting.remotePath.appending(relative: Array("bare/refs".utf8)))
        try overwrite(refs, name, "garbage")
        await #expect(throws: VaultError.self) { try await first.push(to: try setting.remote()) }
        _ = try await first.push(to: try setting.remote(), PushOptions(force: true))
        _ = try await setting.clone("c")
        #expect(setting.read("f", in: "c") == "one")
    }

    @Test func `a lost server is noted, and recorded again when one address alone is known`() async throws {
        let server = try #require(try first.recordedServer())
        try first.files.remove("base_url")
        let again = try setting.open("a")
        let found = try await again.fsck()
        #expect(found.isClean && found.notes.contains { $0.hasPrefix("local/base_url is lost") && $0.contains(server) })
        let report = try await again.fsck(FsckOptions(repair: true))
        #expect(report.repaired == ["local/base_url"])
        let back = try #require(try again.recordedServer())
        #expect(again.place(of: back) == first.place(of: server))
        #expect(try await again.fsck().notes.isEmpty)
        // Of two it is not guessed which one it was.
        try again.files.remove("base_url")
        do {
            let lock = try again.lock()
            let head = try again.loadState().head
            try again.recordSeen(
                again.ids.headRef, head, bytes: nil, accepted: head, at: RemotePlace(text: "/elsewhere"),
                scratch: lock.scratch)
        }
        #expect(try await again.fsck(FsckOptions(repair: true)).repaired.isEmpty)
        #expect(try again.recordedServer() == nil)
    }

    @Test func `status tells a remote that went back`() async throws {
        try Shell.run("cd '\(setting.folder.path.text)' && cp -a remote old")
        try setting.write("two", to: "f", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        try Shell.run("cd '\(setting.folder.path.text)' && rm -r remote && mv old remote")
        _ = try await first.fetch(from: try setting.remote())
        #expect(try first.status().remote.relation == .rewound)
    }

    @Test func `what was published as this clone's own branch is neither amended nor overwritten`() async throws {
        try setting.write("two", to: "f", in: "a")
        let head = try first.commit().commit?.id
        let pushed = try await first.push(to: try setting.remote(), PushOptions(branchOnly: true))
        #expect(pushed.branch == "local")
        #expect(pushed.new == head)
        #expect(throws: VaultError.self) { try first.commit(CommitOptions(message: "again", amend: true)) }
        let state = try first.loadState()
        let committed = try #require(head)
        let graph = CommitGraph(store: first.store, cipher: first.cipher)
        let parent = try #require(try graph.parents(committed).first)
        do {
            let lock = try first.lock()
            try first.moveRef(state.headRef, from: state.head, to: parent, scratch: lock.scratch)
        }
        await #expect(throws: VaultError.coded(.remoteMoved)) {
            try await first.push(to: try setting.remote(), PushOptions(branchOnly: true))
        }
    }
}

/// Names and shapes of trees that are unusual and right.
@Suite("Unusual trees")
struct UnusualTreeTests {
    @Test(arguments: [" ", "\u{A0}", "\t", "\u{3000}", "\u{2028}", "\u{B}"])
    func `a folder with a blank name is like any other`(name: String) async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("x", to: "\(name)/x", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        #expect(try first.list(recursive: true).contains { $0.path.bytes == Array("\(name)/x".utf8) })
        _ = try await setting.clone("b")
        #expect(setting.read("\(name)/x", in: "b") == "x")
        #expect(try setting.open("b").status().isClean)
        #expect(try await first.fsck().isClean)
        try setting.remove("\(name)/x", in: "a")
        #expect(try first.commit().changes.deleted.count == 1)
    }

    @Test(arguments: [" ", "!", "-", ".", "0"])
    func `a folder becomes a file beside a changed name that goes on with any byte`(byte: String) async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        let sibling = "docs\(byte)md"
        for path in ["docs/x", sibling, "\(sibling)2/y", "docs0"] { try setting.write("1", to: path, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        _ = try await setting.clone("b")
        try Shell.run("cd '\(setting.folder.path.text)/a' && rm -r docs")
        for path in ["docs", sibling, "\(sibling)2/y"] { try setting.write("2", to: path, in: "a") }
        let changes = try first.commit().changes
        #expect(changes.added.map(\.description) == ["docs"] && changes.deleted.map(\.description) == ["docs/x"])
        _ = try await first.push(to: try setting.remote())
        try setting.write("mine", to: "mine", in: "b")
        let second = try setting.open("b")
        _ = try second.commit()
        #expect(try await second.pull(from: try setting.remote()).outcome == .merged)
        #expect(setting.read("docs", in: "b") == "2")
    }

    @Test func `a file that lies too deep is told and left out, and the rest is committed`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("deep", to: String(repeating: "d/", count: 513) + "f", in: "a")
        try setting.write("1", to: "f", in: "a")
        let result = try first.commit()
        #expect(result.changes.added.map(\.description) == ["f"])
        #expect(result.skipped.map(\.reason) == [.tooDeep])
    }

    @Test func `a write tells what it committed and could not put into the working copy`() throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        let long = try VaultPath(String(repeating: "n", count: 300))
        let result = try first.write(
            WriteRequest(files: [(long, .bytes([1])), (try VaultPath("f"), .bytes([2]))]))
        #expect(result.commit != nil)
        #expect(result.notWritten == [SkippedEntry(path: long.bytes, reason: .nameTooLong)])
        #expect(setting.read("f", in: "a") == "\u{2}")
        #expect(try first.contents(of: long) == [1])
        #expect(try first.status().isClean)
    }

    @Test func `an edit within one tick of a coarse clock is seen`() async throws {
        // Every file of this file system has the same times, whenever it was written.
        let files = InMemoryFileSystem(clock: TestClock(stepNs: 0))
        // So does the program's own clock hardly move: nothing grows old enough to be believed.
        let scene = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 1, clock: TestClock(stepNs: 1000))
        let first = try scene.create("a")
        try scene.put("AAAA", at: "f", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
        try await scene.clone("b")
        let second = try scene.open("b")
        #expect(try second.status().isClean)
        let root = try files.openDirectory(scene.path("b"))
        let file = try root.openForAppending(Array("f".utf8), mode: 0o644)
        try file.truncate(to: 0)
        try file.write(Array("BBBB".utf8).span)
        #expect(try second.status().changes.modified.map(\.description) == ["f"])
        try scene.put("CCCC", at: "f", in: "a")
        _ = try first.commit()
        _ = try second.commit()
        #expect(try scene.committedFiles(second)["f"] == Array("BBBB".utf8))
    }
}
