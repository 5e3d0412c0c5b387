import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Folders that change while they are looked at.
@Suite("A working copy that changes during a scan")
struct ScanRaceTests {
    @Test(arguments: [Errno.notADirectory, .tooManyLinks, .permissionDenied])
    func `a folder replaced by something else is never a deletion of its files`(error: Errno) throws {
        let files = FaultFileSystem(InMemoryFileSystem())
        let scene = VaultScene(keys: try SceneKeys.shared(), on: files, seed: 1)
        let vault = try scene.create("a")
        for path in ["f", "one/f", "one/two/f", "three/f"] { try scene.put(path, at: path, in: "a") }
        _ = try vault.commit()
        var answered = 0
        for call in 1... {
            files.set(FaultFileSystem.Fault(atCall: call, error: error, kinds: [.openDirectory]))
            let changes = try? vault.status().changes
            let hasFired = files.hasFired
            files.set(nil)
            guard hasFired else { break }
            if let changes {
                #expect(changes.isEmpty)
                answered += 1
            }
        }
        #expect(answered > 0)
    }
}
