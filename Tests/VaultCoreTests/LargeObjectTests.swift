import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Objects that are too large to be read at once.
@Suite("Large objects")
struct LargeObjectTests {
    /// A vault with two large files, and a way to put the object of the first in the place of the second's.
    private func exchanged() throws -> (setting: TwoClones, vault: Vault, exchange: () throws -> Void) {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        var ids: [String] = []
        for (number, name) in ["other", "wanted"].enumerated() {
            let content = [UInt8](repeating: UInt8(number), count: ObjectStore.inlineLimit + 1)
            let written = try vault.write(WriteRequest(files: [(try VaultPath(name), .bytes(content))]))
            ids.append(written.blobs[0].blob.text)
        }
        let data = setting.folder.appending("a").text + "/.sg_vault/bare/data"
        return (setting, vault, { try Shell.run("cd '\(data)' && cp --remove-destination \(ids[0]) \(ids[1])") })
    }

    @Test func `one in the place of another is found out by every way of reading, and moved away`() async throws {
        let (setting, vault, exchange) = try exchanged()
        let path = try VaultPath("wanted")
        try exchange()
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.read(path) { _ in } }
        #expect(throws: VaultError.coded(.objectMissing)) { try vault.read(path) { _ in } }
        try exchange()
        let target = setting.folder.appending("out")
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.export(path, to: target) }
        #expect(throws: Errno.noSuchFile) { try LinuxFileSystem().status(of: target, followLinks: false) }
        try exchange()
        #expect(try await !vault.fsck().isClean)
        #expect(try vault.contents(of: try VaultPath("other")).count == ObjectStore.inlineLimit + 1)
    }

    @Test func `one in the place of another is never sent`() async throws {
        let (setting, vault, exchange) = try exchanged()
        try exchange()
        await #expect(throws: VaultError.coded(.objectCorrupt)) { try await vault.push(to: try setting.remote()) }
        #expect(try await setting.remote().list(.all).isEmpty)
    }
}
