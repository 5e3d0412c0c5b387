import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// One sequence of steps, done by the library and by the model, compared after every step.
final class ModelRun {
    struct Difference: Error, CustomStringConvertible {
        var step: Int
        var text: String
        var description: String { "step \(step): \(text)" }
    }

    private let scene: VaultScene
    private var model: VaultModel
    private var vaults: [String: Vault] = [:]
    private var position = 0
    private(set) var done = 0

    /// The start of every run: a published vault with two clones.
    struct Start: Sendable {
        let keys: SceneKeys
        let memory: InMemoryFileSystem
        let root: ObjectID

        init() async throws {
            keys = try SceneKeys.shared()
            memory = InMemoryFileSystem(clock: VaultScene.clock)
            let scene = VaultScene(keys: keys, on: memory, seed: 1)
            let first = try scene.create("a")
            _ = try await first.push(to: scene.remote())
            try await scene.clone("b")
            guard let head = try first.status().head else { throw Errno.invalidArgument }
            root = head
        }
    }

    init(_ start: Start, seed: UInt64) {
        scene = VaultScene(keys: start.keys, on: start.memory.afterKill(), seed: seed)
        model = VaultModel(root: start.root.text, files: [:], clones: ["a", "b"])
    }

    /// - Throws: `Difference`.
    func run(_ steps: [Step]) async throws {
        for (number, step) in steps.enumerated() {
            position = number
            do {
                try await run(step)
            } catch let error as Difference {
                throw error
            } catch {
                throw differs("\(step) threw \(error)")
            }
            done += 1
        }
        for name in ["a", "b"] {
            let report = try await vault(name).fsck()
            if !report.isClean { throw differs("fsck of \(name): \(report.unrepaired)") }
            if try !scene.leftovers(name).isEmpty { throw differs("scratch files in \(name)") }
        }
    }

    private func differs(_ text: String) -> Difference { Difference(step: position, text: text) }

    private func vault(_ name: String) throws -> Vault {
        if let vault = vaults[name] { return vault }
        let vault = try scene.open(name)
        vaults[name] = vault
        return vault
    }

    // MARK: Steps

    private func run(_ step: Step) async throws {
        let name = step.clone
        switch step.action {
        case .put(let path, let content):
            try put(content, at: path, in: name)
            return
        case .remove(let path):
            guard model.clones[name]?.working[path] != nil else { return }
            try scene.remove(path, in: name)
            model.remove(path, in: name)
            return
        case .reopen: vaults[name] = nil
        case .commit:
            try await expect(model.commit(name), step) { try self.vault(name).commit().commit?.id }
        case .commitPath(let path):
            let options = CommitOptions(paths: [try VaultPath(path)])
            try await expect(model.commit(name, path: path), step) { try self.vault(name).commit(options).commit?.id }
        case .write(let path, let content):
            let request = WriteRequest(files: [(try VaultPath(path), .bytes(Array(content.utf8)))])
            try await expect(model.write(content, at: path, in: name), step) {
                try self.vault(name).write(request).commit?.id
            }
        case .push:
            try await expect(model.push(name), step) {
                let result = try await self.vault(name).push(to: self.scene.remote())
                return result.outcome == .upToDate ? nil : result.new
            }
        case .pull:
            try await expect(model.pull(name), step) {
                let result = try await self.vault(name).pull(from: self.scene.remote())
                guard result.outcome != .conflicts else {
                    // Back to where it was; the comparison below finds whatever did not come back.
                    try self.vault(name).abortMerge()
                    throw VaultError(.conflicts, "aborted")
                }
                return result.outcome == .upToDate ? nil : result.new
            }
        case .fetch: _ = try await vault(name).fetch(from: scene.remote())
        case .status: break
        case .fsck:
            let report = try await vault(name).fsck()
            if !report.isClean { throw differs("fsck: \(report.unrepaired)") }
        case .clone: try await compareClone()
        }
        try compare(name)
    }

    /// What an editor and a file manager do: whatever is in the way of the new file goes first.
    private func put(_ content: String, at path: String, in name: String) throws {
        let parts = path.split(separator: "/")
        for count in 1..<max(parts.count, 1) {
            let above = parts[..<count].joined(separator: "/")
            if model.clones[name]?.working[above] != nil { try scene.remove(above, in: name) }
        }
        try scene.put(content, at: path, in: name)
        model.put(content, at: path, in: name)
    }

    /// Runs an operation and holds its answer against what the model expects.
    private func expect(
        _ expected: VaultModel.Expected, _ step: Step, _ body: () async throws -> ObjectID?
    ) async throws {
        let answer: Result<ObjectID?, VaultError>
        do {
            answer = .success(try await body())
        } catch let error as VaultError {
            answer = .failure(error)
        }
        guard let fitting = fit(expected, answer) else {
            throw differs("\(step) gave \(answer), the model says \(expected)")
        }
        model.record(fitting, in: step.clone, commit: (try? answer.get())?.text)
    }

    private func fit(
        _ expected: VaultModel.Expected, _ answer: Result<ObjectID?, VaultError>
    ) -> VaultModel.Expected? {
        switch (expected, answer) {
        case (.nothing, .success(nil)): expected
        case (.commit, .success(.some)), (.pushed, .success(.some)): expected
        case (.moved(let target, _), .success(let id?)): id.text == target ? expected : nil
        case (.refused("clash"), .failure), (.refused("inconsistent"), .failure): expected
        // Which of two reasons is told first is not the model's to say.
        case (.refused("conflicts"), .failure(let error)) where error.code == .dirtyTree: expected
        case (.refused(let code), .failure(let error)): error.code.name == code ? expected : nil
        case (.either(let first, let second), _): fit(first, answer) ?? fit(second, answer)
        default: nil
        }
    }

    // MARK: Comparing

    private func compare(_ name: String) throws {
        guard let state = model.clones[name] else { return }
        let vault = try vault(name)
        let status = try vault.status()
        if status.head?.text != state.head { throw differs("head of \(name): \(status.head?.text ?? "none")") }
        let working = try scene.workingFiles(name).mapValues { String(decoding: $0, as: UTF8.self) }
        if working != state.working { throw differs("working copy of \(name): \(working), not \(state.working)") }
        let changes = model.changes(name)
        func set(_ paths: [VaultPath]) -> Set<String> { Set(paths.map(\.description)) }
        if set(status.changes.added) != changes.added || set(status.changes.modified) != changes.modified
            || set(status.changes.deleted) != changes.deleted
        {
            throw differs("status of \(name): \(status.changes), not \(changes)")
        }
        let committed = try scene.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) }
        if committed != model.files(state.head) { throw differs("files of \(name)'s head: \(committed)") }
        let history = try Set(scene.history(vault).map(\.text))
        if history != model.ancestors(state.head) { throw differs("history of \(name)") }
    }

    private func compareClone() async throws {
        try await scene.clone("c")
        let files = try scene.workingFiles("c").mapValues { String(decoding: $0, as: UTF8.self) }
        if files != model.files(model.remote) { throw differs("a fresh clone holds \(files)") }
        let history = try Set(scene.history(scene.open("c")).map(\.text))
        if history != model.ancestors(model.remote) { throw differs("history of a fresh clone") }
        try scene.fileSystem.openDirectory(scene.base).removeTree(Array("c".utf8))
    }
}
