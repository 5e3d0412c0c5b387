import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// The server that is recorded without a name is the remote `origin`, and stays the same remote under any name.
@Suite("The remote 'origin'")
struct OriginRemoteTests {
    private let setting: TwoClones
    private let vault: Vault

    init() async throws {
        setting = try TwoClones()
        vault = try setting.create("a")
        _ = try await vault.push(to: try setting.remote())
        try Shell.run("cd '\(setting.folder.path.text)' && cp -a remote old")
        try setting.write("two", to: "f", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: try setting.remote())
    }

    private func listed() throws -> [String] {
        try vault.remotes().map { ($0.isDefault ? "*" : "") + $0.name }
    }

    private func baseURL() -> String? {
        let path = setting.folder.appending("a").appending(relative: Array(".sg_vault/local/base_url".utf8))
        return (try? setting.environment.fileSystem.readFile(path, limit: 4096)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private func rewind() throws {
        try Shell.run("cd '\(setting.folder.path.text)' && rm -rf remote && cp -a old remote")
    }

    @Test func `a new name moves it into the list, with what was accepted from it`() async throws {
        #expect(try listed() == ["*origin"])
        try vault.renameRemote("origin", to: "home")
        #expect(try listed() == ["*home"] && baseURL() == nil)
        #expect(try await vault.push(to: try setting.remote()).outcome == .upToDate)
        try rewind()
        await #expect(throws: VaultError.coded(.refRewound)) { try await vault.push(to: try setting.remote()) }
    }

    @Test func `a new address keeps what was accepted`() async throws {
        try vault.setRemoteURL(name: "origin", url: setting.folder.appending("old").text)
        #expect(try listed() == ["*origin"])
        #expect(baseURL() == setting.folder.appending("old").text)
        let moved = FolderRemote(
            path: setting.folder.appending("old"), vaultID: try setting.vaultID(), environment: setting.environment)
        await #expect(throws: VaultError.coded(.refRewound)) { try await vault.push(to: moved) }
    }

    @Test func `the choice of another default and back keeps what was accepted`() async throws {
        try vault.addRemote(name: "usb", url: setting.folder.appending("usb").text, isDefault: true)
        #expect(try listed() == ["origin", "*usb"])
        #expect(try vault.recordedServer() == setting.folder.appending("usb").text)
        try rewind()
        await #expect(throws: VaultError.coded(.refRewound)) { try await vault.push(to: try setting.remote()) }
        try vault.setDefaultRemote(name: "origin")
        #expect(try listed() == ["*origin", "usb"])
        await #expect(throws: VaultError.coded(.refRewound)) { try await vault.push(to: try setting.remote()) }
    }

    @Test func `its name is taken, and free once it is removed`() throws {
        let address = setting.remotePath.text
        #expect(throws: VaultError.coded(.nameTaken)) {
            try vault.addRemote(name: "origin", url: address, isDefault: false)
        }
        try vault.addRemote(name: "usb", url: address, isDefault: false)
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.renameRemote("usb", to: "origin") }
        #expect(throws: VaultError.coded(.nameTaken)) { try vault.renameRemote("origin", to: "usb") }
        #expect(throws: VaultError.coded(.usage)) { try vault.renameRemote("origin", to: "no name") }
        #expect(try listed() == ["*origin", "usb"])
        try vault.removeRemote(name: "origin")
        #expect(try listed() == ["usb"])
        #expect(try vault.recordedServer() == nil && baseURL() == nil)
        try vault.renameRemote("usb", to: "origin")
        #expect(try listed() == ["origin"])
    }

    @Test func `a saved remote of this name hides the server without a name from the list, not from use`() throws {
        try vault.removeRemote(name: "origin")
        try vault.addRemote(name: "other", url: "/other", isDefault: true)
        try vault.addRemote(name: "origin", url: "/saved", isDefault: false)
        try vault.removeRemote(name: "other")
        try vault.setServer("/plain")
        #expect(try listed() == ["origin"])
        #expect(try vault.recordedServer() == "/plain")
        #expect(try vault.status().remote.url == "/plain")
    }
}
