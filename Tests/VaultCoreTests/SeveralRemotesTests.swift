import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// One clone, several places to publish to: each is judged by what was accepted from it and by nothing else.
@Suite("Several remotes of one clone")
struct SeveralRemotesTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        (setting, first) = try await TwoClones.published()
    }

    private func elsewhere(_ name: String) throws -> FolderRemote {
        FolderRemote(
            path: setting.folder.appending(name), vaultID: try setting.vaultID(), environment: setting.environment)
    }

    /// Puts a copy of a folder in the place of another.
    private func replace(_ name: String, by other: String) throws {
        try Shell.run("cd '\(setting.folder.path.text)' && rm -rf \(name) && cp -a \(other) \(name)")
    }

    private func commit(_ text: String) throws -> ObjectID? {
        try setting.write(text, to: "f", in: "a")
        return try first.commit().commit?.id
    }

    @Test func `a second place is published to in full, whether or not it exists`() async throws {
        try setting.environment.fileSystem.createDirectory(setting.folder.appending("empty"), mode: 0o755)
        for name in ["empty", "new"] {
            let pushed = try await first.push(to: try elsewhere(name))
            #expect(pushed.outcome == .created)
            #expect(pushed.commits == 2)
            var options = CloneOptions()
            options.server = setting.folder.appending(name).text
            _ = try await Vault.clone(
                from: try elsewhere(name), key: try setting.cloneKey(options),
                to: setting.folder.appending("of \(name)"), options: options, environment: setting.environment,
                observer: SilentObserver())
            #expect(setting.read("f", in: "of \(name)") == "one")
        }
    }

    @Test func `a push elsewhere says nothing about the recorded place`() async throws {
        let head = try commit("two")
        _ = try await first.push(to: try elsewhere("backup"))
        let state = try first.status().remote
        #expect(state.relation == .ahead)
        #expect(state.ahead == 1)
        #expect(try await first.push(to: try setting.remote()).new == head)
    }

    @Test func `each place that goes back is refused by its own record`() async throws {
        _ = try await first.push(to: try elsewhere("backup"))
        try replace("old", by: "backup")
        _ = try commit("two")
        _ = try await first.push(to: try elsewhere("backup"))
        try replace("backup", by: "old")
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.pull(from: try elsewhere("backup")) }
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try elsewhere("backup")) }
        // The recorded place never had the second commit: it did not go back.
        #expect(try await first.push(to: try setting.remote()).outcome == .pushed)
        #expect(
            try await first.pull(from: try elsewhere("backup"), PullOptions(acceptRewind: true)).outcome
                == .fastForward)
    }

    @Test func `a remote at exactly this head is refused when it went back to it`() async throws {
        let old = try #require(try first.status().head)
        try replace("old", by: "remote")
        _ = try commit("two")
        _ = try await first.push(to: try setting.remote())
        try replace("remote", by: "old")
        do {
            let lock = try first.lock()
            let state = try first.loadState()
            try first.moveRef(state.headRef, from: state.head, to: old, scratch: lock.scratch)
        }
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try setting.remote()) }
    }

    @Test func `what was accepted follows the choice of the default remote`() async throws {
        let backup = setting.folder.appending("backup").text
        _ = try await first.push(to: try elsewhere("backup"))
        try replace("old", by: "backup")
        _ = try commit("two")
        _ = try await first.push(to: try elsewhere("backup"))
        try first.addRemote(name: "main", url: setting.remotePath.text, isDefault: true)
        try first.addRemote(name: "backup", url: backup, isDefault: false)
        try first.setDefaultRemote(name: "backup")
        try replace("backup", by: "old")
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try elsewhere("backup")) }
        #expect(try await first.push(to: try setting.remote()).outcome == .pushed)
        try first.setDefaultRemote(name: "main")
        #expect(try await first.push(to: try setting.remote()).outcome == .upToDate)
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try elsewhere("backup")) }
        try replace("remote", by: "old")
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try setting.remote()) }
    }

    @Test func `a remote that moved to another address is still the same remote`() async throws {
        try first.addRemote(name: "main", url: setting.remotePath.text, isDefault: true)
        try replace("old", by: "remote")
        _ = try commit("two")
        _ = try await first.push(to: try setting.remote())
        try first.setRemoteURL(name: "main", url: setting.folder.appending("old").text)
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try elsewhere("old")) }
    }

    @Test func `a move to a place that is known is judged by what was accepted there`() async throws {
        let backup = setting.folder.appending("backup").text
        try first.addRemote(name: "main", url: setting.remotePath.text, isDefault: true)
        try replace("old", by: "remote")
        _ = try commit("two")
        _ = try await first.push(to: try elsewhere("backup"))
        try first.setRemoteURL(name: "main", url: backup)
        try replace("backup", by: "old")
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try elsewhere("backup")) }
    }

    @Test func `what a clone without a server accepted is kept when one is recorded`() async throws {
        try replace("old", by: "remote")
        _ = try commit("two")
        _ = try await first.push(to: try setting.remote())
        let local = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/local".utf8)))
        try local.removeFile(Array("base_url".utf8))
        try first.addRemote(name: "main", url: setting.remotePath.text, isDefault: true)
        try replace("remote", by: "old")
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try setting.remote()) }
    }

    @Test(arguments: ["{\"v\":1", "{\"v\":2,\"remotes\":{}}"])
    func `a record of other places that does not read is never replaced on the way`(content: String) async throws {
        _ = try await first.push(to: try elsewhere("backup"))
        try first.addRemote(name: "main", url: setting.remotePath.text, isDefault: true)
        try first.addRemote(name: "backup", url: setting.folder.appending("backup").text, isDefault: false)
        let own = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/local/vaultctl".utf8)))
        try own.removeFile(Array("baselines.json".utf8))
        try own.createFile(Array("baselines.json".utf8), mode: 0o600).write(Array(content.utf8).span)
        #expect(throws: VaultError.self) { try first.setDefaultRemote(name: "backup") }
        #expect(try own.readFileIfPresent(Array("baselines.json".utf8), limit: 1000) == Array(content.utf8))
    }

    @Test func `a commit that another place has is not amended`() async throws {
        _ = try commit("two")
        _ = try await first.push(to: try elsewhere("backup"))
        let own = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/local/vaultctl".utf8)))
        try own.removeTree(Array("seen.json".utf8))
        #expect(throws: VaultError.self) { try first.commit(CommitOptions(message: "again", amend: true)) }
    }

    @Test func `spellings of one folder are one place`() throws {
        let files = setting.environment.fileSystem
        let root = setting.folder.path
        let plain = RemotePlace(address: root.text + "/remote", root: root, fileSystem: files)
        try Shell.run("ln -s remote '\(root.text)/link'")
        for text in [
            root.text + "/remote/", "file://" + root.text + "/remote", "file://localhost" + root.text + "/%72emote",
            "remote", "./remote", "a/../remote", root.text + "//remote/.", "link", "a/../link/",
        ] {
            #expect(RemotePlace(address: text, root: root, fileSystem: files) == plain, "\(text)")
        }
        let absent = RemotePlace(address: root.text + "/none/yet", root: root, fileSystem: files)
        #expect(RemotePlace(address: "none/yet/", root: root, fileSystem: files) == absent)
        #expect(absent != plain)
        let url = RemotePlace(address: "https://host.example/a", root: root, fileSystem: files)
        #expect(RemotePlace(address: "HTTPS://Host.Example/a/", root: root, fileSystem: files) == url)
        #expect(RemotePlace(address: "https://host.example/A", root: root, fileSystem: files) != url)
    }

    @Test func `a branch that is gone is told as gone, taken when wished, and published again`() async throws {
        try setting.environment.fileSystem.openDirectory(setting.remotePath).openDirectory(Array("bare".utf8))
            .removeTree(Array("refs".utf8))
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.pull(from: try setting.remote()) }
        let fetched = try await first.fetch(from: try setting.remote())
        #expect(fetched.refs.map(\.isRewind) == [true])
        #expect(try first.status().remote.relation == .absent)
        let pulled = try await first.pull(from: try setting.remote(), PullOptions(acceptRewind: true))
        #expect(pulled.outcome == .absent)
        #expect(setting.read("f", in: "a") == "one")
        #expect(try await first.push(to: try setting.remote()).new == pulled.new)
        #expect(try first.status().remote.relation == .upToDate)
    }

    @Test func `a fetch tells a branch that went back from one that moved on`() async throws {
        try replace("old", by: "remote")
        _ = try commit("two")
        _ = try await first.push(to: try setting.remote())
        #expect(try await first.fetch(from: try setting.remote()).refs.map(\.isRewind) == [false])
        try replace("remote", by: "old")
        #expect(try await first.fetch(from: try setting.remote()).refs.map(\.isRewind) == [true])
    }

    @Test func `a damaged record of other places is refused, and renewed by an accepted rewind`() async throws {
        _ = try await first.push(to: try elsewhere("backup"))
        let own = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/local/vaultctl".utf8)))
        try own.removeFile(Array("baselines.json".utf8))
        try own.createFile(Array("baselines.json".utf8), mode: 0o600).write(Array("{\"v\":1".utf8).span)
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.push(to: try elsewhere("backup")) }
        _ = try await first.pull(from: try elsewhere("backup"), PullOptions(acceptRewind: true))
        #expect(try await first.push(to: try elsewhere("backup")).outcome == .upToDate)
    }
}
