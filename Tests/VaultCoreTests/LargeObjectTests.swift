import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Objects that are too large to be read at once.
@Suite("Large objects")
struct LargeObjectTests {
    @Test func `one in the place of another is found out by every way of reading, and moved away`() async throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let path = try VaultPath("wanted")
        var ids: [ObjectID] = []
        for (number, name) in ["other", "wanted"].enumerated() {
            let content = [UInt8](repeating: UInt8(number), count: ObjectStore.inlineLimit + 1)
            let written = try vault.write(WriteRequest(files: [(try VaultPath(name), .bytes(content))]))
            ids.append(written.blobs[0].blob)
        }
        let data = setting.folder.appending("a").appending(".sg_vault/bare/data").text
        func exchange() throws {
            try Shell.run("cp --remove-destination '\(data)/\(ids[0].text)' '\(data)/\(ids[1].text)'")
        }
        try exchange()
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.read(path) { _ in } }
        try exchange()
        let target = setting.folder.appending("out")
        #expect(throws: VaultError.coded(.objectCorrupt)) { try vault.export(path, to: target) }
        #expect(throws: Errno.noSuchFile) { try LinuxFileSystem().status(of: target, followLinks: false) }
        try exchange()
        #expect(try await !vault.fsck().isClean)
        // It was moved away, so what is looked for now is missing.
        #expect(throws: VaultError.coded(.objectMissing)) { try vault.read(path) { _ in } }
        #expect(try vault.contents(of: try VaultPath("other")).count == ObjectStore.inlineLimit + 1)
    }
}
