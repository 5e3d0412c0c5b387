import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// A folder that is no longer tracked, and the rule that says so.
@Suite("Ignoring a tracked folder")
struct UntrackTests {
    private let setting: TwoClones
    private let vault: Vault
    private var root: FilePath { setting.folder.appending("a") }

    init() throws {
        setting = try TwoClones()
        vault = try setting.create("a")
        try LinuxFileSystem().openDirectory(setting.folder.appending("a")).createDirectory(Array("d".utf8), mode: 0o755)
        try setting.write("one", to: "d/f", in: "a")
        try setting.write("*.log\n", to: ".gitignore", in: "a")
        try LinuxFileSystem().openDirectory(root).openFile(Array(".gitignore".utf8)).setMode(0o600)
        _ = try vault.commit()
    }

    @Test func `keeps the mode of .gitignore and adds one line`() throws {
        _ = try vault.untrackFolder(VaultPath("d"))
        #expect(setting.read(".gitignore", in: "a") == "*.log\nd/\n")
        let status = try LinuxFileSystem().openDirectory(root).status(of: Array(".gitignore".utf8))
        #expect(status.mode & 0o777 == 0o600)
        #expect(setting.read("d/f", in: "a") == "one")
        #expect(try vault.status().isClean)
    }

    @Test func `leaves what was written into .gitignore meanwhile, and the head`() throws {
        let head = try vault.loadState().head
        let setting = setting
        let slow = try setting.open("a", at: .checkoutBeforeFirst) { _ in
            try setting.write("*.log\n*.tmp\n", to: ".gitignore", in: "a")
        }
        #expect(throws: VaultError.self) { try slow.untrackFolder(VaultPath("d")) }
        #expect(setting.read(".gitignore", in: "a") == "*.log\n*.tmp\n")
        #expect(try vault.loadState().head == head)
    }
}
