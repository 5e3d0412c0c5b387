import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Another key for a vault: the whole history encrypted anew, checked, published, read back (spec 05 §13).
@Suite("Rekey")
struct RekeyTests {
    private static let newKey = "a newer passphrase:campaign2"
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene
    private let vault: Vault

    init() async throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 41)
        vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        try scene.put([UInt8](repeating: 5, count: 30_000), at: "d/e/g", in: "a")
        _ = try vault.commit(CommitOptions(message: "first"))
        try scene.put("two", at: "f", in: "a")
        try scene.put("one", at: "copy", in: "a")
        _ = try vault.commit(CommitOptions(message: "second\n\nwith a body"))
        _ = try await vault.push(to: scene.remote())
    }

    private var target: FilePath { scene.path("remote2") }

    private func remote(_ environment: VaultEnvironment? = nil) throws -> FolderRemote {
        FolderRemote(path: target, vaultID: try VaultID("campaign2"), environment: environment ?? scene.environment)
    }

    private func cloneKey() throws -> CloneKey {
        let text = Array(Self.newKey.utf8)
        let key = try VaultKey(parsing: text.span)
        return try CloneKey(.vault(key), options: CloneOptions())
    }

    private func begin(_ vault: Vault? = nil) throws {
        let text = Array(Self.newKey.utf8)
        let key = try VaultKey(parsing: text.span)
        try (vault ?? self.vault).beginRekey(to: key, server: target.text)
    }

    private func finish(_ vault: Vault? = nil) async throws -> RekeyResult {
        let vault = vault ?? self.vault
        return try await vault.finishRekey(publishingTo: { _ in try remote(vault.environment) })
    }

    private func messages(_ vault: Vault) throws -> [String] {
        let state = try vault.loadState()
        let graph = CommitGraph(store: vault.store, cipher: vault.cipher)
        var found: [String] = []
        var next = state.head
        while let id = next {
            found.append(try vault.message(of: graph.commit(id)))
            next = try graph.parents(id).first
        }
        return found
    }

    /// The working copy without the folder of a replaced vault.
    private func userFiles(_ scene: VaultScene) throws -> [String: [UInt8]] {
        try scene.workingFiles("a").filter { !$0.key.hasPrefix(".sg_vault") }
    }

    private func names(_ name: String = "a") throws -> [String] {
        try scene.fileSystem.openDirectory(scene.path(name)).entries()
            .map { String(decoding: $0.name, as: UTF8.self) }.sorted()
    }

    // MARK: What it does

    @Test func `the history is the same under the new key, for this clone and for new ones`() async throws {
        let before = (try messages(vault), try scene.committedFiles(vault), try vault.loadState())
        let oldObjects = Set(try vault.store.allIDs())
        try scene.put("not committed", at: "f", in: "a")
        try begin()
        #expect(try vault.pendingRekey()?.phase == .building)
        let result = try await finish()
        #expect(result.oldVaultID == scene.keys.vaultID && result.newVaultID.text == "campaign2")
        #expect(result.commits == 3 && result.unsigned == 0 && result.oldHead == before.2.head)
        let new = try scene.open("a")
        #expect(new.vaultID == result.newVaultID)
        #expect(try messages(new) == before.0)
        #expect(try scene.committedFiles(new) == before.1)
        #expect(try new.status().head == result.newHead)
        #expect(try new.status().changes == Changes(modified: [try VaultPath("f")]))
        #expect(Set(try new.store.allIDs()).isDisjoint(with: oldObjects))
        let report = try await new.fsck()
        #expect(report.isClean && report.signatures.verified == 3 && report.dangling == 0)
        // The head of `current` has its place by the new key (spec 05 K17).
        #expect(try new.loadState().namedBranch.headRefID == new.ids.headRef)
        #expect(try new.recordedServer() == target.text)
        #expect(try await new.push(to: remote()).outcome == .upToDate)
        let key = try cloneKey()
        _ = try await Vault.clone(
            from: remote(), key: key, to: scene.path("b"), options: CloneOptions(), environment: scene.environment,
            observer: SilentObserver())
        #expect(try scene.workingFiles("b") == before.1)
        #expect(try messages(try scene.open("b")) == before.0)
        // The old vault is whole, here and at its server, until it is destroyed.
        #expect(try names() == [".sg_vault", result.oldFolder, "copy", "d", "f"])
        #expect(try await !scene.remote().list(.objects).isEmpty)
        // Its backups are not removed unsaid.
        try scene.put("backup", at: "\(result.oldFolder)/backups/b.zip", in: "a")
        await #expect(throws: VaultError(.refused, "")) { try await new.destroyReplaced { _ in scene.remote() } }
        #expect(try await !scene.remote().list(.objects).isEmpty)
        try scene.remove("\(result.oldFolder)/backups/b.zip", in: "a")
        let destroyed = try await new.destroyReplaced { _ in scene.remote() }
        #expect(destroyed?.vaultID == scene.keys.vaultID)
        #expect(try await scene.remote().list(.all).isEmpty)
        #expect(try names() == [".sg_vault", "copy", "d", "f"])
        #expect(try new.pendingRekey() == nil)
        await #expect(throws: VaultError(.refused, "")) { try await new.destroyReplaced { _ in nil } }
    }

    @Test func `settings, token and remotes go along, and what was accepted does not`() async throws {
        try vault.addRemote(name: "backup", url: "/srv/backup", isDefault: false)
        let local = vault.layout.local
        try local.createFile(Array("token".utf8), mode: 0o600).write(Array("secret".utf8).span)
        try begin()
        _ = try await finish()
        let new = try scene.open("a")
        #expect(try new.remotes().map(\.name) == ["origin", "backup"])
        #expect(try new.remotes().map(\.vaultID) == ["campaign2", "campaign2"])
        #expect(try new.layout.local.contents("token", limit: 64) == Array("secret".utf8))
        #expect(try new.layout.local.status(of: Array("token".utf8)).mode & 0o777 == 0o600)
        let config = try new.files.readObject("config.json")
        #expect(config?["vault_id"]?.text == "campaign2" && config?["key_generation"]?.int == 2)
        #expect(try new.files.readObject("move-history.json")?["moves"]?.items?.count == 1)
        #expect(try Reflog(files: new.files).entries().allSatisfy { $0.old == nil })
        // A second time counts on.
        let text = Array("third passphrase:campaign3".utf8)
        let key = try VaultKey(parsing: text.span)
        try new.beginRekey(to: key, server: nil)
        let third = try await new.finishRekey(publishingTo: { _ in nil })
        #expect(third.server == nil)
        let last = try scene.open("a")
        #expect(try last.files.readObject("config.json")?["key_generation"]?.int == 3)
        #expect(try last.files.readObject("move-history.json")?["moves"]?.items?.count == 2)
        #expect(try await last.fsck().isClean)
        #expect(try last.recordedServer() != target.text)
    }

    @Test func `commits of others become unsigned, tags follow, and a policy starts anew`() async throws {
        try await scene.clone("b")
        try scene.put("theirs", at: "theirs", in: "b")
        let other = try scene.open("b")
        _ = try other.commit(CommitOptions(message: "theirs"))
        _ = try await other.push(to: scene.remote())
        _ = try await vault.pull(from: scene.remote())
        let state = try vault.loadState()
        let own = try #require(state.cloneBranch)
        let keyID = try #require(own.publicKeyID)
        var tag = TagObject(
            name: "v1", commitID: try #require(state.head), message: "release", taggerBranch: own.branchID,
            taggerKeyID: keyID, timestampMs: 5)
        try tag.sign(with: #require(try vault.signingKey(own)))
        do {
            let lock = try vault.lock()
            let batch = vault.newBatch(width: .short, scratch: lock.scratch)
            let plaintext = tag.encode()
            let id = try batch.add(try vault.cipher.sealRandom(plaintext.span, random: scene.environment.random))
            try batch.commit()
            var index = state.index
            index.tags = [TagEntry(name: "v1", tagID: id, isDeleted: false, timestampMs: 5)]
            index.features = ["signatures-required", "signed-since-000000000000"]
            try vault.storeIndex(index, scratch: lock.scratch)
        }
        try begin()
        let result = try await finish()
        #expect(result.unsigned == 1 && result.commits == 4)
        let new = try scene.open("a")
        let after = try new.loadState()
        let found = try new.tag(named: "v1")
        #expect(found.target == result.newHead && found.message == "release" && found.signature == .verified)
        let anchor = try #require(result.newHead).hex.prefix(24)
        #expect(after.index.features == ["signatures-required", "signed-since-\(anchor)"])
        let report = try await new.fsck()
        #expect(report.isClean && report.signatures.unsigned == 1 && report.signatures.verified == 3)
        let key = try cloneKey()
        _ = try await Vault.clone(
            from: remote(), key: key, to: scene.path("c"), options: CloneOptions(), environment: scene.environment,
            observer: SilentObserver())
        try scene.put("more", at: "more", in: "a")
        _ = try new.commit()
        #expect(try await new.push(to: remote()).outcome == .pushed)
    }

    @Test func `branches go along, and one that was never pushed stays untold`() async throws {
        _ = try vault.createBranch("private")
        _ = try vault.createBranch("shared")
        _ = try vault.switchBranch(to: "shared")
        try scene.put("on shared", at: "s", in: "a")
        _ = try vault.commit()
        _ = try await scene.open("a").push(to: scene.remote())
        try begin(try scene.open("a"))
        _ = try await finish(try scene.open("a"))
        let new = try scene.open("a")
        #expect(Set(try new.branches().map(\.name)) == ["current", "private", "shared"])
        #expect(try await new.fsck().isClean)
        let snapshot = try await new.snapshot(of: remote(), ref: new.ids.headRef)
        let named = snapshot.index?.branches.filter { $0.type == .named }.map(\.name)
        #expect(Set(named ?? []) == ["current", "shared"])
        #expect(try new.loadState().namedBranch.name == "shared")
        #expect(try await new.push(to: remote()).outcome == .upToDate)
    }

    @Test func `the key that is to come is in no commit of the old vault`() throws {
        try begin()
        let text = try vault.pendingKeyText()
        let key = text.withBytes { UTF8Text.validated($0) ?? "" }
        try scene.put(key + "\n", at: "new.key", in: "a")
        #expect(throws: VaultError(.secretInCommit, "")) { try vault.commit() }
        #expect(throws: VaultError(.secretInCommit, "")) { try vault.commit(CommitOptions(message: key)) }
        try scene.remove("new.key", in: "a")
        try vault.abandonRekey()
        #expect(throws: Never.self) { try vault.commit(CommitOptions(message: "next", allowEmpty: true)) }
    }

    // MARK: What it refuses

    @Test func `stashes, merges, readers and commits in between stop it`() async throws {
        try scene.put("work", at: "f", in: "a")
        _ = try vault.stash()
        #expect(throws: VaultError(.refused, "")) { try begin() }
        try vault.dropStash()
        _ = try vault.createTag("v9")
        #expect(throws: VaultError(.refused, "")) { try begin() }
        _ = try vault.deleteTag("v9")
        let same = Array("campaign passphrase:campaign1".utf8)
        #expect(throws: VaultError(.usage, "")) {
            let key = try VaultKey(parsing: same.span)
            try vault.beginRekey(to: key, server: nil)
        }
        await #expect(throws: VaultError(.refused, "")) { try await finish() }
        #expect(throws: VaultError(.refused, "")) { try vault.abandonRekey() }
        try begin()
        #expect(throws: VaultError(.refused, "")) { try begin() }
        // Built, and then the old vault goes on.
        await #expect(throws: VaultError(.unreachable, "")) {
            try await vault.finishRekey(publishingTo: { _ in throw VaultError(.unreachable, "no server") })
        }
        #expect(try vault.pendingRekey()?.phase == .built)
        try scene.put("later", at: "f", in: "a")
        _ = try vault.commit()
        await #expect(throws: VaultError(.refused, "")) { try await finish() }
        try vault.abandonRekey()
        #expect(try vault.pendingRekey() == nil && names() == [".sg_vault", "copy", "d", "f"])
        #expect(try await vault.fsck().isClean)
        #expect(try await vault.push(to: scene.remote()).outcome == .pushed)
    }

    @Test func `a place that holds another vault, or does not give back what it was sent, ends nothing`() async throws {
        try begin()
        let text = Array("yet another:campaign2".utf8)
        let other = try VaultKey(parsing: text.span)
        let authorization = WriteAuthorization(vaultID: other.vaultID, writeKey: try other.deriveWriteKey())
        let batch = try WriteBatch([.key(try KeyID("key-rnd-imm-0123456789abcdef"), [1])])
        _ = try await remote().apply(batch, authorization: authorization)
        await #expect(throws: VaultError(.keyWrong, "")) { try await finish() }
        let elsewhere = FolderRemote(
            path: scene.path("third"), vaultID: try VaultID("campaign2"), environment: scene.environment)
        let ids = try RekeyPlace(vault, CloneLayout.newText).vault(lockTimeout: 0).store.allIDs().sorted()
        for lie in [LyingRemote.Lie.absent, .flipBit, .truncate] {
            let liar = LyingRemote(elsewhere, lies: [.object(try #require(ids.first)): lie])
            await #expect(throws: VaultError(.serverError, "")) {
                try await vault.finishRekey(publishingTo: { _ in liar })
            }
            #expect(try scene.open("a").vaultID == scene.keys.vaultID)
        }
        let result = try await vault.finishRekey(publishingTo: { _ in elsewhere })
        #expect(try scene.open("a").vaultID == result.newVaultID)
    }

    // MARK: Interruptions

    @Test(arguments: [FailPoint.rekeyBuilt, .rekeyPublished, .rekeyBetweenRenames])
    func `stopped between its steps, it goes on or is given up`(point: FailPoint) async throws {
        for resumes in [true, false] {
            let files = memory.afterKill()
            func scene(_ points: FailPoints = .none) -> VaultScene {
                VaultScene(keys: self.scene.keys, on: files, seed: 43, failPoints: points)
            }
            let first = try scene(FailPoints { (hit: FailPoint) throws(Errno) in if hit == point { throw .ioError } })
                .open("a")
            try begin(first)
            await #expect(throws: VaultError(.ioError, "")) { try await finish(first) }
            let old = try scene().open("a")
            #expect(old.vaultID == scene().keys.vaultID)
            #expect(try await old.fsck().isClean)
            let expected: PendingRekey.Phase = point == .rekeyBuilt ? .built : .published
            #expect(try old.pendingRekey()?.phase == expected)
            if resumes {
                let result = try await finish(old)
                let new = try scene().open("a")
                #expect(new.vaultID == result.newVaultID && result.commits == 3)
                #expect(try await new.fsck().isClean)
                #expect(try await new.push(to: remote(new.environment)).outcome == .upToDate)
            } else {
                try old.abandonRekey()
                #expect(try await scene().open("a").push(to: scene().remote()).outcome == .upToDate)
            }
        }
    }

    @Test func `a file system that fails from any call on leaves the old vault or the new one, whole`() async throws {
        try begin()
        let start = memory.afterKill()
        var call = 1
        var runs = 0
        while true {
            let files = start.afterKill()
            let faulty = FaultFileSystem(files)
            let disturbed = VaultScene(keys: scene.keys, on: faulty, seed: 44)
            let first = try disturbed.open("a")
            faulty.set(FaultFileSystem.Fault(atCall: call, isSticky: true, kinds: FileSystemCall.changes))
            var failed = false
            do { _ = try await finish(first) } catch { failed = true }
            faulty.set(nil)
            let calm = VaultScene(keys: scene.keys, on: files.afterKill(), seed: 45)
            let vault = try calm.open("a")
            #expect(try await vault.fsck().isClean, "call \(call)")
            if vault.vaultID == scene.keys.vaultID {
                let result = try await finish(vault)
                #expect(result.commits == 3, "call \(call)")
            }
            let new = try calm.open("a")
            #expect(new.vaultID.text == "campaign2", "call \(call)")
            #expect(try await new.fsck().isClean, "call \(call)")
            #expect(try userFiles(calm) == userFiles(scene), "call \(call)")
            #expect(try await new.push(to: remote(new.environment)).outcome == .upToDate, "call \(call)")
            runs += 1
            if !failed { break }
            call += Campaign.number("VAULT_REKEY_STEP", short: 9, full: 1)
        }
        #expect(runs > 10)
    }
}
