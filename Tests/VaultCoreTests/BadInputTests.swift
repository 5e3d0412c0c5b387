import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Writes what no honest client writes, with the vault's own key.
struct Forger {
    let vault: Vault

    /// Stores a tree of plaintext JSON and gives its id.
    func tree(_ entries: [TreeEntry], batch: ObjectBatch) throws -> ObjectID {
        let plaintext = JSONWriter.bytes(
            .object([
                JSONMember(name: "schema", value: .string("tree_v1")),
                JSONMember(name: "entries", value: .array(try entries.map(json))),
            ]), .python)
        return try batch.add(try vault.cipher.sealDeterministic(plaintext.span))
    }

    /// An entry as it is stored, whatever its name.
    private func json(_ entry: TreeEntry) throws -> JSONValue {
        let cipher = vault.cipher
        func sealed(_ text: String) throws -> JSONValue { .string(try cipher.sealText(Array(text.utf8).span)) }
        let file = entry.target.file
        return .object([
            JSONMember(name: "blob_id", value: .optional(file?.blobID.text)),
            JSONMember(name: "tree_id", value: .optional(entry.target.folder?.text)),
            JSONMember(name: "name_enc", value: .string(try cipher.sealText(entry.name.span))),
            JSONMember(name: "size_enc", value: try file.map { try sealed("\($0.size)") } ?? .null),
            JSONMember(
                name: "content_hash_enc", value: try file?.contentHash.map { try sealed($0.hex) } ?? .null),
            JSONMember(name: "content_type_enc", value: .null),
            JSONMember(name: "large", value: .bool(false)),
        ])
    }

    /// Stores a commit of a tree, moves the clone's head to it, and gives its id.
    func commit(_ tree: ObjectID, batch: ObjectBatch, scratch: ScratchArea) throws -> ObjectID {
        let state = try vault.loadState()
        let key = try vault.signingKey(try #require(state.cloneBranch))
        let builder = CommitBuilder(
            cipher: vault.cipher, random: SecureRandom(), branch: state.cloneBranch, key: key)
        let (id, _) = try builder.build(
            tree: tree, parents: state.head.map { [$0] } ?? [], message: "forged", timeMs: 1, batch: batch)
        try batch.commit()
        try vault.moveRef(state.headRef, from: state.head, to: id, scratch: scratch)
        return id
    }

    /// Makes the head a tree with these entries.
    @discardableResult
    func head(_ entries: [TreeEntry]) throws -> ObjectID {
        let lock = try vault.lock()
        let batch = vault.newBatch(width: .short, scratch: lock.scratch)
        return try commit(try tree(entries, batch: batch), batch: batch, scratch: lock.scratch)
    }
}

@Suite("Bad input")
final class BadInputTests {
    /// Settings live as long as the test that uses their folders.
    private var kept: [TwoClones] = []

    private func file(_ name: String, _ blob: ObjectID) -> TreeEntry {
        TreeEntry(
            name: Array(name.utf8),
            target: .file(
                FileEntry(blobID: blob, size: 1, contentHash: nil, contentType: "text/plain", isLarge: false)))
    }

    private func vaultWithFile() throws -> (setting: TwoClones, vault: Vault, blob: ObjectID) {
        let setting = try TwoClones()
        kept.append(setting)
        let vault = try setting.create("a")
        let result = try vault.write(WriteRequest(files: [(try VaultPath("f"), .bytes([1]))]))
        return (setting, vault, result.blobs[0].blob)
    }

    private func folder(_ setting: TwoClones, _ path: String) throws -> any Directory {
        try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(path.utf8)))
    }

    private func overwrite(_ name: String, in folder: any Directory, _ change: (inout [UInt8]) -> Void) throws {
        var bytes = try #require(try folder.readFileIfPresent(Array(name.utf8), limit: 1 << 24))
        change(&bytes)
        try folder.removeFile(Array(name.utf8))
        try folder.createFile(Array(name.utf8), mode: 0o644).write(bytes.span)
    }

    @Test(arguments: [
        "..", ".", "", "/", "a/b", "/abs", ".git", ".GIT", ".git ", ".git.", "git~1", ".sg_vault", ".SG_Vault",
        ".sg_vault_new", "..\\x", "a\\..\\b", "\u{200C}.git", "\u{FEFF}.git", ".g\u{131}t", ".vault__x.zip",
    ])
    func `a hostile name in a tree refuses the whole operation`(name: String) throws {
        let (setting, vault, blob) = try vaultWithFile()
        try Forger(vault: vault).head([file(name, blob)])
        // An empty name is skipped by every reader (spec 02 §4).
        if name.isEmpty {
            #expect(try vault.status().changes.deleted.isEmpty)
            return
        }
        #expect(throws: VaultError.coded(.unsafePath)) { try vault.status() }
        #expect(throws: VaultError.coded(.unsafePath)) { try vault.list(recursive: true) }
        #expect(setting.read("f", in: "a") != nil)
    }

    @Test func `of two entries with one name the later wins`() throws {
        let (_, vault, blob) = try vaultWithFile()
        let other = try vault.write(WriteRequest(files: [(try VaultPath("g"), .bytes([2, 3]))])).blobs[0].blob
        let lock = try vault.lock()
        let batch = vault.newBatch(width: .short, scratch: lock.scratch)
        let forger = Forger(vault: vault)
        let tree = try forger.tree([file("same", blob), file("same", other)], batch: batch)
        _ = try Forger(vault: vault).commit(tree, batch: batch, scratch: lock.scratch)
        #expect(try vault.list().map(\.objectID) == [other])
    }

    @Test(.timeLimit(.minutes(10)), arguments: [5_000, 100_000])
    func `a tree of very many levels is refused, not followed`(levels: Int) async throws {
        let (_, vault, blob) = try vaultWithFile()
        do {
            let lock = try vault.lock()
            let batch = vault.newBatch(width: .short, scratch: lock.scratch)
            let forger = Forger(vault: vault)
            var id = try forger.tree([file("leaf", blob)], batch: batch)
            for _ in 0..<levels {
                id = try forger.tree([TreeEntry(name: [0x64], target: .folder(id))], batch: batch)
            }
            _ = try forger.commit(id, batch: batch, scratch: lock.scratch)
        }
        #expect(throws: VaultError.self) { try vault.status() }
        #expect(throws: VaultError.self) { try vault.list(recursive: true) }
        #expect(throws: VaultError.self) { try vault.commit() }
        #expect(try await !vault.fsck(FsckOptions(quick: true)).isClean)
        #expect(try vault.list().count == 1)
    }

    @Test(arguments: [Int64(1), 2]) func `an entry that says other things of a blob than it holds is found by fsck`(
        size: Int64
    ) async throws {
        let (setting, vault, blob) = try vaultWithFile()
        let right = ContentHash(digest: try SHA256.hash([1].span))
        let wrong = ContentHash(digest: try SHA256.hash([2].span))
        func entry(_ name: String, _ hash: ContentHash, _ size: Int64) -> TreeEntry {
            TreeEntry(
                name: Array(name.utf8),
                target: .file(
                    FileEntry(blobID: blob, size: size, contentHash: hash, contentType: "", isLarge: false)))
        }
        try Forger(vault: vault).head([entry("f", size == 1 ? wrong : right, size)])
        let report = try await vault.fsck()
        #expect(!report.isClean)
        #expect(report.corrupt.map(\.id) == [blob.text])
        #expect(report.corrupt.map { $0.path?.description } == ["f"])
        // The remote has the same: nothing to repair it with, and one look is enough.
        let remote = FolderRemote(
            path: setting.remotePath, vaultID: try setting.vaultID(), environment: setting.environment)
        _ = try await vault.push(to: remote)
        let counting = CountingRemote(remote)
        let repaired = try await vault.fsck(FsckOptions(repair: true), repairFrom: counting)
        #expect(repaired.repaired.isEmpty)
        #expect(repaired.unrepaired == [blob.text])
        #expect(counting.counted.reads == 1)
        try Forger(vault: vault).head([entry("f", right, 1)])
        #expect(try vault.status().changes.isEmpty)
    }

    @Test func `an object that another process mended is not moved away`() throws {
        let (setting, vault, blob) = try vaultWithFile()
        let data = try folder(setting, ".sg_vault/bare/data")
        let sound = try #require(try data.readFileIfPresent(Array(blob.text.utf8), limit: 1 << 20))
        #expect(!vault.store.quarantine(blob))
        #expect(try data.readFileIfPresent(Array(blob.text.utf8), limit: 1 << 20) == sound)
        try overwrite(blob.text, in: data) { $0[0] ^= 1 }
        #expect(vault.store.quarantine(blob))
        #expect(try !vault.store.holds(blob))
    }

    @Test func `content that nobody told the size of is inflated piece by piece`() throws {
        let (_, vault, _) = try vaultWithFile()
        let zeros = [UInt8](repeating: 0, count: 40 << 20)
        let object = try vault.cipher.sealBlob(zeros.span, deflate: true, random: SecureRandom())
        #expect(object.count < 1 << 20)
        let lock = try vault.lock()
        let batch = vault.newBatch(width: .short, scratch: lock.scratch)
        let id = try batch.add(object)
        try batch.commit()
        let entry = FileEntry(blobID: id, size: 1, contentHash: nil, contentType: "", isLarge: false)
        let reader = BlobReader(store: vault.store, cipher: vault.cipher)
        var largest = 0
        var total = 0
        try reader.stream(entry) { piece in
            largest = max(largest, piece.count)
            total += piece.count
        }
        #expect(total == zeros.count)
        #expect(largest <= 16 << 20)
    }

    @Test func `a store that answers another object's bytes is found out`() async throws {
        let (setting, vault, blob) = try vaultWithFile()
        let data = try folder(setting, ".sg_vault/bare/data")
        let other = try vault.write(WriteRequest(files: [(try VaultPath("g"), .bytes([2, 3]))])).blobs[0].blob
        let bytes = try #require(try data.readFileIfPresent(Array(other.text.utf8), limit: 1 << 20))
        try overwrite(blob.text, in: data) { $0 = bytes }
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.read(try VaultPath("f")) { _ in } }
        // It was moved aside, and is missing from now on.
        #expect(throws: VaultError.coded(.objectMissing)) { try vault.read(try VaultPath("f")) { _ in } }
        let report = try await vault.fsck()
        #expect(report.missing.map(\.id) == [blob.text])
        #expect(report.missing.first?.path?.description == "f")
    }

    @Test(arguments: ["truncate", "flip", "empty", "grow"])
    func `a damaged object, ref or index is refused by name`(damage: String) async throws {
        for kind in ["data", "refs", "indexes"] {
            let (setting, vault, _) = try vaultWithFile()
            let place = try folder(setting, ".sg_vault/bare/\(kind)")
            for entry in try place.entries() {
                try overwrite(String(decoding: entry.name, as: UTF8.self), in: place) { bytes in
                    switch damage {
                    case "truncate": bytes.removeLast(bytes.count / 2)
                    case "flip": bytes[bytes.count / 2] ^= 1
                    case "empty": bytes = []
                    default: bytes += [0]
                    }
                }
            }
            let code: VaultError.Code = kind == "data" ? .objectCorrupt : .refUnreadable
            #expect(throws: VaultError.coded(code)) { try vault.log { _ in true } }
            #expect(try await !vault.fsck().isClean)
        }
    }

    @Test func `a vault that needs a newer client is refused with both versions`() throws {
        let (_, vault, _) = try vaultWithFile()
        let lock = try vault.lock()
        var index = try vault.loadState().index
        index.minClient = "0.27.0"
        try vault.storeIndex(index, scratch: lock.scratch)
        let error = #expect(throws: VaultError.coded(.formatUnsupported)) { try vault.status() }
        #expect(error?.message.contains("0.27.0") == true)
        #expect(error?.message.contains("0.26.0") == true)
    }

    @Test func `a vault of format 3 is read and not written`() throws {
        let (_, vault, _) = try vaultWithFile()
        do {
            let lock = try vault.lock()
            var index = try vault.loadState().index
            index.format = 3
            try vault.storeIndex(index, scratch: lock.scratch)
        }
        #expect(try vault.list().count == 1)
        #expect(throws: VaultError.coded(.formatUnsupported)) {
            try vault.write(WriteRequest(files: [(try VaultPath("g"), .bytes([1]))]))
        }
    }

    @Test func `a pack vault is refused by name`() throws {
        let (_, vault, _) = try vaultWithFile()
        let lock = try vault.lock()
        var index = try vault.loadState().index
        index.features = ["packs"]
        try vault.storeIndex(index, scratch: lock.scratch)
        let error = #expect(throws: VaultError.coded(.formatUnsupported)) { try vault.status() }
        #expect(error?.message.contains("packs") == true)
    }

    @Test(arguments: ["", "{", "[]", "nonsense", "{\"mode\": 7}", "{\"my_branch_id\": \"../../x\"}"])
    func `a config that does not read is refused`(content: String) throws {
        let (setting, vault, _) = try vaultWithFile()
        try overwrite("config.json", in: try folder(setting, ".sg_vault/local")) { $0 = Array(content.utf8) }
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.status() }
    }

    @Test(arguments: ["{}", "not json", "{\"mode\": \"read-only\", \"vault_id\": \"x\"}"])
    func `a clone mode that does not read refuses every command`(content: String) throws {
        let (setting, _, _) = try vaultWithFile()
        try folder(setting, ".sg_vault/local").createFile(Array("clone_mode.json".utf8), mode: 0o600)
            .write(Array(content.utf8).span)
        #expect(throws: VaultError.coded(.objectCorrupt)) { try setting.open("a") }
    }

    @Test(arguments: ["stat-cache", "derived-keys", "seen.json", "own-head.json"])
    func `a damaged cache is rebuilt, whatever it holds`(name: String) throws {
        let (setting, vault, _) = try vaultWithFile()
        _ = try vault.status()
        let own = try folder(setting, ".sg_vault/local/vaultctl")
        guard try own.statusIfPresent(of: Array(name.utf8)) != nil || name == "seen.json" else { return }
        for content in [[], [0xFF], [UInt8](repeating: 0x41, count: 5000)] as [[UInt8]] {
            try own.removeTree(Array(name.utf8))
            try own.createFile(Array(name.utf8), mode: 0o600).write(content.span)
            let again = try setting.open("a")
            #expect(try again.status().isClean)
            #expect(try again.list().count == 1)
        }
    }

    @Test func `cached keys of another vault are not taken for this one's`() throws {
        let (setting, vault, _) = try vaultWithFile()
        _ = try vault.status()
        let (other, stranger, _) = try vaultWithFile()
        _ = try stranger.status()
        let name = Array("derived-keys".utf8)
        let cached = try #require(
            try folder(other, ".sg_vault/local/vaultctl").readFileIfPresent(name, limit: 1 << 10))
        let own = try folder(setting, ".sg_vault/local/vaultctl")
        try own.removeTree(name)
        try own.createFile(name, mode: 0o600).write(cached.span)
        #expect(try setting.open("a").status().isClean)
        #expect(try setting.open("a").list().count == 1)
    }

    @Test(arguments: [
        "remote_heads.json", "remotes.json", "merge_state.json", "pending_registration.json",
        "vaultctl/config.json", "vaultctl/baselines.json", "vaultctl/not-stored.json", "vaultctl/journal",
        "vaultctl/stashing",
    ])
    func `fsck names every state file that does not read`(name: String) async throws {
        let (setting, vault, _) = try vaultWithFile()
        let local = try folder(setting, ".sg_vault/local")
        let parts = name.split(separator: "/").map { Array($0.utf8) }
        let place = parts.count == 1 ? local : try local.openDirectory(parts[0])
        try place.removeTree(parts[parts.count - 1])
        try place.createFile(parts[parts.count - 1], mode: 0o600).write(Array("{\"v\":1".utf8).span)
        let report = try await vault.fsck()
        #expect(!report.isClean)
        #expect(report.broken.map(\.id).contains { $0.hasSuffix(name) }, "\(report.broken.map(\.id))")
    }

    @Test func `a settings file that does not read has one outcome`() throws {
        let (setting, vault, _) = try vaultWithFile()
        for content in ["{", "[]", "\"x\""] {
            let own = try folder(setting, ".sg_vault/local/vaultctl")
            try own.removeTree(Array("config.json".utf8))
            try own.createFile(Array("config.json".utf8), mode: 0o600).write(Array(content.utf8).span)
            try setting.write(content, to: "g", in: "a")
            #expect(throws: VaultError.coded(.usage)) { try vault.commit() }
            #expect(throws: VaultError.coded(.usage)) { try vault.settings() }
            #expect(throws: VaultError.coded(.usage)) { try vault.setSetting("commit.sign", to: .bool(true)) }
        }
    }

    @Test func `a file of a newer vaultctl is refused by name`() throws {
        let (setting, vault, _) = try vaultWithFile()
        let own = try folder(setting, ".sg_vault/local/vaultctl")
        try own.createFile(Array("not-stored.json".utf8), mode: 0o600).write(Array("{\"v\":2}".utf8).span)
        #expect(throws: VaultError.coded(.formatUnsupported)) { try vault.status() }
    }

    @Test func `a gitignore that is not UTF-8 stops status and commit`() throws {
        let (setting, vault, _) = try vaultWithFile()
        try folder(setting, "").createFile(Array(".gitignore".utf8), mode: 0o644).write([0xFF, 0x0A].span)
        #expect(throws: VaultError.coded(.refused)) { try vault.status() }
        #expect(throws: VaultError.coded(.refused)) { try vault.commit() }
    }

    @Test(arguments: ["short:abcd123", "caf\u{E9}:abcd1234", "tab\there:abcd1234"])
    func `a vault that other clients could not use is not created`(text: String) throws {
        let setting = try TwoClones()
        #expect(throws: VaultError.coded(.usage)) {
            try Vault.create(
                at: setting.folder.appending("x"), key: try VaultKey(parsing: Array(text.utf8).span),
                options: CreateOptions(), environment: setting.environment)
        }
        #expect(try setting.folder.open().entries().isEmpty)
    }

    @Test func `a folder that holds files is not made a vault unasked, and is left as it was`() throws {
        let setting = try TwoClones()
        try setting.environment.fileSystem.createDirectory(setting.folder.appending("a"), mode: 0o755)
        try setting.write("mine", to: "mine.txt", in: "a")
        #expect(throws: VaultError.coded(.directoryNotEmpty)) { try setting.create("a") }
        #expect(try folder(setting, "").entries().map(\.name) == [Array("mine.txt".utf8)])
    }
}
