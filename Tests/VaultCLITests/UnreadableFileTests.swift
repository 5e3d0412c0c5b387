import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

@Suite("Files that can not be read")
struct UnreadableFileTests {
    /// A vault in which the files of these names refuse to be opened, whoever runs the tests.
    private func vault(closing names: Set<[UInt8]>) async throws -> (Tool, FaultFileSystem) {
        let tool = try Tool()
        let fileSystem = FaultFileSystem(LinuxFileSystem())
        tool.fileSystem = fileSystem
        _ = await tool.run("init", "-q", "v")
        try tool.write([1], to: "v/known.txt")
        tool.directory = tool.directory.appending(component: "v")
        _ = await tool.run("commit", "-q", "-m", "first")
        fileSystem.close(names)
        return (tool, fileSystem)
    }

    @Test("an untracked one is shown by status and named by commit, with both ways out")
    func untracked() async throws {
        let (tool, _) = try await vault(closing: [Array("secret.db".utf8)])
        try tool.write([1], to: "v/data/secret.db", mode: 0o600)
        let status = await tool.run("status")
        #expect(status.code == 0)
        #expect(status.text.contains("Can not be read:\n  ? data/secret.db\n"))
        #expect(!status.text.contains("Nothing to commit") && !status.text.contains("A data"))
        #expect(await tool.run("status", "--json").text.contains(#"{"path":"data/secret.db","reason":"unreadable"}"#))
        let commit = await tool.run("commit", "-m", "x")
        #expect(commit.code == 12)
        #expect(commit.error.hasPrefix("vaultctl: data/secret.db can not be read"))
        #expect(commit.error.contains("hint: make it readable (chmod u+r), or list it in .gitignore\n"))
        try tool.write([1], to: "v/other.txt")
        #expect(await tool.run("commit", "-q", "-m", "the rest", "other.txt").code == 0)
        try tool.write(Array("secret.db\n".utf8), to: "v/.gitignore")
        #expect(await tool.run("commit", "-q", "-m", "without it").code == 0)
        #expect(await tool.run("ls", "-r").text == ".gitignore\nknown.txt\nother.txt\n")
    }

    @Test("a tracked one can only be made readable, and is never taken for deleted")
    func tracked() async throws {
        let (tool, _) = try await vault(closing: [Array("known.txt".utf8)])
        try tool.write([2], to: "v/known.txt")
        let commit = await tool.run("commit", "-m", "x")
        #expect(commit.code == 12)
        #expect(commit.error.contains("known.txt can not be read"))
        #expect(commit.error.contains("chmod u+r") && !commit.error.contains(".gitignore"))
        #expect(await tool.run("status", "-s").text == "? known.txt\n")
        try tool.write([2, 3], to: "v/known.txt", mode: 0o600)
        #expect(await tool.run("status", "-s").text == "? known.txt\n")
        #expect(!(await tool.run("commit", "-m", "x").error.contains(".gitignore")))
    }
}
