import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Commands that open a clone, without a lock, while a rekey lets its two vaults change places (spec 05 §13).
@Suite("A clone opened beside a rekey")
struct RekeyReaderTests {
    private let keys: SceneKeys
    /// Both vaults are whole, and their change of places was begun.
    private let start: InMemoryFileSystem
    private let newID = "campaign2"

    init() async throws {
        keys = try SceneKeys.shared()
        let memory = InMemoryFileSystem()
        let stopping = FailPoints { (point: FailPoint) throws(Errno) in
            if point == .rekeyBetweenRenames { throw .ioError }
        }
        let scene = VaultScene(keys: keys, on: memory, seed: 57, failPoints: stopping)
        let vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        _ = try vault.commit()
        let text = Array("a newer passphrase:campaign2".utf8)
        let key = try VaultKey(parsing: text.span)
        try vault.beginRekey(to: key, server: nil)
        await #expect(throws: VaultError.coded(.ioError)) {
            try await vault.finishRekey(publishingTo: { _ in nil })
        }
        start = memory.afterKill()
    }

    @Test(arguments: 0...6)
    func `does not make it fail`(call: Int) async throws {
        let files = start.afterKill()
        let faults = FaultFileSystem(files)
        let reader = VaultScene(keys: keys, on: files, seed: 58)
        let opened = Locked<VaultID?>(nil)
        let points = FailPoints { (point: FailPoint) throws(Errno) in
            guard point == .rekeyBetweenRenames else { return }
            // At once, or right before one of the calls that follow.
            let open: @Sendable () -> Void = {
                do {
                    let id = try reader.open("a").vaultID
                    opened.withLock { $0 = id }
                } catch { Issue.record("\(error)") }
            }
            if call == 0 { open() } else { faults.intervene(atCall: call, open) }
        }
        let vault = try VaultScene(keys: keys, on: faults, seed: 59, failPoints: points).open("a")
        let result = try await vault.finishRekey(publishingTo: { _ in nil })
        #expect(result.newVaultID.text == newID)
        if call < 3 { #expect(opened.withLock { $0?.text } == newID) }
        let new = try reader.open("a")
        #expect(new.vaultID == result.newVaultID)
        #expect(try await new.fsck().isClean)
        #expect(try RekeyPlace(new, result.oldFolder).vault(lockTimeout: 0).vaultID == keys.vaultID)
    }

    @Test(arguments: [0, 1, 2, 4])
    func `finds the old vault or the new one at every moment`(calls: Int) throws {
        var found: Set<String> = []
        for call in 1...25 {
            let files = start.afterKill()
            let faults = FaultFileSystem(files)
            let root = try files.openDirectory("/a")
            let old = Array("\(RekeyWork.oldPrefix)1".utf8)
            let second: @Sendable () -> Void = {
                // Whoever opens the clone may have been first.
                try? root.rename(CloneLayout.newName, to: root, as: CloneLayout.vaultName, replacing: false)
            }
            faults.intervene(atCall: call) {
                try? root.rename(CloneLayout.vaultName, to: root, as: old, replacing: false)
                if calls == 0 { second() } else { faults.intervene(atCall: calls, second) }
            }
            let scene = VaultScene(keys: keys, on: faults, seed: 60)
            let place = try Vault.locate(from: "/a", environment: scene.environment)
            #expect(place == "/a")
            found.insert(try scene.open("a").vaultID.text)
        }
        #expect(found == [newID, keys.vaultID.text])
    }
}
