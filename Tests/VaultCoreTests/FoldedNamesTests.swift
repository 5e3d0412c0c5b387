import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A working copy on a file system that takes names differing in case for one name.
@Suite("A file system that folds names")
struct FoldedNamesTests {
    private let keys: SceneKeys
    private let plain: VaultScene
    private let folding: VaultScene
    private let remote: FolderRemote

    init() async throws {
        keys = try SceneKeys.shared()
        plain = VaultScene(keys: keys, on: InMemoryFileSystem(), seed: 1)
        folding = VaultScene(keys: keys, on: InMemoryFileSystem(foldsNames: true), seed: 2)
        let first = try plain.create("a")
        try plain.put("upper", at: "Read", in: "a")
        try plain.put("lower", at: "read", in: "a")
        try plain.put("one", at: "Sub/x", in: "a")
        try plain.put("two", at: "sub/y", in: "a")
        try plain.put("alone", at: "other", in: "a")
        _ = try first.commit()
        remote = plain.remote()
        _ = try await first.push(to: remote)
    }

    private func clone() async throws -> CloneResult {
        try await Vault.clone(
            from: remote, key: keys.clone, to: folding.path("b"), options: CloneOptions(),
            environment: folding.environment, observer: SilentObserver())
    }

    @Test func `what can not stand beside another name is reported, and everything else is there`() async throws {
        let result = try await clone()
        #expect(result.notStored.map(\.reason) == [.nameTaken, .nameTaken])
        #expect(result.notStored.map { String(decoding: $0.path, as: UTF8.self) } == ["read", "sub/y"])
        #expect(
            try folding.workingFiles("b").mapValues { String(decoding: $0, as: UTF8.self) }
                == ["Read": "upper", "Sub/x": "one", "other": "alone"])
    }

    @Test func `what is not there is not recorded as deleted`() async throws {
        _ = try await clone()
        let vault = try folding.open("b")
        #expect(try vault.status().changes.isEmpty)
        try folding.put("new", at: "new", in: "b")
        let changes = try vault.commit().changes
        #expect(changes.added.map(\.description) == ["new"] && changes.deleted.isEmpty)
        #expect(try folding.committedFiles(vault).keys.sorted() == ["Read", "Sub/x", "new", "other", "read", "sub/y"])
    }

    @Test func `a pull changes the file of exactly its name`() async throws {
        _ = try await clone()
        let first = try plain.open("a")
        try plain.put("lower again", at: "read", in: "a")
        try plain.put("two again", at: "sub/y", in: "a")
        try plain.put("changed", at: "other", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: remote)
        let vault = try folding.open("b")
        let pulled = try await vault.pull(from: remote)
        #expect(pulled.notWritten.map(\.reason) == [.nameTaken, .nameTaken])
        let files = try folding.workingFiles("b").mapValues { String(decoding: $0, as: UTF8.self) }
        #expect(files == ["Read": "upper", "Sub/x": "one", "other": "changed"])
        try plain.remove("read", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: remote)
        _ = try await vault.pull(from: remote)
        #expect(try folding.workingFiles("b").keys.sorted() == ["Read", "Sub/x", "other"])
        #expect(try vault.status().isClean)
    }
}
