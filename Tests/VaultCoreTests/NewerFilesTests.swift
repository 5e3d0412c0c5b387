import Testing
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// Files below `local/vaultctl` that a newer version may have left there.
@Suite("Files of a newer version")
struct NewerFilesTests {
    private let keys: SceneKeys
    private let scene: VaultScene
    private static let own = "a/.sg_vault/local/vaultctl"

    init() async throws {
        keys = try SceneKeys.shared()
        scene = VaultScene(keys: keys, on: InMemoryFileSystem(clock: VaultScene.clock), seed: 1)
        let vault = try scene.create("a")
        try scene.put("one", at: "one.txt", in: "a")
        _ = try vault.commit()
        _ = try await vault.push(to: scene.remote())
        _ = try await vault.push(to: elsewhere)
        try scene.put("two", at: "two.txt", in: "a")
    }

    private var elsewhere: FolderRemote {
        FolderRemote(path: scene.path("copy"), vaultID: keys.vaultID, environment: scene.environment)
    }

    private func files() throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        try VaultScene.collect(try scene.fileSystem.openDirectory(FilePath("/" + Self.own)), behind: "", into: &found)
        return found
    }

    /// What each verb throws, by name; a verb that succeeds is not listed.
    private func verbs() async throws -> [String: VaultError] {
        var refusals: [String: VaultError] = [:]
        func note(_ name: String, _ verb: () async throws -> Void) async throws {
            do { try await verb() } catch let error as VaultError { refusals[name] = error }
        }
        let (scene, remote) = (scene, scene.remote())
        try await note("status") { _ = try scene.open("a").status() }
        try await note("log") { _ = try scene.history(scene.open("a")) }
        try await note("fetch") { _ = try await scene.open("a").fetch(from: remote) }
        try await note("pull") { _ = try await scene.open("a").pull(from: remote) }
        try await note("commit") { _ = try scene.open("a").commit(CommitOptions(message: "second")) }
        try await note("push") { _ = try await scene.open("a").push(to: remote) }
        // What was accepted from a remote that is not the recorded one has a record of its own.
        try await note("fetch elsewhere") { _ = try await scene.open("a").fetch(from: elsewhere) }
        return refusals
    }

    @Test("files and folders of unknown names are left alone, whatever they hold")
    func unknownNames() async throws {
        let names = ["future.json": "{\"v\":9}", "lock2": "", "quarantine2": "\u{0}\u{1}", "tmp2": "t-"]
        for (name, content) in names { try scene.put(content, at: ".sg_vault/local/vaultctl/\(name)", in: "a") }
        try scene.put("x", at: ".sg_vault/local/vaultctl/future/deep/file", in: "a")
        let refused = try await verbs()
        #expect(refused.isEmpty, "\(refused)")
        #expect(try await scene.open("a").fsck().isClean)
        let found = try files()
        for (name, content) in names { #expect(found[name] == Array(content.utf8)) }
        #expect(found["future/deep/file"] == Array("x".utf8))
    }

    @Test(
        "a record of a newer version is refused by its name, and stays as it is",
        arguments: [
            ("config.json", "commit"), ("not-stored.json", "status"), ("journal", "commit"), ("stashing", "commit"),
            ("baselines.json", "fetch elsewhere"),
        ])
    func newerRecords(name: String, verb: String) async throws {
        let content = "{\"v\":2,\"verb\":\"pull\",\"remotes\":[]}"
        try scene.put(content, at: ".sg_vault/local/vaultctl/\(name)", in: "a")
        let refused = try await verbs()
        #expect(refused[verb] != nil)
        for (verb, error) in refused {
            #expect(error.code == .formatUnsupported, "\(verb): \(error)")
            #expect(error.message.contains("local/vaultctl/\(name)"), "\(verb): \(error)")
        }
        #expect(try files()[name] == Array(content.utf8))
    }

    @Test("no verb changes anything beside a record that it could not write", arguments: OwnRecord.all.map(\.name))
    func nothingIsChanged(name: String) async throws {
        let before = try scene.open("a").status().head
        let content = "{\"v\":99,\"future\":1}"
        try scene.put(content, at: ".sg_vault/local/vaultctl/\(name)", in: "a")
        for _ in 0..<2 {
            for (verb, error) in try await verbs() {
                #expect(error.code == .formatUnsupported, "\(verb): \(error)")
                #expect(error.message.contains("local/vaultctl/\(name)"), "\(verb): \(error)")
            }
            // The settings are written by `config` alone, and read by those that need one.
            if name == CloneSettings.fileName { continue }
            for verb in [
                { _ = try scene.open("a").reset(to: "HEAD~1") }, { _ = try scene.open("a").undo() },
                { _ = try scene.open("a").revert("HEAD") }, { _ = try scene.open("a").createBranch("topic") },
            ] as [() throws -> Void] {
                #expect(throws: VaultError(.formatUnsupported, "")) { try verb() }
            }
        }
        #expect(try files()[name] == Array(content.utf8))
        let vault = try scene.open("a")
        #expect(try vault.refs.commit(of: vault.loadState().headRef) == before)
    }

    @Test(
        "what only saves time or a look is refused by its name or made anew",
        arguments: ["seen.json", "own-head.json", "stat-cache", "derived-keys"])
    func newerCaches(name: String) async throws {
        for content in ["{\"v\":2}", "vctlkey3 and what follows", "vctlstat9 and what follows"] {
            try scene.put(content, at: ".sg_vault/local/vaultctl/\(name)", in: "a")
            for (verb, error) in try await verbs() {
                #expect(error.code == .formatUnsupported, "\(verb): \(error)")
                #expect(error.message.contains("local/vaultctl/\(name)"), "\(verb): \(error)")
            }
            if name == "seen.json", content.hasPrefix("{") {
                // It is not written over, and what it says of the remote is not guessed.
                #expect(throws: VaultError(.formatUnsupported, "")) { try scene.open("a").status() }
            } else {
                #expect(try scene.open("a").status().head != nil)
            }
            #expect(try scene.committedFiles(scene.open("a"))["one.txt"] == Array("one".utf8))
        }
    }
}
