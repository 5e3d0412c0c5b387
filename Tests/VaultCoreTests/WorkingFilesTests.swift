import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// `rm`, `mv` and `check-ignore` (spec 03 §6, 10 B.13).
@Suite("Tracked files")
struct WorkingFilesTests {
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene
    private let vault: Vault

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 15)
        vault = try scene.create("a")
        for path in ["f", "d/g", "d/e/h"] { try scene.put(path, at: path, in: "a") }
        _ = try vault.commit()
    }

    private func names() throws -> Set<String> { Set(try scene.workingFiles("a").keys) }
    private func committed() throws -> Set<String> { Set(try scene.committedFiles(vault).keys) }
    private func paths(_ names: String...) throws -> [VaultPath] { try names.map { try VaultPath($0) } }

    @Test func `are removed, and gone with the next commit`() throws {
        #expect(throws: VaultError.coded(.refused)) { try vault.removeFiles(paths("f", "d")) }
        #expect(throws: VaultError.coded(.pathNotFound)) { try vault.removeFiles(paths("f", "none")) }
        try scene.put("edited", at: "d/g", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) { try vault.removeFiles(paths("f", "d"), recursive: true) }
        #expect(try names() == ["f", "d/g", "d/e/h"])
        try scene.put("d/g", at: "d/g", in: "a")
        #expect(try vault.removeFiles(paths("d"), recursive: true) == (try paths("d/e/h", "d/g")))
        #expect(try names() == ["f"])
        _ = try vault.commit()
        #expect(try committed() == ["f"])
    }

    @Test func `stay on disk with --cached and are left out from then on`() throws {
        _ = try vault.removeFiles(paths("f"), cached: true)
        #expect(try names() == ["f", "d/g", "d/e/h"])
        #expect(try vault.status().changes == Changes(deleted: paths("f")))
        try scene.put("edited", at: "f", in: "a")
        #expect(try vault.status().changes == Changes(deleted: paths("f")))
        #expect(try vault.commit().changes == Changes(deleted: paths("f")))
        #expect(try committed() == ["d/g", "d/e/h"] && vault.status().isClean)
        try scene.put("other", at: "x", in: "a")
        _ = try vault.commit()
        #expect(try committed() == ["d/g", "d/e/h", "x"] && names() == ["f", "d/g", "d/e/h", "x"])
        #expect(try vault.ignoreVerdicts(paths("f")).first?.source == "rm --cached")
        // A commit that names it takes it in again.
        _ = try vault.commit(CommitOptions(paths: paths("f")))
        #expect(try committed() == ["f", "d/g", "d/e/h", "x"])
        try scene.put("edited again", at: "f", in: "a")
        #expect(try vault.commit().changes == Changes(modified: paths("f")))
    }

    @Test func `left out stay so on every branch that does not track them`() throws {
        _ = try vault.switchBranch(to: "tracks", creating: true)
        _ = try vault.switchBranch(to: "current")
        _ = try vault.removeFiles(paths("f"), cached: true)
        _ = try vault.commit()
        // One that is made from here.
        _ = try vault.switchBranch(to: "new", creating: true)
        try scene.put("other", at: "x", in: "a")
        #expect(try vault.commit().changes == Changes(added: paths("x")))
        #expect(try committed() == ["d/g", "d/e/h", "x"] && names() == ["f", "d/g", "d/e/h", "x"])
        #expect(try vault.ignoreVerdicts(paths("f")).first?.source == "rm --cached")
        // One that tracks the file goes on doing so.
        _ = try vault.switchBranch(to: "tracks")
        try scene.put("edited", at: "f", in: "a")
        #expect(try vault.commit().changes == Changes(modified: paths("f")))
        // What is to be dropped is for the branch it was said on.
        _ = try vault.removeFiles(paths("d/g"), cached: true)
        _ = try vault.switchBranch(to: "new")
        #expect(try vault.commit().commit == nil)
        #expect(try committed() == ["d/g", "d/e/h", "x"])
        // Named once, it is one of the vault's files again.
        try scene.put("mine", at: "f", in: "a")
        _ = try vault.removeFiles(paths("x"), cached: true)
        _ = try vault.commit(CommitOptions(paths: paths("f")))
        #expect(try committed().contains("f"))
    }

    @Test func `that an earlier version left out by branch are left out`() throws {
        _ = try vault.removeFiles(paths("f"), cached: true)
        _ = try vault.commit()
        let lock = try vault.lock()
        let list = JSONValue.array([.string("Zg==")])
        try vault.files.writeOwn(
            "left-out.json",
            [
                JSONMember(
                    name: "branches",
                    value: .record(["ref-pid-muw-000000000001": .record(["pending": .array([]), "untracked": list])]))
            ], scratch: lock.scratch)
        let leftOut = try vault.leftOut(vault.loadState())
        #expect(leftOut.untracked == Set(try paths("f")) && leftOut.pending.isEmpty)
    }

    @Test func `left out and then deleted are forgotten`() throws {
        _ = try vault.removeFiles(paths("f"), cached: true)
        try scene.remove("f", in: "a")
        _ = try vault.commit()
        try scene.put("another file", at: "f", in: "a")
        #expect(try vault.commit().changes == Changes(added: paths("f")))
    }

    @Test func `left out here and committed again by others are not dropped twice`() async throws {
        _ = try vault.removeFiles(paths("f"), cached: true)
        _ = try vault.commit()
        try scene.remove("f", in: "a")
        _ = try await vault.push(to: scene.remote())
        try await scene.clone("b")
        try scene.put("theirs", at: "f", in: "b")
        _ = try scene.open("b").commit()
        _ = try await scene.open("b").push(to: scene.remote())
        _ = try await vault.pull(from: scene.remote())
        try scene.put("more", at: "x", in: "a")
        _ = try vault.commit()
        #expect(try committed() == ["f", "d/g", "d/e/h", "x"])
    }

    @Test func `are moved with their edits, and replace nothing`() throws {
        try scene.put("edited", at: "f", in: "a")
        #expect(throws: VaultError.coded(.refused)) { try vault.moveFiles(paths("f"), to: VaultPath("d/g")) }
        #expect(throws: VaultError.coded(.pathNotFound)) { try vault.moveFiles(paths("none"), to: VaultPath("d")) }
        #expect(throws: VaultError.coded(.refused)) { try vault.moveFiles(paths("f", "d/g"), to: VaultPath("n")) }
        #expect(throws: VaultError.coded(.refused)) { try vault.moveFiles(paths("d"), to: VaultPath("d/e")) }
        #expect(throws: VaultError.coded(.pathNotFound)) { try vault.moveFiles(paths("f"), to: VaultPath("no/n")) }
        #expect(try vault.moveFiles(paths("f"), to: VaultPath("d")).map(\.to) == (try paths("d/f")))
        #expect(try vault.moveFiles(paths("d"), to: VaultPath("n")).map(\.to) == (try paths("n")))
        #expect(try names() == ["n/f", "n/g", "n/e/h"])
        #expect(try scene.workingFiles("a")["n/f"] == Array("edited".utf8))
        let changes = try vault.commit().changes
        #expect(changes.added == (try paths("n/e/h", "n/f", "n/g")))
        #expect(try vault.moveFiles(paths("n/g"), to: nil).map(\.to) == (try paths("g")))
    }

    @Test func `are moved again before a commit, and back, and so are new ones`() throws {
        #expect(try vault.moveFiles(paths("f"), to: VaultPath("b")).map(\.to) == (try paths("b")))
        #expect(try vault.moveFiles(paths("b"), to: VaultPath("c")).map(\.to) == (try paths("c")))
        #expect(try vault.status().changes == Changes(added: paths("c"), deleted: paths("f")))
        #expect(try vault.moveFiles(paths("c"), to: VaultPath("f")).map(\.to) == (try paths("f")))
        #expect(try vault.status().isClean)
        _ = try vault.moveFiles(paths("d"), to: VaultPath("n"))
        #expect(try vault.moveFiles(paths("n"), to: VaultPath("m")).map(\.to) == (try paths("m")))
        #expect(try vault.moveFiles(paths("m/e/h"), to: nil).map(\.to) == (try paths("h")))
        #expect(try vault.status().changes == Changes(added: paths("h", "m/g"), deleted: paths("d/e/h", "d/g")))
        // What no commit takes stays where it is, and goes nowhere where none takes it.
        try scene.put("*.log\n", at: ".gitignore", in: "a")
        try scene.put("", at: "x.log", in: "a")
        #expect(throws: VaultError.coded(.pathNotFound)) { try vault.moveFiles(paths("x.log"), to: VaultPath("x")) }
        #expect(throws: VaultError.coded(.refused)) { try vault.moveFiles(paths("h"), to: VaultPath("h.log")) }
        #expect(throws: VaultError.coded(.pathNotFound)) { try vault.moveFiles(paths("d/g"), to: VaultPath("x")) }
        _ = try vault.removeFiles(paths("f"), cached: true)
        _ = try vault.commit()
        #expect(throws: VaultError.coded(.pathNotFound)) { try vault.moveFiles(paths("f"), to: VaultPath("y")) }
        #expect(try committed() == [".gitignore", "h", "m/g"])
    }

    @Test func `in whose place links stand are not said to be removed`() throws {
        let root = try memory.openDirectory("/a")
        for (path, link) in [("f", "f"), ("d/e/h", "d")] {
            try root.removeTree(Array(link.utf8))
            try memory.createLink(FilePath("/a/\(link)"), to: "elsewhere")
            #expect(throws: VaultError.coded(.dirtyTree)) { try vault.removeFiles(paths(path)) }
            #expect(try vault.status().isClean)
            _ = try vault.removeFiles(paths(path), cached: true)
            #expect(try vault.commit().changes == Changes(deleted: paths(path)))
        }
    }

    @Test(arguments: ["build/f", "x.log", ".env", "node_modules/f", "d/build/g"])
    func `are not moved to where commits leave them out`(_ target: String) throws {
        try scene.put("build/\n*.log\n", at: ".gitignore", in: "a")
        for folder in ["build", "node_modules", "d/build"] { try scene.put("", at: "\(folder)/.keep", in: "a") }
        let before = try names()
        #expect(throws: VaultError.coded(.refused)) { try vault.moveFiles(paths("f"), to: VaultPath(target)) }
        #expect(try names() == before)
    }

    @Test func `of a folder are not moved to where commits leave one of them out`() throws {
        try scene.put("n/e/h\n", at: ".gitignore", in: "a")
        let before = try names()
        #expect(throws: VaultError.coded(.refused)) { try vault.moveFiles(paths("d"), to: VaultPath("n")) }
        #expect(try names() == before)
        _ = try vault.removeFiles(paths("f"), cached: true)
        _ = try vault.commit()
        try scene.remove("f", in: "a")
        _ = try vault.moveFiles(paths("d"), to: VaultPath("m"))
    }

    @Test func `that a commit leaves out or drops are told so by a comparison`() throws {
        func told() throws -> [String] {
            var found: [String] = []
            try vault.diff(DiffOptions()) { file in
                found.append("\(file.status.rawValue) \(file.path)")
                return true
            }
            return found
        }
        _ = try vault.removeFiles(paths("f"), cached: true)
        #expect(try told() == ["deleted f"])
        _ = try vault.commit()
        #expect(try told() == [] && vault.status().isClean)
    }

    @Test func `whose record a kill left behind are not dropped when others commit them anew`() async throws {
        _ = try await vault.push(to: scene.remote())
        try await scene.clone("b")
        _ = try vault.removeFiles(paths("f"), cached: true)
        let own = try vault.layout.local.openDirectory(Array("vaultctl".utf8))
        let record = try #require(try own.contents(Array("left-out.json".utf8), limit: 4096))
        _ = try vault.commit()
        // The commit was made, its record was not.
        try own.removeTree(Array("left-out.json".utf8))
        try own.createFile(Array("left-out.json".utf8), mode: 0o600).write(record.span)
        _ = try await vault.push(to: scene.remote())
        let other = try scene.open("b")
        _ = try await other.pull(from: scene.remote())
        try scene.put("f", at: "f", in: "b")
        _ = try other.commit()
        _ = try await other.push(to: scene.remote())
        _ = try await vault.pull(from: scene.remote())
        try scene.put("other", at: "x", in: "a")
        #expect(try vault.commit().changes == Changes(added: paths("x")))
        #expect(try committed() == ["f", "d/g", "d/e/h", "x"])
    }

    @Test func `that others removed first are not dropped when they commit them anew`() async throws {
        _ = try await vault.push(to: scene.remote())
        try await scene.clone("b")
        _ = try vault.removeFiles(paths("f"), cached: true)
        let other = try scene.open("b")
        try scene.remove("f", in: "b")
        _ = try other.commit()
        _ = try await other.push(to: scene.remote())
        _ = try await vault.pull(from: scene.remote())
        try scene.put("anew", at: "f", in: "b")
        _ = try other.commit()
        _ = try await other.push(to: scene.remote())
        _ = try await vault.pull(from: scene.remote())
        try scene.put("more", at: "x", in: "a")
        #expect(try vault.commit().changes == Changes(added: paths("x")))
        #expect(try committed() == ["f", "d/g", "d/e/h", "x"])
    }

    @Test func `tell why they are or are not ignored`() throws {
        try scene.put("*.log\nbuild/\n!keep.log\n", at: ".gitignore", in: "a")
        let verdicts = try vault.ignoreVerdicts(
            paths("f", "x.log", "keep.log", "build/out", "node_modules/m/x", ".env", "plain", "d/x.log"))
        #expect(verdicts.map(\.isIgnored) == [false, true, false, true, true, true, false, true])
        #expect(
            verdicts.map(\.source)
                == [
                    nil, ".gitignore:1", nil, nil, "built-in", "built-in", nil, ".gitignore:1",
                ].enumerated().map { $0 == 3 ? ".gitignore:2" : $1 })
        #expect(verdicts[0].isTracked && !verdicts[6].isTracked)
        let rules = try vault.ignoreRules()
        #expect(rules.contains(IgnoreRule(rule: ".env*", source: "built-in")))
        #expect(rules.filter { $0.source.hasPrefix(".gitignore") }.count == 3)
    }
}
