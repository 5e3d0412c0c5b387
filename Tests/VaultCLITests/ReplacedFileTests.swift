import Testing
import VaultSystem
import VaultTestSupport

@testable import VaultCLI

/// A link or a special file in the place of a tracked file: the format holds neither, so that the file keeps its entry (spec 03
/// §5), and every verb says the same of it.
@Suite("Tracked files that something else replaced")
struct ReplacedFileTests {
    @Test(
        "are left out, kept, and named by what would have to replace them",
        arguments: ["ln -s /etc/hostname k", "mkfifo k"])
    func story(replace: String) async throws {
        let tool = try Tool()
        _ = await tool.run("init", "-q", "v")
        tool.directory = tool.directory.appending(component: "v")
        try tool.write([1], to: "v/k")
        _ = await tool.run("commit", "-q", "-m", "one")
        try tool.write([2], to: "v/k")
        _ = await tool.run("commit", "-q", "-m", "two")
        try Shell.run("cd \(tool.directory.text) && rm k && \(replace)")

        let status = await tool.run("status")
        #expect(status.text.contains("Left out of commits:\n  ? k\n") && !status.text.contains("Changes:"))
        #expect(await tool.run("commit", "-m", "x").text.contains("Nothing"))
        #expect(await tool.run("stash", "push").text.contains("Nothing"))
        for words in [["restore", "k"], ["restore", "--discard", "k"]] {
            let restore = await tool.run(words.map { Array($0.utf8) })
            #expect(restore.code == 9)
            #expect(restore.text.contains("Kept, because no plain file stands there (move away what does):\n M k\n"))
            #expect(!restore.text.contains("--discard overwrites"))
        }
        let reset = await tool.run("reset", "--hard", "-y", "HEAD~1")
        #expect(reset.code == 9)
        #expect(reset.error.contains("a link or a special file, which no commit holds, is in the way: k"))
        #expect(reset.error.contains("hint: move it away\n") && !reset.error.contains("commit it"))
        try Shell.run("cd \(tool.directory.text) && mv k ../k")
        #expect(await tool.run("restore", "k").code == 0)
        #expect(try tool.read("v/k") == [2])
    }
}
