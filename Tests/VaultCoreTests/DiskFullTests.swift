import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A small file system of its own, where this process may mount one.
private final class SmallDisk {
    let folder: TemporaryFolder
    let path: FilePath

    init?(megabytes: Int) throws {
        folder = try TemporaryFolder("disk")
        path = folder.appending("disk")
        guard ProcessContext.effectiveUserID == 0 else { return nil }
        do {
            try Shell.run("mkdir '\(path.text)' && mount -t tmpfs -o size=\(megabytes)m none '\(path.text)' 2>&1")
        } catch {
            return nil
        }
    }

    deinit {
        _ = try? Shell.run("umount -l '\(path.text)'")
    }
}

@Suite("A full disk")
struct DiskFullTests {
    private func key() throws -> VaultKey { try VaultKey(parsing: Array("full disk passphrase:abcd1234".utf8).span) }

    @Test func `a commit that does not fit fails by name, loses nothing and works when there is room`() async throws {
        guard let disk = try SmallDisk(megabytes: 8) else { return }
        let environment = VaultEnvironment.production()
        let (vault, made) = try Vault.create(
            at: disk.path.appending(component: "a"), key: try key(), options: CreateOptions(), environment: environment)
        let root = try environment.fileSystem.openDirectory(disk.path.appending(component: "a"))
        let content = [UInt8](repeating: 7, count: 3 << 20)
        for name in ["one", "two"] { try root.createFile(Array(name.utf8), mode: 0o644).write(content.span) }
        #expect(throws: VaultError.coded(.noSpace)) { try vault.commit() }
        #expect(try vault.status().head == made.head)
        #expect(try vault.status().changes.added.count == 2)
        #expect(try await vault.fsck().isClean)
        try root.removeFile(Array("two".utf8))
        #expect(try vault.commit().changes.added.map(\.description) == ["one"])
        #expect(try await vault.fsck().isClean)
    }

    @Test func `a clone that can not fit says so before it starts and leaves nothing`() async throws {
        guard let disk = try SmallDisk(megabytes: 4) else { return }
        let setting = try TwoClones()
        let first = try setting.create("a")
        let path = try VaultPath("big")
        _ = try first.write(
            WriteRequest(files: [(path: path, content: .bytes([UInt8](repeating: 1, count: 6 << 20)))]))
        _ = try await first.push(to: try setting.remote())
        let counting = CountingRemote(try setting.remote())
        await #expect(throws: VaultError.coded(.noSpace)) {
            try await Vault.clone(
                from: counting, key: try setting.cloneKey(CloneOptions()), to: disk.path.appending(component: "b"),
                options: CloneOptions(), environment: setting.environment, observer: SilentObserver())
        }
        // Index and ref only.
        #expect(counting.counted.filesRead == 2)
        let entries = try setting.environment.fileSystem.openDirectory(disk.path).entries()
        #expect(entries.isEmpty)
    }

    @Test func `a file system without a limit has room for a clone`() async throws {
        // Its free space reads as none.
        guard let disk = try SmallDisk(megabytes: 0) else { return }
        let setting = try TwoClones()
        _ = try await setting.create("a").push(to: try setting.remote())
        let result = try await Vault.clone(
            from: try setting.remote(), key: try setting.cloneKey(CloneOptions()),
            to: disk.path.appending(component: "b"), options: CloneOptions(), environment: setting.environment,
            observer: SilentObserver())
        #expect(result.notStored.isEmpty)
    }

    @Test func `reading works on a file system that can not be written`() async throws {
        guard let disk = try SmallDisk(megabytes: 16) else { return }
        let environment = VaultEnvironment.production()
        let path = disk.path.appending(component: "a")
        let (vault, _) = try Vault.create(
            at: path, key: try key(), options: CreateOptions(), environment: environment)
        _ = try vault.write(
            WriteRequest(files: [(path: try VaultPath("f"), content: .bytes([1, 2, 3]))], message: "a file"))
        try Shell.run("rm -rf '\(path.text)/.sg_vault/local/vaultctl'; mount -o remount,ro '\(disk.path.text)'")
        let reader = try Vault.open(root: path, options: OpenOptions(), environment: environment)
        #expect(try reader.status().isClean)
        #expect(try reader.contents(of: try VaultPath("f")) == [1, 2, 3])
        #expect(try reader.list().count == 1)
        #expect(try reader.info().objects > 2)
        #expect(try await reader.fsck().isClean)
        var messages: [String] = []
        try reader.log {
            messages.append($0.commit.message)
            return true
        }
        #expect(messages == ["a file", "init"])
        #expect(throws: VaultError.coded(.readOnlyFilesystem)) { try reader.commit() }
    }
}
