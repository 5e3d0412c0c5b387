import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("Push, clone and pull over a folder")
struct SyncTests {
    @Test func `a clone of a pushed vault has the same files, head and history`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("one", to: "docs/one.txt", in: "a")
        try setting.write("", to: "empty", in: "a")
        let committed = try first.commit(CommitOptions(message: "add files"))
        #expect(committed.changes.added.map(\.description) == ["docs/one.txt", "empty"])
        let pushed = try await first.push(to: try setting.remote())
        #expect(pushed.outcome == .created)
        #expect(pushed.commits == 2)
        let second = try await setting.clone("b")
        #expect(setting.read("docs/one.txt", in: "b") == "one")
        #expect(setting.read("empty", in: "b") == "")
        #expect(try second.status().isClean)
        #expect(try second.status().head == committed.commit?.id)
        var messages: [String] = []
        try second.log {
            messages.append($0.commit.message)
            return true
        }
        #expect(messages == ["add files", "init"])
        #expect(try await second.fsck().isClean)
        #expect(try await second.fsck().signatures.verified == 2)
    }

    @Test(arguments: [1, 2]) func `an empty vault can be pushed and cloned`(format: Int) async throws {
        let setting = try TwoClones()
        let first = try setting.create("a", format: format)
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        #expect(try second.list(recursive: true).isEmpty)
        #expect(try second.info().format == format)
        #expect(try second.status().isClean)
    }

    @Test func `a second push of the same commit sends nothing`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        #expect(try await first.push(to: try setting.remote()).outcome == .upToDate)
    }

    @Test func `a pull fast-forwards files, deletions and folders`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("1", to: "keep.txt", in: "a")
        try setting.write("2", to: "gone/away.txt", in: "a")
        try setting.write("3", to: "thing", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try setting.remove("gone/away.txt", in: "a")
        try setting.remove("thing", in: "a")
        try setting.write("inside", to: "thing/now a folder", in: "a")
        try setting.write("11", to: "keep.txt", in: "a")
        let head = try first.commit().commit?.id
        _ = try await first.push(to: try setting.remote())
        let pulled = try await second.pull(from: try setting.remote())
        #expect(pulled.outcome == .fastForward)
        #expect(pulled.new == head)
        #expect(setting.read("gone/away.txt", in: "b") == nil)
        #expect(setting.read("thing/now a folder", in: "b") == "inside")
        #expect(setting.read("keep.txt", in: "b") == "11")
        #expect(try second.status().isClean)
        #expect(try await second.fsck().isClean)
        let root = try setting.environment.fileSystem.openDirectory(setting.folder.appending("b"))
        #expect(throws: Errno.noSuchFile) { try root.status(of: Array("gone".utf8)) }
    }

    @Test func `clones that changed different files merge without loss`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("base", to: "shared.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try setting.write("from a", to: "a.txt", in: "a")
        try setting.remove("shared.txt", in: "a")
        let ours = try first.commit().commit?.id
        _ = try await first.push(to: try setting.remote())
        try setting.write("from b", to: "b.txt", in: "b")
        let theirs = try second.commit().commit?.id
        await #expect(throws: VaultError.coded(.remoteMoved)) { try await second.push(to: try setting.remote()) }
        let merged = try await second.pull(from: try setting.remote())
        #expect(merged.outcome == .merged)
        #expect(setting.read("a.txt", in: "b") == "from a")
        #expect(setting.read("b.txt", in: "b") == "from b")
        #expect(setting.read("shared.txt", in: "b") == nil)
        var parents: [ObjectID] = []
        var message = ""
        try second.log {
            (parents, message) = ($0.commit.parents, $0.commit.message)
            return false
        }
        #expect(parents == [theirs, ours].compactMap { $0 })
        #expect(message == "Merge current into local")
        #expect(try await second.push(to: try setting.remote()).outcome == .pushed)
        _ = try await first.pull(from: try setting.remote())
        #expect(setting.read("b.txt", in: "a") == "from b")
        #expect(try first.status().head == second.status().head)
        #expect(try await first.fsck().isClean)
    }

    @Test func `equal content added by both sides is no conflict`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try setting.write("the same", to: "both.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        try setting.write("the same", to: "both.txt", in: "b")
        _ = try second.commit()
        #expect(try await second.pull(from: try setting.remote()).outcome == .merged)
        #expect(setting.read("both.txt", in: "b") == "the same")
        #expect(try second.status().isClean)
    }

    @Test func `push with pull merges and retries`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try setting.write("a", to: "a.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        try setting.write("b", to: "b.txt", in: "b")
        _ = try second.commit()
        let pushed = try await second.push(to: try setting.remote(), PushOptions(pullFirst: true))
        #expect(pushed.outcome == .pushed)
        #expect(pushed.retries == 1)
    }

    @Test func `pushing more than a hundred commits publishes all of them`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        for number in 0..<130 {
            let path = try VaultPath("n/\(number % 7).txt")
            _ = try first.write(WriteRequest(files: [(path, .bytes(Array("\(number)".utf8)))]))
        }
        #expect(try await first.push(to: try setting.remote()).commits == 130)
        let second = try await setting.clone("b")
        var count = 0
        try second.log { _ in
            count += 1
            return true
        }
        #expect(count == 131)
        #expect(try await second.fsck().isClean)
    }

    @Test func `a merge far behind neither conflicts nor brings deleted files back`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("old", to: "deleted.txt", in: "a")
        try setting.write("still", to: "untouched.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        try setting.remove("deleted.txt", in: "a")
        _ = try first.commit()
        for number in 0..<240 {
            let path = try VaultPath("log.txt")
            _ = try first.write(WriteRequest(files: [(path, .bytes(Array("\(number)".utf8)))]))
        }
        _ = try await first.push(to: try setting.remote())
        try setting.write("mine", to: "mine.txt", in: "b")
        _ = try second.commit()
        #expect(try await second.pull(from: try setting.remote()).outcome == .merged)
        #expect(setting.read("deleted.txt", in: "b") == nil)
        #expect(setting.read("untouched.txt", in: "b") == "still")
        #expect(setting.read("log.txt", in: "b") == "239")
    }

    @Test func `a rewound remote is refused, however many commits were rewritten`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        try setting.write("secret", to: "removed.txt", in: "a")
        let second = try await setting.clone("b")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        _ = try await second.pull(from: try setting.remote())
        // A third clone, which never saw the second commit, rewrites the branch from the first on.
        let third = try await setting.clone("c")
        let state = try third.loadState()
        let tip = try #require(state.head)
        let root = try #require(try CommitGraph(store: third.store, cipher: third.cipher).parents(tip).first)
        do {
            let lock = try third.lock()
            try third.moveRef(state.headRef, from: state.head, to: root, scratch: lock.scratch)
        }
        for number in 0..<60 {
            _ = try third.write(WriteRequest(files: [(try VaultPath("new.txt"), .bytes([UInt8(number)]))]))
        }
        _ = try await third.push(to: try setting.remote(), PushOptions(force: true))
        await #expect(throws: VaultError.coded(.refRewound)) { try await second.pull(from: try setting.remote()) }
        #expect(setting.read("removed.txt", in: "b") == "secret")
        let accepted = try await second.pull(from: try setting.remote(), PullOptions(acceptRewind: true))
        #expect(accepted.outcome == .fastForward)
        #expect(setting.read("removed.txt", in: "b") == nil)
        #expect(try second.status().head == third.status().head)
    }

    @Test func `a remote that lost the vault is not taken for a new one`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        let base = try setting.environment.fileSystem.openDirectory(setting.folder.path)
        try base.rename(Array("remote".utf8), to: base, as: Array("away".utf8), replacing: false)
        await #expect(throws: VaultError.coded(.unreachable)) { try await first.push(to: try setting.remote()) }
        try setting.environment.fileSystem.createDirectory(setting.remotePath, mode: 0o755)
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try setting.remote()) }
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.pull(from: try setting.remote()) }
    }

    @Test func `a read-only clone pulls, keeps edits and untracked files, and can not commit`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("1", to: "one.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let reader = try await setting.clone("r", CloneOptions(readOnly: true))
        #expect(reader.mode == .readOnly)
        try setting.write("note", to: "untracked.txt", in: "r")
        try setting.write("2", to: "two.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let pulled = try await reader.pull(from: try setting.remote())
        #expect(pulled.outcome == .fastForward)
        #expect(setting.read("two.txt", in: "r") == "2")
        #expect(setting.read("untracked.txt", in: "r") == "note")
        try setting.write("edited", to: "one.txt", in: "r")
        try setting.write("11", to: "one.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        await #expect(throws: VaultError.coded(.dirtyTree)) { try await reader.pull(from: try setting.remote()) }
        #expect(setting.read("one.txt", in: "r") == "edited")
        await #expect(throws: VaultError.coded(.readOnlyClone)) { try await reader.push(to: try setting.remote()) }
    }

    @Test func `a bare clone holds neither files nor a key and opens with the key given`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        try setting.write("content", to: "f.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        var options = CloneOptions(bare: true)
        options.server = setting.remotePath.text
        _ = try await Vault.clone(
            from: try setting.remote(), key: try setting.cloneKey(options), to: setting.folder.appending("bare"),
            options: options, environment: setting.environment, observer: SilentObserver())
        #expect(setting.read("f.txt", in: "bare") == nil)
        let local = try setting.environment.fileSystem.openDirectory(setting.folder.appending("bare"))
            .openDirectory(Array(".sg_vault".utf8)).openDirectory(Array("local".utf8))
        #expect(try !local.entries().contains { $0.name == Array("vault_key".utf8) })
        #expect(throws: VaultError.coded(.keyMissing)) { try setting.open("bare") }
        let text = String(
            decoding: setting.keyText.withBytes { span in span.indices.map { span[$0] } }, as: UTF8.self)
        let bare = try Vault.open(
            root: setting.folder.appending("bare"),
            options: OpenOptions(key: { .vault(try VaultKey(parsing: Array(text.utf8).span)) }),
            environment: setting.environment)
        var bytes: [UInt8] = []
        _ = try bare.read(try VaultPath("f.txt")) { span in bytes += span.indices.map { span[$0] } }
        #expect(bytes == Array("content".utf8))
        #expect(try await bare.fsck().isClean)
        _ = try bare.write(WriteRequest(files: [(try VaultPath("g.txt"), .bytes([1, 2]))]))
        #expect(try await bare.push(to: try setting.remote()).outcome == .pushed)
    }

    @Test func `the wrong key is told from a missing vault`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        let id = try setting.vaultID()
        let other = try CloneKey(
            .vault(try VaultKey(parsing: Array("not the passphrase:\(id.text)".utf8).span)), options: CloneOptions())
        await #expect(throws: VaultError.coded(.keyWrong)) {
            try await Vault.clone(
                from: try setting.remote(), key: other, to: setting.folder.appending("b"), options: CloneOptions(),
                environment: setting.environment, observer: SilentObserver())
        }
        let nowhere = FolderRemote(
            path: setting.folder.appending("empty"), vaultID: id, environment: setting.environment)
        try setting.environment.fileSystem.createDirectory(setting.folder.appending("empty"), mode: 0o755)
        await #expect(throws: VaultError.coded(.notAVault)) {
            try await Vault.clone(
                from: nowhere, key: other, to: setting.folder.appending("b"), options: CloneOptions(),
                environment: setting.environment, observer: SilentObserver())
        }
        let names = try setting.folder.open().entries().map { String(decoding: $0.name, as: UTF8.self) }.sorted()
        #expect(names == ["a", "empty", "remote"])
    }

    @Test func `two first pushes of one key lose nobody's commits`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        let second = try setting.create("b")
        try setting.write("a", to: "a.txt", in: "a")
        try setting.write("b", to: "b.txt", in: "b")
        _ = try first.commit()
        _ = try second.commit()
        _ = try await first.push(to: try setting.remote())
        await #expect(throws: VaultError.coded(.remoteMoved)) { try await second.push(to: try setting.remote()) }
        _ = try await second.push(to: try setting.remote(), PushOptions(pullFirst: true))
        let third = try await setting.clone("c")
        #expect(try third.list(recursive: true).map(\.path.description) == ["a.txt", "b.txt"])
        #expect(try await third.fsck().isClean)
        _ = try await first.pull(from: try setting.remote())
        #expect(setting.read("b.txt", in: "a") == "b")
    }

    @Test func `a push looks up each object once`() async throws {
        let files = FaultFileSystem(InMemoryFileSystem())
        let scene = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 3)
        let vault = try scene.create("a")
        let remote = InMemoryRemote()
        func calls(_ count: Int, _ name: String) async throws -> Int {
            for number in 0..<count { try scene.put("\(name) \(number)", at: "\(name)\(number)", in: "a") }
            _ = try vault.commit(CommitOptions(message: name))
            files.set(nil)
            _ = try await vault.push(to: remote)
            return files.count([.status])
        }
        _ = try await calls(1, "first")
        let few = try await calls(10, "few")
        #expect(try await calls(50, "many") - few == 40)
    }

    @Test func `a plan made against old remote bytes does not overwrite newer ones`() async throws {
        let setting = try TwoClones()
        let first = try setting.create("a")
        _ = try await first.push(to: try setting.remote())
        let second = try await setting.clone("b")
        let ref = try second.loadState().namedBranch.headRefID
        let base = try await second.snapshot(of: try setting.remote(), ref: ref)
        try setting.write("a", to: "a.txt", in: "a")
        let winner = try first.commit().commit?.id
        _ = try await first.push(to: try setting.remote())
        let publisher = Publisher(
            remote: try setting.remote(), authorization: try second.keys.authorization(), store: second.store,
            observer: SilentObserver())
        let head = try #require(try second.status().head)
        let plan = PublishPlan(
            commits: [], objects: [], keys: [],
            namedRef: (ref, base.expectedRef, try second.refs.encode(head, random: SecureRandom())), size: 0)
        #expect(try await publisher.publish(plan) == .conflict(.ref(ref)))
        #expect(try await second.snapshot(of: try setting.remote(), ref: ref).head == winner)
    }
}
