import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What has been done survives a power cut, with the names of the folders that it is in (docs/durability.md).
@Suite("After a power cut")
struct FolderDurabilityTests {
    private let memory = InMemoryFileSystem()
    private let scene: VaultScene
    private let vault: Vault

    init() throws {
        scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 64)
        vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        _ = try vault.commit()
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// What is found below a folder whose every trace in names has to be told.
    private func found(_ part: String) -> [String: [UInt8]?] {
        memory.afterPowerCut().contents.filter { $0.key.contains(part) }
    }

    @Test func `the folders of this program are there that were missing, as in a clone by another`() throws {
        for names in [["vaultctl"], ["vaultctl", "quarantine"]] {
            let folder = try vault.layout.local.openDirectory(path: names.dropLast().map(bytes)) ?? vault.layout.local
            try folder.removeTree(bytes(names[names.count - 1]))
            try vault.layout.root.syncFileSystem()
            let lock = try vault.lock()
            try vault.files.writeOwn("kept.json", [], scratch: lock.scratch)
            #expect(found("/local/vaultctl/kept.json").count == 1)
            try vault.layout.local.createFile(bytes("odd"), mode: 0o600).sync()
            try vault.setAside("odd", in: vault.layout.local)
            #expect(found("/odd").keys.sorted() == ["/a/.sg_vault/local/vaultctl/quarantine/odd"])
        }
        for name in ["keys", "indexes"] {
            try vault.layout.bare.removeTree(bytes(name))
            try vault.layout.root.syncFileSystem()
            _ = try CloneLayout(root: vault.layout.root, path: scene.path("a"))
            #expect(found("/bare/\(name)").count == 1)
        }
    }

    @Test func `a backup in a folder of backups that was missing is whole`() throws {
        let made = try vault.backup()
        let name = "/a/.sg_vault/backups/"
        #expect(found(name).values.contains { $0?.count == Int(made.bytes) })
    }

    @Test func `nothing is left of a vault that was detached, nor of a token that was removed`() throws {
        for place in [vault.layout.local, vault.layout.vault] {
            try place.createFile(bytes("token"), mode: 0o600).write(bytes("secret").span)
        }
        try vault.layout.root.syncFileSystem()
        #expect(found("/token").count == 2)
        #expect(try vault.removeAccessToken())
        #expect(found("/token").isEmpty)
        #expect(try !vault.removeAccessToken())
        _ = try vault.detach(withBackup: true)
        #expect(found(".sg_vault").keys.allSatisfy { !$0.contains("vault_key") && !$0.contains("/bare") })
    }

    @Test func `what a second try removed is gone, also where only the sync had failed`() throws {
        let faults = FaultFileSystem(memory)
        let other = try VaultScene(keys: scene.keys, on: faults, seed: 65).open("a")
        for place in [vault.layout.local, try #require(try vault.layout.ownFolder(create: false))] {
            try place.createFile(bytes("gone.json"), mode: 0o600).write(bytes("{}").span)
        }
        try vault.layout.root.syncFileSystem()
        for remove in [{ try other.files.remove("gone.json") }, { try other.files.removeOwn("gone.json") }] {
            let before = found("/gone.json").count
            faults.set(.init(atCall: 1, kinds: [.syncDirectory]))
            #expect(throws: VaultError.coded(.ioError)) { try remove() }
            #expect(found("/gone.json").count == before)
            try remove()
            #expect(found("/gone.json").count == before - 1)
        }
    }

    @Test func `a folder whose name can not be made durable is not there for the next try`() throws {
        let faults = FaultFileSystem(memory)
        let root = try faults.openDirectory("/")
        faults.set(.init(atCall: 1, kinds: [.syncDirectory]))
        #expect(throws: Errno.ioError) { try root.openDirectory(bytes("new"), creatingWith: 0o755, durably: true) }
        #expect(try root.statusIfPresent(of: bytes("new")) == nil)
        _ = try root.openDirectory(bytes("new"), creatingWith: 0o755, durably: true)
        #expect(found("/new").count == 1)
    }

    @Test(arguments: [1, 30])
    func `objects are there that another program had stored and not synced`(count: Int) throws {
        let lock = try vault.lock()
        let batch = vault.newBatch(width: .short, scratch: lock.scratch)
        var held: [String: [UInt8]] = [:]
        for number in 0..<count {
            let content = bytes("ciphertext \(number)")
            let id = try batch.add(content)
            try vault.layout.data.createFile(bytes(id.text), mode: 0o644).write(content.span)
            held["/a/.sg_vault/bare/data/\(id.text)"] = content
        }
        try batch.commit()
        let after = memory.afterPowerCut().contents
        for (path, content) in held { #expect(after[path] == .some(content)) }
        #expect(try scene.leftovers("a").isEmpty)
    }
}
