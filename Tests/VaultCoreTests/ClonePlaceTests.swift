import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A vault that is built in a folder which others write to as well.
@Suite("A vault built in its place")
struct ClonePlaceTests {
    enum Way: String, CaseIterable, Sendable {
        case clone, clonePart, backup, backupBesideFiles, create
    }

    private let keys: SceneKeys
    private let memory = InMemoryFileSystem()

    init() async throws {
        keys = try SceneKeys.shared()
        let scene = VaultScene(keys: keys, on: memory, seed: 55)
        let vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
        _ = try vault.backup(to: "/b.zip", BackupOptions(), observer: SilentObserver())
        try memory.createDirectory("/real", mode: 0o755)
        // Behind a link no rename can put a folder in its place.
        try memory.createLink("/c", to: "/real")
    }

    private func build(_ way: Way, _ scene: VaultScene) async throws {
        switch way {
        case .clone: try await scene.clone("c")
        case .clonePart: try await scene.clone("c", CloneOptions(keepPartial: true))
        case .backup, .backupBesideFiles:
            _ = try Vault.restoreBackup(
                "/b.zip", to: scene.path("c"), key: nil, options: RestoreOptions(existing: way == .backupBesideFiles),
                environment: scene.environment, observer: SilentObserver())
        case .create:
            try keys.text.withBytes { bytes in
                let key = try VaultKey(parsing: bytes)
                _ = try Vault.create(
                    at: scene.path("real"), key: key, read: keys.read, write: keys.write, options: CreateOptions(),
                    environment: scene.environment)
            }
        }
    }

    @Test(arguments: Way.allCases, [".sg_vault", ".sg_vault_new"])
    func `takes nothing away that somebody else makes there meanwhile`(way: Way, name: String) async throws {
        var call = 1
        var refused = 0
        while true {
            let files = memory.afterKill()
            let faults = FaultFileSystem(files)
            let asked = Locked(false)
            let made = Locked(false)
            faults.intervene(atCall: call) {
                asked.withLock { $0 = true }
                do {
                    let real = try files.openDirectory("/real")
                    try real.createDirectory(Array(name.utf8), mode: 0o755)
                    let theirs = [UInt8]([7])
                    try real.openDirectory(Array(name.utf8)).createFile(Array("theirs".utf8), mode: 0o644)
                        .write(theirs.span)
                    made.withLock { $0 = true }
                } catch {}  // a vault stands there already
            }
            do { try await build(way, VaultScene(keys: keys, on: faults, seed: 56)) } catch { refused += 1 }
            guard asked.withLock({ $0 }) else { break }
            if made.withLock({ $0 }) {
                // What an interrupted clone left is put aside by the next one and not removed.
                let found = files.contents.filter { $0.key.hasSuffix("/theirs") }.map { $0.value ?? [] }
                #expect(found == [[7]], "call \(call)")
            }
            call += 1
        }
        #expect(refused > 10)
    }
}
