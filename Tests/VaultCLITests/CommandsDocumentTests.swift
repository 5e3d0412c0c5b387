import Testing
import VaultSystem

@testable import VaultCLI

@Suite("docs/commands.md")
struct CommandsDocumentTests {
    @Test("is what 'vaultctl help --markdown' prints; 'make docs' writes it anew")
    func current() async throws {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        let path = FilePath(parts.dropLast(3).joined(separator: "/") + "/docs/commands.md")
        let written = try LinuxFileSystem().readFile(path, limit: 1 << 20)
        let printed = try await Tool().run("help", "--markdown").text
        #expect(printed == String(decoding: written, as: UTF8.self))
    }
}
