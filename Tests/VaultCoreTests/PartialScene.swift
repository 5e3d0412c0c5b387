import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A vault with a history in three folders, made and published by the clone "a", and clones of a part of it.
struct PartialScene {
    let scene: VaultScene
    let whole: Vault

    static let files = ["docs/a": "a3", "docs/deep/b": "b1", "src/c": "c2", "other/d": "d1", "top": "t1"]

    init(seed: UInt64, failPoints: FailPoints = .none) async throws {
        scene = VaultScene(
            keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: seed, failPoints: failPoints)
        whole = try scene.create("a")
        let steps = [
            ["docs/a": "a1", "docs/deep/b": "b1", "src/c": "c1", "other/d": "d1", "top": "t1"],
            ["docs/a": "a2", "src/c": "c2"], ["docs/a": "a3"],
        ]
        for step in steps {
            for (path, text) in step { try scene.put(text, at: path, in: "a") }
            _ = try whole.commit()
        }
        _ = try await whole.push(to: scene.remote())
    }

    func clone(_ name: String, _ options: CloneOptions) async throws -> Vault {
        try await scene.clone(name, options)
        return try scene.open(name)
    }

    func files(_ name: String) throws -> [String: String] {
        try scene.workingFiles(name).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    func paths(_ names: String...) throws -> [VaultPath] { try names.map { try VaultPath($0) } }

    /// What "a" commits and publishes.
    func publish(_ edits: [String: String?], from name: String = "a") async throws {
        try change(name, edits)
        let vault = try scene.open(name)
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
    }

    func change(_ name: String, _ edits: [String: String?]) throws {
        for (path, content) in edits where content == nil { try scene.remove(path, in: name) }
        for (path, content) in edits { if let content { try scene.put(content, at: path, in: name) } }
    }

    /// What the vault has at its head, as a whole clone sees it after a pull.
    func published() async throws -> [String: String] {
        _ = try await whole.pull(from: scene.remote())
        #expect(try await whole.fsck().isClean)
        return try scene.committedFiles(whole).mapValues { String(decoding: $0, as: UTF8.self) }
    }
}
