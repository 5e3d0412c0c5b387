import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Looks at what a crash of the machine at each change of an operation in the clone "a" leaves.
struct CrashLook {
    private let memory: InMemoryFileSystem

    init(_ memory: InMemoryFileSystem) { self.memory = memory }

    /// Runs something, and then `check` on the clone after each crash.
    func run(
        _ body: (Vault) throws -> Void, afterwards check: (Vault, VaultScene, String) throws -> Void
    ) throws {
        try memory.openDirectory("/").syncFileSystem()
        let random = SeededRandom(seed: 77)
        let moments = Locked<[CrashState]>([])
        let disk = CrashFileSystem(memory.afterKill()) { state in moments.withLock { $0.append(state) } }
        try body(try VaultScene(keys: try SceneKeys.shared(), on: disk, seed: 16).open("a"))
        #expect(moments.withLock { $0.count } > 10)
        for (position, state) in moments.withLock({ $0 }).enumerated() {
            let isWrite = state.isWrite
            var fates: [[CrashState.Fate]] = [isWrite.map { _ in .lost }, isWrite.map { $0 ? .lost : .kept }]
            for _ in 0..<6 {
                fates.append(isWrite.map { $0 ? .allCases[random.below(4)] : .allCases[random.below(2)] })
            }
            for fate in fates {
                let after = VaultScene(keys: try SceneKeys.shared(), on: state.afterCrash(fate), seed: 17)
                try check(try after.open("a"), after, "change \(position), \(fate.map(\.rawValue))")
            }
        }
    }
}
