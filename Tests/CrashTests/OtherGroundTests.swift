import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultCore
@testable import VaultSystem

/// File systems that lack what the kernel's own have: every operation comes to the same end there.
@Suite("Other ground")
struct OtherGroundTests {
    enum Lack: String, CaseIterable, Sendable {
        case unnamedFiles = "files without a name"
        case modes

        var fault: FaultFileSystem.Fault {
            switch self {
            case .unnamedFiles: .init(atCall: 1, error: .notSupported, isSticky: true, kinds: [.createUnnamedFile])
            case .modes: .init(atCall: 1, error: .notPermitted, isSticky: true, kinds: [.setMode])
            }
        }
    }

    @Test("a file system without them", arguments: Lack.allCases)
    func operations(lack: Lack) async throws {
        let keys = try SceneKeys.shared()
        let tally = Tally("other ground", seed: 1)
        for operation in try await CampaignOperation.all(keys) {
            let memory = operation.start.afterKill()
            let faults = FaultFileSystem(memory)
            faults.set(lack.fault)
            let what = "\(operation.name), without \(lack.rawValue)"
            do {
                try await operation.run(VaultScene(keys: keys, on: faults, seed: 2))
            } catch {
                tally.violation("\(what): \(error)")
            }
            if faults.hasFired { tally.count("met") }
            let left = try VaultScene(keys: keys, on: memory, seed: 3).leftovers(operation.clone)
            if !left.isEmpty { tally.violation("\(what): left \(left)") }
            await StateChecks(operation: operation, tally: tally, what: what)
                .run(on: VaultScene(keys: keys, on: memory, seed: 3), succeeded: true)
        }
        #expect(tally.value("met") > 0)
        #expect(tally.violations.isEmpty)
    }

    @Test("without files that have no name, a command that fails leaves none of its own")
    func failures() async throws {
        let keys = try SceneKeys.shared()
        let tally = Tally("failures on other ground", seed: 1)
        let step = Campaign.number("VAULT_GROUND_STEP", short: 5, full: 1)
        for operation in try await CampaignOperation.all(keys) {
            var call = 1
            while true {
                let memory = operation.start.afterKill()
                let ground = FaultFileSystem(memory)
                ground.set(Lack.unnamedFiles.fault)
                let faults = FaultFileSystem(ground)
                faults.set(.init(atCall: call, kinds: [.write, .setMode, .rename, .syncFile, .read]))
                do {
                    try await operation.run(VaultScene(keys: keys, on: faults, seed: 2))
                } catch { tally.count("failed") }
                guard faults.hasFired else { break }
                let left = try VaultScene(keys: keys, on: memory, seed: 3).leftovers(operation.clone)
                if !left.isEmpty { tally.violation("\(operation.name), call \(call): left \(left)") }
                call += step
            }
        }
        #expect(tally.value("failed") > 100)
        #expect(tally.violations.isEmpty)
    }

    @Test("a large zip from a pipe is kept without files that have no name")
    func spooledZip() throws {
        let folder = try TemporaryFolder("ground")
        let faults = FaultFileSystem(LinuxFileSystem())
        let scene = VaultScene(
            keys: try SceneKeys.shared(), on: faults, base: folder.path, seed: 1, clock: SystemClock())
        let vault = try scene.create("a")
        let content = [0x50, 0x4B, 0x03, 0x04] + [UInt8](repeating: 9, count: 9 << 20)
        let file = try folder.open().createFile(Array("in".utf8), mode: 0o600)
        try file.write(content.span)
        try file.seek(to: 0)
        let descriptor = try #require(file as? LinuxFile).descriptor
        faults.set(Lack.unnamedFiles.fault)
        _ = try vault.write(WriteRequest(files: [(try VaultPath("big.zip"), .descriptor(descriptor))]))
        #expect(faults.hasFired)
        #expect(try vault.contents(of: try VaultPath("big.zip")) == content)
        #expect(try scene.leftovers("a").isEmpty)
    }

    @Test("a file that is replaced by an export keeps its mode, where there are modes", arguments: [false, true])
    func exportedMode(refusesModes: Bool) throws {
        let folder = try TemporaryFolder("ground")
        let faults = FaultFileSystem(LinuxFileSystem())
        let scene = VaultScene(
            keys: try SceneKeys.shared(), on: faults, base: folder.path, seed: 1, clock: SystemClock())
        let vault = try scene.create("a")
        let path = try VaultPath("f")
        _ = try vault.write(WriteRequest(files: [(path, .bytes([1]))]))
        let target = folder.appending("out")
        // Where modes are refused all files have the same: that of a file just made for an export.
        _ = try folder.open().createFile(Array("out".utf8), mode: refusesModes ? 0o600 : 0o640)
        if refusesModes { faults.set(Lack.modes.fault) }
        try vault.export(path, to: target)
        let status = try LinuxFileSystem().status(of: target, followLinks: false)
        #expect(status.size == 1)
        #expect(status.mode & 0o777 == (refusesModes ? 0o600 : 0o640))
    }
}
