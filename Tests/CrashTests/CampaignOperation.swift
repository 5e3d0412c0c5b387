import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// One operation on a prepared file system, with what it starts from and what it leads to.
///
/// Everything expected is taken from a run that nothing disturbs.
struct CampaignOperation: Sendable {
    /// What can be told of a clone and its remote without changing them.
    struct State: Sendable, Equatable {
        /// Nil where there is no clone yet.
        var head: ObjectID?
        var committed: [String: [UInt8]]?
        var working: [String: [UInt8]]?
        /// What the remote's branch names; nil where there is none.
        var remote: ObjectID?
    }

    let name: String
    /// The clone it works in.
    let clone: String
    /// The file system it starts from.
    let start: InMemoryFileSystem
    let before: State
    let after: State
    /// Paths of the working copy that belong to the user and must stay as they are.
    let untouchable: Set<String>
    let run: @Sendable (VaultScene) async throws -> Void
    /// Whether the clone is sound before the operation; false where the operation mends it.
    let startsClean: Bool
    /// Whether the old head may leave the history of the branch, as after a reset; it is held all the same.
    let goesBack: Bool

    init(
        _ name: String, clone: String, start: InMemoryFileSystem, keys: SceneKeys, untouchable: Set<String> = [],
        startsClean: Bool = true, goesBack: Bool = false, _ run: @escaping @Sendable (VaultScene) async throws -> Void
    ) async throws {
        self.name = name
        self.clone = clone
        self.start = start
        self.untouchable = untouchable
        self.startsClean = startsClean
        self.goesBack = goesBack
        self.run = run
        let scene = VaultScene(keys: keys, on: start.afterKill(), seed: 1)
        before = startsClean ? try await Self.state(scene, clone) : State()
        try await run(scene)
        after = try await Self.state(scene, clone)
    }

    /// Reads the state of a clone and its remote.
    static func state(_ scene: VaultScene, _ clone: String) async throws -> State {
        var state = State()
        let folder = scene.path(clone).appending(component: ".sg_vault")
        guard (try? scene.fileSystem.status(of: folder, followLinks: false)) != nil else {
            state.remote = nil
            return state
        }
        let vault = try scene.open(clone)
        state.head = try vault.loadState().head
        state.committed = try scene.committedFiles(vault)
        state.working = try scene.workingFiles(clone)
        if !scene.remote().createsOnWrite {
            state.remote = try await vault.snapshot(of: scene.remote(), ref: vault.ids.headRef).head
        }
        return state
    }
}

extension CampaignOperation {
    /// The working copy in which most operations start: committed files and uncommitted ones.
    static func fill(_ scene: VaultScene, _ vault: Vault, _ name: String) throws {
        try scene.put("one", at: "one.txt", in: name)
        try scene.put("two", at: "docs/two.txt", in: name)
        try scene.put("deep", at: "docs/deep/three.txt", in: name)
        try scene.put([UInt8](repeating: 7, count: 40_000), at: "big.bin", in: name)
        try scene.put("going", at: "gone/away.txt", in: name)
        _ = try vault.commit(CommitOptions(message: "first files"))
    }

    static func edit(_ scene: VaultScene, _ name: String) throws {
        try scene.put("one, edited", at: "one.txt", in: name)
        try scene.put("fresh", at: "new/fresh.txt", in: name)
        try scene.remove("gone/away.txt", in: name)
    }

    /// Every library operation that touches files.
    static func all(_ keys: SceneKeys) async throws -> [CampaignOperation] {
        let empty = try freshFileSystem()
        let local = VaultScene(keys: keys, on: empty.afterKill(), seed: 11)
        let first = try local.create("a")
        try fill(local, first, "a")
        let unpublished = try durable(local)
        _ = try await first.push(to: local.remote())
        let published = try durable(local)
        try await local.clone("b")
        let two = try durable(local)
        var operations = try await localOperations(keys, empty: empty, published: published)
        operations.append(
            try await CampaignOperation("first push", clone: "a", start: unpublished, keys: keys) { scene in
                _ = try await scene.open("a").push(to: scene.remote())
            })
        let ahead = try scene(keys, two, 12) { scene in
            try edit(scene, "a")
            _ = try scene.open("a").commit(CommitOptions(message: "second"))
            let path = try VaultPath("written.txt")
            _ = try scene.open("a").write(WriteRequest(files: [(path, .bytes([1, 2, 3]))]))
        }
        operations.append(
            try await CampaignOperation("push", clone: "a", start: ahead, keys: keys) { scene in
                _ = try await scene.open("a").push(to: scene.remote())
            })
        operations.append(
            try await CampaignOperation("clone", clone: "c", start: two, keys: keys) { try await $0.clone("c") })
        operations += try await pulls(keys, ahead: ahead)
        operations.append(try await repair(keys, two))
        operations += try await undoing(keys, published: published)
        return operations.filter { Campaign.takes($0.name) }
    }

    private static func localOperations(
        _ keys: SceneKeys, empty: InMemoryFileSystem, published: InMemoryFileSystem
    ) async throws -> [CampaignOperation] {
        let edited = try scene(keys, published, 13) { try edit($0, "a") }
        return [
            try await CampaignOperation("create", clone: "a", start: empty, keys: keys) { _ = try $0.create("a") },
            try await CampaignOperation("commit", clone: "a", start: edited, keys: keys) { scene in
                _ = try scene.open("a").commit(CommitOptions(message: "second"))
            },
            try await CampaignOperation(
                "write", clone: "a", start: edited, keys: keys, untouchable: ["one.txt", "new/fresh.txt"]
            ) { scene in
                let files: [(path: VaultPath, content: ContentSource)] = [
                    (try VaultPath("docs/two.txt"), .bytes(Array("written".utf8))),
                    (try VaultPath("w/added.txt"), .bytes(Array("added".utf8))),
                ]
                _ = try scene.open("a").write(WriteRequest(files: files, message: "write"))
            },
            try await CampaignOperation("status", clone: "a", start: edited, keys: keys) { scene in
                let report = try scene.open("a").status()
                if !report.unreadable.isEmpty { throw VaultError(.ioError, "status names what can not be read") }
                guard report.changes.modified == [try VaultPath("one.txt")], report.changes.added.count == 1,
                    report.changes.deleted.count == 1
                else { throw WrongAnswer(text: "status: \(report.changes)") }
            },
            try await CampaignOperation("log", clone: "a", start: published, keys: keys) { scene in
                let found = try scene.history(scene.open("a"))
                guard found.count == 2 else { throw WrongAnswer(text: "log: \(found.count) commits") }
            },
            try await CampaignOperation("fsck", clone: "a", start: edited, keys: keys) { scene in
                let report = try await scene.open("a").fsck()
                // What could not be read is a finding of the report.
                guard report.isClean else { throw VaultError(.ioError, "fsck found \(report.unrepaired)") }
            },
            try await CampaignOperation("remote add", clone: "a", start: edited, keys: keys) { scene in
                let vault = try scene.open("a")
                if try !vault.remotes().contains(where: { $0.name == "backup" }) {
                    try vault.addRemote(name: "backup", url: scene.remotePath.text, isDefault: false)
                }
                guard try vault.remotes().map(\.name).contains("backup") else { throw WrongAnswer(text: "remotes") }
            },
        ]
    }

    private static func pulls(_ keys: SceneKeys, ahead: InMemoryFileSystem) async throws -> [CampaignOperation] {
        let source = VaultScene(keys: keys, on: ahead.afterKill(), seed: 14)
        _ = try await source.open("a").push(to: source.remote())
        let behind = try scene(keys, try durable(source), 15) { scene in
            try scene.put("mine", at: "untracked.txt", in: "b")
            try scene.put("edited here", at: "docs/two.txt", in: "b")
        }
        let diverged = try scene(keys, behind, 16) { scene in
            let files = [(path: try VaultPath("from-b.txt"), content: ContentSource.bytes(Array("b".utf8)))]
            _ = try scene.open("b").write(WriteRequest(files: files))
        }
        let own: Set<String> = ["untracked.txt", "docs/two.txt"]
        return [
            try await CampaignOperation("pull", clone: "b", start: behind, keys: keys, untouchable: own) { scene in
                _ = try await scene.open("b").pull(from: scene.remote())
            },
            try await CampaignOperation(
                "pull with merge", clone: "b", start: diverged, keys: keys, untouchable: own
            ) { scene in
                _ = try await scene.open("b").pull(from: scene.remote())
            },
            try await CampaignOperation("fetch", clone: "b", start: behind, keys: keys, untouchable: own) { scene in
                _ = try await scene.open("b").fetch(from: scene.remote())
            },
        ]
    }

    private static func repair(_ keys: SceneKeys, _ two: InMemoryFileSystem) async throws -> CampaignOperation {
        let damaged = try scene(keys, two, 17) { scene in
            let path = scene.path("b").appending(relative: Array(".sg_vault/bare/data".utf8))
            let data = try scene.fileSystem.openDirectory(path)
            let names = try data.entries().map(\.name).sorted { $0.lexicographicallyPrecedes($1) }
            for (number, name) in names.enumerated() {
                switch number % 4 {
                case 0: try data.removeFile(name)
                case 1:
                    try data.removeFile(name)
                    try data.createFile(name, mode: 0o644).write([1, 2, 3].span)
                default: break
                }
            }
        }
        return try await CampaignOperation("fsck --repair", clone: "b", start: damaged, keys: keys, startsClean: false)
        { scene in
            let options = FsckOptions(repair: true)
            let report = try await scene.open("b").fsck(options, repairFrom: scene.remote())
            guard report.isClean else { throw VaultError(.ioError, "repair left \(report.unrepaired)") }
        }
    }

    /// A file system with a few folders, all of it durable.
    private static func freshFileSystem() throws -> InMemoryFileSystem {
        let memory = InMemoryFileSystem(clock: VaultScene.clock)
        try memory.openDirectory("/").syncFileSystem()
        return memory
    }

    private static func durable(_ scene: VaultScene) throws -> InMemoryFileSystem {
        guard let memory = scene.fileSystem as? InMemoryFileSystem else { throw Errno.invalidArgument }
        return memory.afterKill()
    }

    /// A start made from another one.
    static func scene(
        _ keys: SceneKeys, _ from: InMemoryFileSystem, _ seed: UInt64, _ body: (VaultScene) throws -> Void
    ) throws -> InMemoryFileSystem {
        let scene = VaultScene(keys: keys, on: from.afterKill(), seed: seed)
        try body(scene)
        return try durable(scene)
    }
}

/// An answer that is wrong although nothing was thrown.
struct WrongAnswer: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
}
