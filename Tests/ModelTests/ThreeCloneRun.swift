import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// One history of three clones that never conflicts, held against a model that knows paths and bytes only.
///
/// Every path has one clone that changes it, one text has a part for each clone, and one path is added by several of
/// them with the same bytes. So what a clone must hold follows from how many commits of each it has seen, whatever the
/// order in which they were brought together.
final class ThreeCloneRun {
    struct Difference: Error, CustomStringConvertible {
        var done: [String]
        var text: String
        var description: String { "\(text) after \(done.joined(separator: ", "))" }
    }

    static let names = ["a", "b", "c"]

    /// The start of every run: a published vault with three clones and files of each in the same folders.
    struct Start: Sendable {
        let keys: SceneKeys
        let memory: InMemoryFileSystem

        init() async throws {
            keys = try SceneKeys.shared()
            memory = InMemoryFileSystem(clock: VaultScene.clock)
            let scene = VaultScene(keys: keys, on: memory, seed: 1)
            let first = try scene.create("a")
            for (path, content) in ThreeCloneRun.files(Array(repeating: State.first, count: 3)) {
                try scene.put(content, at: path, in: "a")
            }
            _ = try first.commit()
            _ = try await first.push(to: scene.remote())
            try await scene.clone("b")
            try await scene.clone("c")
        }
    }

    /// What one clone has made of its own paths.
    fileprivate struct State {
        /// The contents of its paths by their number; one that is absent was deleted, or never made.
        var contents: [Int: Int]
        /// Its line in the shared text.
        var line = 0
        /// It has added the file that all of them add alike.
        var hasAdded = false

        static let first = State(contents: [0: 0, 1: 0, 2: 0, 3: 0])
    }

    private let scene: VaultScene
    private let random: SeededRandom
    private var vaults: [Vault] = []
    /// The states of each clone's own paths after its commits; the first is what all began with.
    private var states: [[State]] = Array(repeating: [State.first], count: 3)
    /// How many commits of each clone are in the head of each clone, and of the remote.
    private var seen = Array(repeating: [0, 0, 0], count: 3)
    private var remote = [0, 0, 0]
    private var done: [String] = []

    var steps: Int { done.count }

    init(_ start: Start, seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        scene = VaultScene(keys: start.keys, on: start.memory.afterKill(), seed: seed)
        vaults = try Self.names.map { try scene.open($0) }
    }

    // MARK: The model

    /// In folders that hold paths of every clone, so that each may take a folder's last file, and in one of its own.
    private static func path(_ owner: Int, _ number: Int) -> String {
        let name = names[owner]
        return ["\(name)", "d/\(name)", "d/e/\(name)1", "f\(name)/g/x", "d/e/\(name)2", "h/\(name)"][number]
    }

    private static let pathCount = 6

    /// The files that the states of the three clones come to.
    fileprivate static func files(_ states: [State]) -> [String: String] {
        var files: [String: String] = [:]
        for (owner, state) in states.enumerated() {
            for (number, content) in state.contents { files[path(owner, number)] = "\(names[owner]) \(content)\n" }
        }
        let parts = states.enumerated().map { "\(names[$0.offset]): \($0.element.line)\n" }
        files["text"] = parts.joined(separator: "one\ntwo\nthree\n")
        if states.contains(where: \.hasAdded) { files["h/same"] = "added by all alike\n" }
        return files
    }

    private func files(of seen: [Int]) -> [String: String] {
        Self.files(seen.enumerated().map { states[$0.offset][$0.element] })
    }

    private static func covers(_ left: [Int], _ right: [Int]) -> Bool { zip(left, right).allSatisfy { $0 >= $1 } }

    private static func joined(_ left: [Int], _ right: [Int]) -> [Int] { zip(left, right).map { max($0, $1) } }

    // MARK: Running

    /// So many random steps, and then every clone syncs until all have everything.
    ///
    /// - Throws: `Difference`.
    func run(steps: Int) async throws {
        do {
            for _ in 0..<steps {
                let clone = random.below(3)
                switch random.below(8) {
                case 0..<4: try commit(clone)
                case 4, 5: try await pull(clone)
                case 6: try await push(clone, pullFirst: false)
                default: try await push(clone, pullFirst: true)
                }
            }
            var order = random
            for clone in [0, 1, 2].shuffled(using: &order) { try await push(clone, pullFirst: true) }
            for clone in [0, 1, 2].shuffled(using: &order) { try await pull(clone) }
            try finish()
        } catch let error as Difference {
            throw error
        } catch {
            throw differs("\(error)")
        }
    }

    private func differs(_ text: String) -> Difference { Difference(done: done, text: text) }

    private func commit(_ clone: Int) throws {
        done.append("\(Self.names[clone]) commit")
        var state = states[clone][seen[clone][clone]]
        for _ in 0...random.below(3) {
            switch random.below(8) {
            case 0: state.line += 1
            case 1: state.hasAdded = true
            case 2, 3: state.contents[random.below(Self.pathCount)] = nil
            default: state.contents[random.below(Self.pathCount)] = random.below(1_000)
            }
        }
        states[clone].append(state)
        let old = files(of: seen[clone])
        seen[clone][clone] += 1
        let new = files(of: seen[clone])
        for path in old.keys where new[path] == nil { try scene.remove(path, in: Self.names[clone]) }
        for (path, content) in new where old[path] != content {
            try scene.put(content, at: path, in: Self.names[clone])
        }
        _ = try vaults[clone].commit(CommitOptions(allowEmpty: true))
        try compare(clone)
    }

    private func pull(_ clone: Int) async throws {
        done.append("\(Self.names[clone]) pull")
        let result = try await vaults[clone].pull(from: scene.remote())
        guard result.outcome != .conflicts else { throw differs("conflicts at \(result.conflicts)") }
        seen[clone] = Self.joined(seen[clone], remote)
        try compare(clone)
    }

    private func push(_ clone: Int, pullFirst: Bool) async throws {
        done.append("\(Self.names[clone]) push\(pullFirst ? " --pull" : "")")
        let isBehind = !Self.covers(seen[clone], remote)
        do {
            _ = try await vaults[clone].push(to: scene.remote(), PushOptions(pullFirst: pullFirst))
            guard pullFirst || !isBehind else { throw differs("a push replaced what this clone had not seen") }
            seen[clone] = Self.joined(seen[clone], remote)
            remote = seen[clone]
        } catch let error as VaultError where error.code == .remoteMoved || error.code == .notFastForward {
            guard isBehind, !pullFirst else { throw differs("a push was refused: \(error.message)") }
        }
        try compare(clone)
    }

    private func compare(_ clone: Int) throws {
        let name = Self.names[clone]
        let working = try scene.workingFiles(name).mapValues { String(decoding: $0, as: UTF8.self) }
        let expected = files(of: seen[clone])
        guard working != expected else { return }
        let paths = Set(working.keys).union(expected.keys).filter { working[$0] != expected[$0] }.sorted()
        throw differs("\(name) holds other files than it should: \(paths)")
    }

    /// All clones have everything: one head, one tree, nothing to commit, nothing missing.
    private func finish() throws {
        let all = states.map { $0.count - 1 }
        guard seen == Array(repeating: all, count: 3) else { throw differs("not everything was brought together") }
        let expected = files(of: all)
        var heads: Set<ObjectID?> = []
        for (clone, vault) in vaults.enumerated() {
            let status = try vault.status()
            heads.insert(status.head)
            guard status.isClean, !status.mergeInProgress else { throw differs("\(Self.names[clone]) is not clean") }
            let committed = try scene.committedFiles(vault).mapValues { String(decoding: $0, as: UTF8.self) }
            guard committed == expected else { throw differs("\(Self.names[clone]) has committed other files") }
        }
        guard heads.count == 1 else { throw differs("the clones have \(heads.count) heads") }
    }
}
