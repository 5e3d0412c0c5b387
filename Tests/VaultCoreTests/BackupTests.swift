import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Backups and what comes out of them (spec 05 §14, K31).
@Suite("Backups")
struct BackupTests {
    private let scene: VaultScene
    private let vault: Vault
    private let head: ObjectID
    /// The folder with the clones and the backup.
    private let here: any Directory

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: InMemoryFileSystem(), seed: 31)
        here = try scene.fileSystem.openDirectory(scene.base)
        vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        try scene.put([UInt8](repeating: 3, count: 70_000), at: "d/g", in: "a")
        head = try #require(try vault.commit().commit).id
    }

    @Test func `a clone that can only be read is backed up elsewhere, and its garbage is told`() throws {
        let faults = FaultFileSystem(scene.fileSystem)
        let other = VaultScene(keys: scene.keys, on: faults, base: scene.base, seed: 32)
        let reader = try other.open("a")
        for error in [Errno.readOnlyFileSystem, .permissionDenied] {
            faults.set(.init(atCall: 1, error: error, isSticky: true, kinds: [.openForAppending]))
            let name = other.path("\(error.rawValue).zip")
            let made = try reader.backup(to: name, BackupOptions(), observer: SilentObserver())
            #expect(try Vault.verifyBackup(name, environment: scene.environment).sha256 == made.sha256)
            #expect(try reader.collectGarbage(GarbageOptions(dryRun: true)).removed.isEmpty)
            #expect(faults.hasFired)
            #expect(throws: VaultError.self) { try reader.collectGarbage(GarbageOptions()) }
        }
        faults.set(.init(atCall: 1, error: .ioError, isSticky: true, kinds: [.openForAppending]))
        #expect(throws: VaultError.coded(.ioError)) {
            try reader.backup(to: other.path("x.zip"), BackupOptions(), observer: SilentObserver())
        }
    }

    private enum Given: String {
        case none
        case own = "campaign passphrase:campaign1"
        case other = "some other passphrase:campaign1"
        case reader
    }

    private func backup(_ options: BackupOptions = BackupOptions()) throws -> BackupResult {
        try vault.backup(to: scene.path("b.zip"), options, observer: SilentObserver())
    }

    private func restore(
        to name: String = "r", key given: Given = .none, _ options: RestoreOptions = RestoreOptions()
    ) throws -> RestoreBackupResult {
        switch given {
        case .none: try withoutKey(to: name, options)
        case .reader: try reading(to: name, options)
        case .own, .other: try with(Array(given.rawValue.utf8), to: name, options)
        }
    }

    private func withoutKey(to name: String, _ options: RestoreOptions) throws -> RestoreBackupResult {
        try Vault.restoreBackup(
            scene.path("b.zip"), to: scene.path(name), key: nil, options: options, environment: scene.environment,
            observer: SilentObserver())
    }

    private func reading(to name: String, _ options: RestoreOptions) throws -> RestoreBackupResult {
        let key = AccessKey.read(scene.keys.read, scene.keys.vaultID)
        return try Vault.restoreBackup(
            scene.path("b.zip"), to: scene.path(name), key: key, options: options, environment: scene.environment,
            observer: SilentObserver())
    }

    private func with(_ text: [UInt8], to name: String, _ options: RestoreOptions) throws -> RestoreBackupResult {
        let key = try VaultKey(parsing: text.span)
        return try Vault.restoreBackup(
            scene.path("b.zip"), to: scene.path(name), key: .vault(key), options: options,
            environment: scene.environment, observer: SilentObserver())
    }

    private func names() throws -> [String] {
        try here.entries().map { String(decoding: $0.name, as: UTF8.self) }.sorted()
    }

    private func rewrite(_ name: String, _ bytes: [UInt8]) throws {
        try? here.removeFile(Array(name.utf8))
        try here.createFile(Array(name.utf8), mode: 0o600).write(bytes.span)
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        try scene.fileSystem.readFile(scene.path(name), limit: 1 << 24)
    }

    private static func members(of zip: [UInt8]) throws -> [StoredZip.Member] {
        let found = StoredZip.members(size: zip.count) { (offset: Int, count: Int) throws(Never) -> [UInt8] in
            Array(zip[offset..<(offset + count)])
        }
        switch found {
        case .success(let members): return members
        case .failure(let error): throw error
        }
    }

    // MARK: Round trips

    @Test func `a backup with the key becomes a clone that works on`() async throws {
        let result = try backup(BackupOptions(includesKey: true))
        #expect(result.objects == (try vault.store.allIDs().count))
        #expect(try result.sha256 == hex(bytes("b.zip")))
        #expect(try bytes("b.zip.sha256") == Array((result.sha256 + "\n").utf8))
        #expect(try here.status(of: Array("b.zip".utf8)).mode & 0o777 == 0o600)
        #expect(try Vault.verifyBackup(scene.path("b.zip"), environment: scene.environment).includesKey)
        let restored = try restore()
        #expect(restored.head == head && restored.heldKey && !restored.hasNewBranch && restored.skipped.isEmpty)
        let again = try scene.open("r")
        #expect(try scene.workingFiles("r") == scene.workingFiles("a"))
        #expect(try await again.fsck().isClean)
        #expect(try again.status().isClean)
        #expect(try again.recordedServer() == nil)
        #expect(try again.layout.local.status(of: Array("vault_key".utf8)).mode & 0o777 == 0o600)
        try scene.put("two", at: "f", in: "r")
        #expect(try again.commit().commit != nil)
        #expect(try await again.fsck().signatures.verified == 3)
    }

    @Test func `a backup without the key needs it, and no other`() throws {
        _ = try backup()
        #expect(throws: VaultError(.keyMissing, "")) { try restore() }
        #expect(throws: VaultError(.keyWrong, "")) { try restore(key: .other) }
        #expect(try !names().contains("r"))
        let restored = try restore(key: .own, RestoreOptions(server: "/srv/x"))
        #expect(restored.hasNewBranch && !restored.heldKey)
        #expect(try scene.open("r").recordedServer() == "/srv/x")
        let reader = try restore(to: "reader", key: .reader)
        #expect(reader.mode == .readOnly)
        // A reader is on the shared branch, which nothing was pushed to.
        #expect(try scene.workingFiles("reader").isEmpty)
    }

    @Test func `an existing folder keeps its files and gets its vault`() throws {
        _ = try backup(BackupOptions(includesKey: true))
        try here.createDirectory(Array("r".utf8), mode: 0o755)
        try scene.put("edited", at: "f", in: "r")
        #expect(throws: VaultError(.directoryNotEmpty, "")) { try restore() }
        let restored = try restore(RestoreOptions(existing: true))
        #expect(restored.files == 0)
        let status = try scene.open("r").status()
        #expect(status.changes == Changes(modified: [try VaultPath("f")], deleted: [try VaultPath("d/g")]))
        #expect(throws: VaultError(.refused, "")) { try restore(RestoreOptions(existing: true)) }
    }

    @Test func `a bare restoration leaves neither key nor plaintext`() throws {
        _ = try backup(BackupOptions(includesKey: true))
        #expect(try restore(RestoreOptions(bare: true)).mode == .bare)
        #expect(try scene.workingFiles("r").isEmpty)
        let local = try scene.fileSystem.openDirectory(
            scene.path("r").appending(relative: Array(".sg_vault/local".utf8)))
        #expect(try local.statusIfPresent(of: Array("vault_key".utf8)) == nil)
    }

    // MARK: Refusals

    @Test func `uncommitted work, a taken name and a bad label stop a backup`() throws {
        try scene.put("edited", at: "f", in: "a")
        #expect(throws: VaultError(.dirtyTree, "")) { try backup() }
        _ = try backup(BackupOptions(allowsDirty: true))
        #expect(throws: VaultError(.refused, "")) { try backup(BackupOptions(allowsDirty: true)) }
        _ = try backup(BackupOptions(allowsDirty: true, replaces: true))
        #expect(throws: VaultError(.usage, "")) { try backup(BackupOptions(label: "a/b", allowsDirty: true)) }
        #expect(try names() == ["a", "b.zip", "b.zip.manifest.json", "b.zip.sha256"])
    }

    @Test func `a damaged object never becomes a backup`() throws {
        let id = try #require(try vault.store.allIDs().max())
        try vault.layout.data.removeFile(id.utf8)
        try vault.layout.data.createFile(id.utf8, mode: 0o644).write([1, 2].span)
        #expect(throws: VaultError(.objectCorrupt, "")) { try backup(BackupOptions(allowsDirty: true)) }
        #expect(try names() == ["a"])
    }

    @Test func `every damage is found and nothing is left of the restoration`() throws {
        _ = try backup(BackupOptions(includesKey: true))
        let whole = try bytes("b.zip")
        for cut in [0, 10, whole.count / 2, whole.count - 1] {
            try expectFailure(Array(whole[..<cut]), whole, "cut at \(cut)")
        }
        let random = SeededRandom(seed: 7)
        // Not in the time or version fields, which mean nothing: in the bytes of members.
        let members = try Self.members(of: whole).filter { $0.name != Array("manifest.json".utf8) }
        // The objects, and the refs, index, key and config beside them.
        #expect(members.count > (try vault.store.allIDs().count))
        for member in members {
            var changed = whole
            changed[Int(member.start) + random.below(Int(member.size))] ^= 1
            try expectFailure(changed, whole, String(decoding: member.name, as: UTF8.self))
        }
    }

    private func expectFailure(_ changed: [UInt8], _ whole: [UInt8], _ what: String) throws {
        try rewrite("b.zip", changed)
        #expect(throws: VaultError.self, "\(what), against the digest") { try restore() }
        try here.removeFile(Array("b.zip.sha256".utf8))
        #expect(throws: VaultError.self, "\(what), without one") { try restore() }
        let digest = try hex(whole)
        try rewrite("b.zip.sha256", Array((digest + "\n").utf8))
        let left = try names()
        #expect(left.allSatisfy { $0 == "a" || $0.hasPrefix("b.zip") }, "\(what)")
    }

    private func hex(_ bytes: [UInt8]) throws -> String {
        let digest = try SHA256.hash(bytes.span)
        return String(decoding: Hex.encode(digest.span), as: UTF8.self)
    }

    // MARK: Hostile archives

    /// The backup's members and others.
    private func zip(
        adding others: [(String, [UInt8])], dropping: String? = nil, droppingBelow folder: String? = nil
    ) throws {
        let whole = try bytes("b.zip")
        let members = try Self.members(of: whole)
        try here.removeFile(Array("b.zip".utf8))
        try? here.removeFile(Array("b.zip.sha256".utf8))
        var writer = ZipFileWriter(try here.createFile(Array("b.zip".utf8), mode: 0o600))
        for member in members {
            let name = String(decoding: member.name, as: UTF8.self)
            if name == dropping || folder.map(name.hasPrefix) == true { continue }
            let content = Array(whole[Int(member.start)..<Int(member.start + member.size)])
            try writer.add(member.name, content.span)
        }
        for (name, content) in others { try writer.add(Array(name.utf8), content.span) }
        _ = try writer.finish()
    }

    @Test func `only what a backup may hold comes out of one`() async throws {
        _ = try backup(BackupOptions(includesKey: true))
        let planted = [
            "local/base_url", "local/token", "local/remotes.json", "local/clone_mode.json", "local/reflog.jsonl",
            "../outside", "/outside", "bare/data/../../../outside", "bare/../local/base_url", "f", ".git/hooks/x",
            ".sg_vault/local/base_url", "local/x.pem", "local/vaultctl/config.json", "bare/data/x",
        ]
        try zip(adding: planted.map { ($0, Array("http://evil".utf8)) })
        let restored = try restore()
        #expect(restored.skipped.count == planted.count)
        #expect(try names() == ["a", "b.zip", "b.zip.manifest.json", "r"])
        let again = try scene.open("r")
        #expect(try again.recordedServer() == nil)
        #expect(try await again.fsck().isClean)
        #expect(try scene.workingFiles("r") == scene.workingFiles("a"))
        #expect(try again.layout.local.statusIfPresent(of: Array("token".utf8)) == nil)
    }

    @Test func `a backup that lost its refs is neither sound nor restored`() throws {
        _ = try backup(BackupOptions(includesKey: true))
        try zip(adding: [], droppingBelow: "bare/refs/")
        #expect(throws: VaultError(.objectCorrupt, "")) {
            try Vault.verifyBackup(scene.path("b.zip"), environment: scene.environment)
        }
        #expect(throws: VaultError(.objectCorrupt, "")) { try restore() }
        let left = try names()
        #expect(!left.contains("r"))
    }

    private func expectRefusal(
        _ whole: [UInt8], _ code: VaultError.Code, _ others: [(String, [UInt8])], dropping: String? = nil
    ) throws {
        try rewrite("b.zip", whole)
        try zip(adding: others, dropping: dropping)
        #expect(throws: VaultError(code, "")) { try restore() }
        let left = try names()
        #expect(!left.contains("r"))
    }

    @Test func `wrong objects, missing ones and too large files are refused`() throws {
        _ = try backup(BackupOptions(includesKey: true))
        let whole = try bytes("b.zip")
        try expectRefusal(whole, .objectCorrupt, [("bare/data/obj-cas-imm-0123456789ab", [1, 2, 3])])
        try expectRefusal(whole, .objectMissing, [], dropping: "bare/data/\(head.text)")
        try expectRefusal(whole, .objectCorrupt, [], dropping: "local/config.json")
        try expectRefusal(whole, .objectCorrupt, [("local/notes.json", []), ("VAULT-KEY", [1])])
        try expectRefusal(
            whole, .objectCorrupt, [("local/key-rnd-imm-0123456789abcdef.pem", [UInt8](repeating: 0x20, count: 8193))])
        try expectRefusal(whole, .objectCorrupt, [("local/move-history.json", Array("[]".utf8))])
    }

    @Test func `compressed members and members that share bytes are refused`() throws {
        _ = try backup(BackupOptions(includesKey: true))
        try? here.removeFile(Array("b.zip.sha256".utf8))
        let whole = try bytes("b.zip")
        let signature: [UInt8] = [0x50, 0x4B, 1, 2]
        let found = whole.indices.dropLast(4).first { whole[$0..<($0 + 4)].elementsEqual(signature) }
        let entry = try #require(found)
        var compressed = whole
        compressed[entry + 10] = 8
        try rewrite("b.zip", compressed)
        #expect(throws: VaultError(.formatUnsupported, "")) { try restore() }
        // A thousand names for the same bytes.
        let content = [UInt8](repeating: 0, count: 1000)
        let name = Array("bare/data/obj-cas-imm-0123456789ab".utf8)
        let local =
            ZipRecords.header(
                name, 1000, checksum: 0, signature: ZipRecords.localSignature, offset: nil) + content
        var directory: [UInt8] = []
        for number in 0..<1000 {
            directory += ZipRecords.header(
                Array("bare/data/obj-cas-imm-00000000\(1000 + number)".utf8), 1000, checksum: 0,
                signature: ZipRecords.entrySignature, offset: 0)
        }
        let end = ZipRecords.end(
            count: 1000, directorySize: Int64(directory.count), directoryOffset: Int64(local.count))
        try rewrite("b.zip", local + directory + end)
        #expect(throws: VaultError(.objectCorrupt, "")) { try restore() }
        try rewrite("b.zip", Array("no zip at all".utf8))
        #expect(throws: VaultError(.objectCorrupt, "")) { try restore() }
        try here.removeFile(Array("b.zip".utf8))
        var writer = ZipFileWriter(try here.createFile(Array("b.zip".utf8), mode: 0o600))
        try writer.add(Array("readme.txt".utf8), [1].span)
        _ = try writer.finish()
        #expect(throws: VaultError(.refused, "")) { try restore() }
    }
}
