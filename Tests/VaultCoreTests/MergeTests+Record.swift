import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Texts, and the record of a merge that waits (spec 03 §2.4).
extension MergeTests {
    // MARK: Texts

    @Test func `texts changed in different lines merge, unless that is not wanted`() async throws {
        let base = (1...9).map { "line \($0)\n" }.joined()
        let ours = base.replacing("line 1\n", with: "LINE 1\n")
        let theirs = base.replacing("line 9\n", with: "LINE 9\n")
        try await diverge(base: ["t": base], ours: ["t": ours], theirs: ["t": theirs])
        #expect(try await pull(PullOptions(mergesTexts: false)).outcome == .conflicts)
        try scene.open("b").abortMerge()
        #expect(try await pull().outcome == .merged)
        #expect(try working() == ["t": ours.replacing("line 9\n", with: "LINE 9\n")])
        #expect(try scene.open("b").status().isClean)
    }

    @Test func `a push that pulls first follows the same wish`() async throws {
        let base = (1...9).map { "line \($0)\n" }.joined()
        let ours = base.replacing("line 1\n", with: "LINE 1\n")
        let theirs = base.replacing("line 9\n", with: "LINE 9\n")
        try await diverge(base: ["t": base], ours: ["t": ours], theirs: ["t": theirs])
        let vault = try scene.open("b")
        await #expect(throws: VaultError.coded(.conflicts)) {
            try await vault.push(to: scene.remote(), PushOptions(pullFirst: true, mergesTexts: false))
        }
        try vault.abortMerge()
        #expect(try await vault.push(to: scene.remote(), PushOptions(pullFirst: true)).outcome == .pushed)
    }

    @Test func `a union takes the lines of both`() async throws {
        try await diverge(base: ["t": "a\nb\n"], ours: ["t": "a\nx\n"], theirs: ["t": "a\ny\n"])
        _ = try await pull()
        _ = try scene.open("b").resolve(.union)
        #expect(try working() == ["t": "a\nx\ny\n"])
        try await diverged(with: "\0binary")
    }

    private func diverged(with content: String) async throws {
        let other = try MergeTests()
        try await other.diverge(base: ["t": "a"], ours: ["t": "b"], theirs: ["t": .some(content)])
        _ = try await other.pull()
        #expect(throws: VaultError.coded(.refused)) { try other.scene.open("b").resolve(.union) }
        _ = try other.scene.open("b").resolve(.content([1, 2]), paths: other.paths("t"))
        #expect(try other.working() == ["t": "\u{1}\u{2}"])
    }

    @Test func `what is decided keeps the mode of the file that is there`() async throws {
        try await diverge(
            base: ["t": "a\n", "u": "a\n"], ours: ["t": "b\n", "u": "b\n"], theirs: ["t": "c\n", "u": "c\n"])
        for name in ["t", "u"] {
            try memory.openDirectory("/b").openFile(Array(name.utf8)).setMode(0o755)
        }
        _ = try await pull()
        let vault = try scene.open("b")
        _ = try vault.resolve(.union, paths: paths("t"))
        _ = try vault.resolve(.content(Array("d\n".utf8)), paths: paths("u"))
        #expect(try working() == ["t": "b\nc\n", "u": "d\n"])
        for name in ["t", "u"] {
            #expect(try memory.status(of: FilePath("/b/\(name)"), followLinks: false).mode == 0o755)
        }
    }

    // MARK: Names that differ in case only

    @Test(arguments: [(true, false), (false, true), (true, true), (false, false)])
    func `names that differ in case only stop the merge, and either or both can be chosen`(
        _ keepsOurs: Bool, _ takesTheirs: Bool
    ) async throws {
        try await diverge(
            base: ["s": "base"], ours: ["d/Note.txt": "ours"], theirs: ["d/note.txt": "theirs", "t": "t"])
        let before = try working()
        let result = try await pull()
        #expect(result.outcome == .conflicts)
        #expect(result.conflicts == (try paths("d/Note.txt", "d/note.txt")))
        #expect(try working() == ["s": "base", "d/Note.txt": "ours", "d/note.txt.conflict": "theirs", "t": "t"])
        let vault = try scene.open("b")
        #expect(try vault.conflicts().map(\.kind) == [.caseClash, .caseClash])
        #expect(try vault.conflicts().map(\.verdict) == [.genuine, .genuine])
        try vault.abortMerge()
        #expect(try working() == before)
        _ = try await pull()
        _ = try vault.resolve(keepsOurs ? .ours : .theirs, paths: paths("d/Note.txt"))
        _ = try vault.resolve(takesTheirs ? .theirs : .ours, paths: paths("d/note.txt"))
        var wanted = ["s": "base", "t": "t"]
        if keepsOurs { wanted["d/Note.txt"] = "ours" }
        if takesTheirs { wanted["d/note.txt"] = "theirs" }
        #expect(try working() == wanted)
        _ = try vault.commit()
        #expect(try scene.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) } == wanted)
        #expect(try await vault.fsck().isClean)
    }

    @Test func `names of other case that one side had already are no conflict`() async throws {
        try await diverge(
            base: ["A": "base", "both": "b"], ours: ["B": "x", "\u{C4}": "x"],
            theirs: ["a": "theirs", "b/x": "y", "both": "c", "\u{E5}": "y"])
        #expect(try await pull().conflicts.isEmpty)
        #expect(
            try working()
                == ["A": "base", "a": "theirs", "B": "x", "b/x": "y", "both": "c", "\u{C4}": "x", "\u{E5}": "y"])
    }

    // MARK: The record

    @Test func `names that look alike are two conflicts`() async throws {
        // The same letter as one character and as two, which `String ==` takes for equal.
        let names = ["\u{E9}", "e\u{301}"]
        let first = try scene.create("a")
        for (name, text) in Self.paired(names, "base") { try scene.put(text, at: name, in: "a") }
        _ = try first.commit()
        _ = try await first.push(to: scene.remote())
        try await scene.clone("b")
        for (clone, text) in [("a", "theirs"), ("b", "ours")] {
            for (name, text) in Self.paired(names, text) { try scene.put(text, at: name, in: clone) }
            _ = try scene.open(clone).commit()
        }
        _ = try await first.push(to: scene.remote())
        let expected = try names.map { try VaultPath($0) }.sorted()
        #expect(try await pull().conflicts == expected)
        let vault = try scene.open("b")
        #expect(try vault.conflicts().map(\.path) == expected)
        _ = try vault.resolve(.theirs, paths: [expected[0]])
        #expect(try vault.conflicts().map(\.isResolved) == [true, false])
        #expect(throws: VaultError.coded(.conflicts)) { try vault.commit() }
    }

    private static func paired(_ names: [String], _ text: String) -> [(String, String)] { names.map { ($0, text) } }

    @Test(arguments: [
        ("\"p\"", "\"../p\""), ("\"p\"", "7"), ("[\n    \"p\"\n  ]", "\"p\""),
        ("\"ours_commit_id\": \"", "\"ours_commit_id\": \"x"), ("\"lca_id\": \"", "\"lca_id\": \"../"),
    ])
    func `a record that does not tell what conflicts stops everything, and nothing is lost`(
        _ old: String, _ new: String
    ) async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let folder = try memory.openDirectory("/b/.sg_vault/local")
        let name = Array("merge_state.json".utf8)
        let record = String(decoding: try folder.openFile(name).readToEnd(limit: 65_536), as: UTF8.self)
        func write(_ text: String) throws {
            try folder.removeFile(name)
            try folder.createFile(name, mode: 0o600).write(Array(text.utf8).span)
        }
        #expect(record.contains(old))
        try write(record.replacing(old, with: new, maxReplacements: 1))
        let vault = try scene.open("b")
        let before = try working()
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.commit() }
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.resolve(.ours) }
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.abortMerge() }
        await #expect(throws: VaultError.coded(.objectCorrupt)) { try await pull() }
        #expect(try working() == before)
        try write(record)
        try vault.abortMerge()
        #expect(try working() == ["p": "ours"])
    }

    @Test func `a path in both lists needs a decision still`() async throws {
        try await diverge(base: ["p": "base"], ours: ["p": "ours"], theirs: ["p": "theirs"])
        _ = try await pull()
        let folder = try memory.openDirectory("/b/.sg_vault/local")
        let name = Array("merge_state.json".utf8)
        let record = String(decoding: try folder.openFile(name).readToEnd(limit: 65_536), as: UTF8.self)
        try folder.removeFile(name)
        let both = record.replacing("\"resolved_paths\": []", with: "\"resolved_paths\": [\"p\"]")
        #expect(both != record)
        try folder.createFile(name, mode: 0o600).write(Array(both.utf8).span)
        let vault = try scene.open("b")
        #expect(try vault.conflicts().map(\.isResolved) == [false])
        #expect(throws: VaultError.coded(.conflicts)) { try vault.commit() }
    }
}
