import Testing
import VaultFormat
import VaultTestSupport

@testable import VaultCore
@testable import VaultSystem

/// Content that comes through a descriptor: whoever makes it may be slow (docs/durability.md, spec 05 §10).
@Suite("The input of a write")
struct WriteInputTests {
    private let folder: TemporaryFolder
    private let faults: FaultFileSystem
    private let scene: VaultScene
    private let vault: Vault

    init() throws {
        folder = try TemporaryFolder("input")
        faults = FaultFileSystem(LinuxFileSystem())
        scene = VaultScene(keys: try SceneKeys.shared(), on: faults, base: folder.path, seed: 71, clock: SystemClock())
        vault = try scene.create("a")
    }

    private func input(_ content: [UInt8]) throws -> LinuxFile {
        let file = try folder.open().createFile(Array("input".utf8), mode: 0o600)
        try file.write(content.span)
        try file.seek(to: 0)
        return try #require(file as? LinuxFile)
    }

    @Test("is not told as uncommitted work where the folder of its path can not be entered")
    func closedFolder() throws {
        try scene.put("one", at: "s/known", in: "a")
        _ = try vault.commit()
        faults.close([Array("s".utf8)])
        let request = WriteRequest(files: [(try VaultPath("s/new"), .bytes([1]))])
        #expect(throws: VaultError.coded(.permissionDenied)) { try vault.write(request) }
        faults.close([])
        #expect(try vault.status().isClean)
    }

    @Test("is read to its end before the lock of the clone is asked for", arguments: [0, 3, 9 << 20])
    func beforeTheLock(size: Int) throws {
        let content = [UInt8](repeating: 7, count: size)
        let file = try input(content)
        let request = WriteRequest(files: [(try VaultPath("x"), .descriptor(file.descriptor))])
        faults.set(.init(atCall: 1, kinds: [.lock]))
        #expect(throws: VaultError.coded(.ioError)) { try vault.write(request) }
        #expect(faults.hasFired)
        // The descriptor shares its position with the one that was read.
        #expect(try file.read(upTo: 1).isEmpty)
        faults.set(nil)
        try file.seek(to: 0)
        _ = try vault.write(request)
        #expect(try vault.contents(of: try VaultPath("x")) == content)
        #expect(try scene.leftovers("a").isEmpty)
    }
}
