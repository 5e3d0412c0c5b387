import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Edits that a command puts aside and brings back, beside a program that takes no lock (spec 03 §13).
@Suite("Edits put aside by a pull")
struct AutostashTests {
    @Test(arguments: [false, true])
    func `are the ones that come back, whenever another stash is made`(fails: Bool) async throws {
        let keys = try SceneKeys.shared()
        let memory = InMemoryFileSystem()
        let scene = VaultScene(keys: keys, on: memory, seed: 61)
        let vault = try scene.create("a")
        try scene.put("one", at: "f", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
        try await scene.clone("b")
        try scene.put("theirs", at: "g", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
        try scene.put("edited", at: "f", in: "b")
        // An untracked file in the way stops the pull after the edits were put aside.
        if fails { try scene.put("in the way", at: "g", in: "b") }
        let stashes = "/b/.sg_vault/local/stash"
        var call = 1
        while true {
            let files = memory.afterKill()
            let faults = FaultFileSystem(files)
            let done = Locked(false)
            faults.intervene(atCall: call) {
                try? files.createDirectory(FilePath(stashes), mode: 0o755)
                // The newest by its name.
                try? files.writeFile(FilePath("\(stashes)/stash-99999999999999.zip"), [1, 2, 3])
                done.withLock { $0 = true }
            }
            let disturbed = VaultScene(keys: keys, on: faults, seed: 62)
            let pulling = try disturbed.open("b")
            do {
                let result = try await pulling.pull(from: disturbed.remote(), PullOptions(stashesEdits: true))
                #expect(!fails && result.stash == nil, "call \(call)")
            } catch let error as VaultError {
                #expect(fails && error.code == .dirtyTree, "call \(call): \(error)")
            }
            guard done.withLock({ $0 }) else { break }
            let after = VaultScene(keys: keys, on: files, seed: 63)
            #expect(try after.workingFiles("b")["f"] == Array("edited".utf8), "call \(call)")
            let left = try after.open("b").stashes()
            #expect(left.count == 1 && left.allSatisfy { !$0.isEncrypted }, "call \(call)")
            call += Campaign.number("VAULT_AUTOSTASH_STEP", short: 7, full: 1)
        }
        #expect(call > 100)
    }
}
