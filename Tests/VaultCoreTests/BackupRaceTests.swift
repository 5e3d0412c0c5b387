import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Backups beside a program that takes no lock (spec 05 §14).
@Suite("A backup beside another program")
struct BackupRaceTests {
    @Test func `holds all that its refs name, whenever the other commits`() async throws {
        let keys = try SceneKeys.shared()
        let memory = InMemoryFileSystem()
        let scene = VaultScene(keys: keys, on: memory, seed: 51)
        let vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        _ = try vault.commit()
        var kept: Set<Int> = []
        var call = 1
        while true {
            let files = memory.afterKill()
            let faults = FaultFileSystem(files)
            let reader = try VaultScene(keys: keys, on: faults, seed: 52).open("a")
            let other = VaultScene(keys: keys, on: files, seed: 53)
            let done = Locked(false)
            // As on a mount that can only be read, no lock keeps the two apart.
            faults.set(.init(atCall: 1, error: .readOnlyFileSystem, isSticky: true, kinds: [.openForAppending]))
            faults.intervene(atCall: call) {
                do {
                    try other.put("two", at: "g", in: "a")
                    let head = try other.open("a").commit().commit
                    done.withLock { $0 = head != nil }
                } catch { Issue.record("\(error)") }
            }
            _ = try reader.backup(
                to: "/b.zip", BackupOptions(includesKey: true, allowsDirty: true), observer: SilentObserver())
            guard done.withLock({ $0 }) else { break }
            let restored = VaultScene(keys: keys, on: files, seed: 54)
            _ = try Vault.restoreBackup(
                "/b.zip", to: "/r", key: nil, options: RestoreOptions(), environment: restored.environment,
                observer: SilentObserver())
            #expect(try await restored.open("r").fsck().isClean, "call \(call)")
            kept.insert(try restored.workingFiles("r").count)
            call += Campaign.number("VAULT_BACKUP_STEP", short: 9, full: 1)
        }
        // The older state in some of them, the newer one in others.
        #expect(call > 30 && kept == [1, 2])
    }
}
