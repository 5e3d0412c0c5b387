import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("serve backup")
struct ServeBackupTests {
    private let tool: Tool
    private let hash = String(repeating: "b", count: 64)

    init() throws {
        tool = try Tool()
        try tool.folder.open().createDirectory(Array("vaults".utf8), mode: 0o700)
    }

    private func vault(_ name: String) throws -> ServedVault {
        ServedVault(
            path: tool.folder.appending("vaults").appending(component: name), vaultID: try VaultID(name),
            environment: .production())
    }

    private func write(_ name: String, _ file: String, _ bytes: [UInt8]) throws {
        let path = try #require(StorePath(file))
        try vault(name).write(ownerHash: hash) { writer in try writer.publish([path: writer.stage(bytes)]) }
    }

    private func backup() async throws -> (code: Int32, vaults: [String], failed: [String]) {
        let outcome = await tool.run("serve", "backup", "--root", "vaults", "copies", "--json")
        let bytes = outcome.output
        let document = try JSONReader.parse(bytes.span)
        return (
            outcome.code,
            (document["vaults"]?.items ?? []).map { "\($0["vault_id"]?.text ?? "") \($0["files"]?.int ?? -1)" },
            (document["failed"]?.items ?? []).map { "\($0["vault_id"]?.text ?? "") \($0["code"]?.text ?? "")" }
        )
    }

    @Test func `copies vaults, and of a destroyed one the record that keeps its id unused`() async throws {
        try write("vault001", "bare/data/x", [1, 2, 3])
        try write("vault002", "bare/data/x", [4])
        #expect(try vault("vault002").destroy(ownerHash: hash) > 0)
        // Nothing in them, and nothing to tell.
        try tool.folder.open().openDirectory(Array("vaults".utf8)).createDirectory(Array("vault005".utf8), mode: 0o700)
        try tool.write([1], to: "vaults/vault006")
        let answer = try await backup()
        #expect(answer.code == 0)
        #expect(answer.vaults == ["vault001 1", "vault002 0"])
        #expect(answer.failed == [])
        #expect(try tool.read("copies/vault001/bare/data/x") == [1, 2, 3])
        let record = try tool.read("copies/vault002/.vaultctl/owner.json")
        #expect(try JSONReader.parse(record.span)["destroyed_at"] != nil)
        let copy = ServedVault(
            path: tool.folder.appending("copies").appending(component: "vault002"), vaultID: try VaultID("vault002"),
            environment: .production())
        #expect(try copy.owner() == .destroyed)
    }

    @Test func `tells what it leaves out: files without an owner, and links`() async throws {
        try write("vault001", "bare/data/x", [1, 2, 3])
        try tool.write([9], to: "vaults/vault003/bare/data/x")
        try Shell.run("ln -s vault001 '\(tool.folder.path.text)/vaults/vault004'")
        let answer = try await backup()
        #expect(answer.code == 10)
        #expect(answer.vaults == ["vault001 1"])
        #expect(answer.failed == ["vault003 refused", "vault004 refused"])
        #expect(throws: Errno.noSuchFile) { try tool.read("copies/vault003/bare/data/x") }
        #expect(throws: Errno.noSuchFile) { try tool.read("copies/vault004/bare/data/x") }
    }

    @Test func `refuses to copy into the folder that is served, also through a link`() async throws {
        try write("vault001", "bare/data/x", [1, 2, 3])
        try Shell.run("ln -s vaults '\(tool.folder.path.text)/elsewhere'")
        for destination in ["vaults", "vaults/copies", "vaults/../vaults/monday", "elsewhere/monday"] {
            let outcome = await tool.run("serve", "backup", "--root", "vaults", destination)
            #expect(outcome.code == 9, "\(destination)")
            #expect(outcome.error.contains("lies in the folder of --root"), "\(destination)")
        }
        let names = try tool.folder.open().openDirectory(Array("vaults".utf8)).entries().map(\.name)
        #expect(names == [Array("vault001".utf8)])
    }

    @Test func `a vault whose copy is there already fails alone`() async throws {
        try write("vault001", "bare/data/x", [1])
        try write("vault002", "bare/data/x", [2])
        try tool.write([7], to: "copies/vault001/bare/data/y")
        let answer = try await backup()
        #expect(answer.code == 10)
        #expect(answer.vaults == ["vault002 1"])
        #expect(answer.failed == ["vault001 directory_not_empty"])
        #expect(try tool.read("copies/vault001/bare/data/y") == [7])
    }
}
