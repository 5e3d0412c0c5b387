import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// The reference takes no lock and writes refs and the index in place: they are cut short for a moment.
@Suite("Files written in place")
struct WriteInPlaceTests {
    @Test("a ref or index that is whole again a moment later reads", arguments: ["refs", "indexes"])
    func cutForAMoment(folder: String) throws {
        let memory = InMemoryFileSystem(clock: SystemClock())
        let scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 1)
        let vault = try scene.create("a")
        let head = try vault.loadState().head
        let ref = try vault.loadState().headRef
        let name = folder == "refs" ? ref.text : vault.ids.index.text
        let path = FilePath("/a/.sg_vault/bare/\(folder)/\(name)")
        let whole = try memory.readFile(path, limit: 1 << 20)
        try ThreadExecutor.concurrently(2) { number in
            do {
                if number == 0 {
                    for round in 0..<40 {
                        try memory.writeFile(path, Array(whole.prefix(round)))
                        SystemClock().sleep(milliseconds: 2)
                        try memory.writeFile(path, whole)
                        SystemClock().sleep(milliseconds: 20)
                    }
                } else {
                    for _ in 0..<200 {
                        let state = try scene.open("a").loadState()
                        #expect(state.head == head)
                    }
                }
            } catch {
                Issue.record("\(error)")
            }
        }
    }

    @Test("one that stays cut short is told as damaged")
    func staysCut() throws {
        let memory = InMemoryFileSystem(clock: VaultScene.clock)
        let scene = VaultScene(keys: try SceneKeys.shared(), on: memory, seed: 1)
        let vault = try scene.create("a")
        let ref = try vault.loadState().headRef
        try memory.writeFile(FilePath("/a/.sg_vault/bare/refs/\(ref.text)"), [1, 2, 3])
        let error = #expect(throws: VaultError.self) { try scene.open("a").loadState() }
        #expect(error?.code == .refUnreadable)
    }
}
