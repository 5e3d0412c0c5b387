import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

@Suite("A published vault on a host of files")
struct StaticHostTests {
    /// A folder given by a plain file server.
    private struct Host {
        let url: String
        private let server: LoopbackServer

        init(_ folder: FilePath) throws {
            let program = """
                import functools, http.server, os, sys, threading
                handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
                server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
                open(sys.argv[2] + ".new", "w").write(str(server.server_address[1]))
                os.replace(sys.argv[2] + ".new", sys.argv[2])
                threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
                server.serve_forever()
                """
            server = try LoopbackServer { "python3 -c '\(program)' '\(folder.text)' \($0)" }
            url = "http://127.0.0.1:" + server.port
        }
    }

    @Test(arguments: ["flat", "api"], [true, false])
    func `is cloned and pulled from, in either layout, with or without a manifest`(
        layout: String, hasManifest: Bool
    ) async throws {
        let scratch = try TemporaryFolder("static")
        let scene = VaultScene(
            keys: try SceneKeys.shared(), on: LinuxFileSystem(), base: scratch.path, seed: 3, clock: SystemClock())
        let vault = try scene.create("a")
        try scene.put([UInt8](repeating: 7, count: 5 << 20), at: "large", in: "a")
        try scene.put("text", at: "d/file", in: "a")
        _ = try vault.commit(CommitOptions(message: "one"))
        _ = try await vault.push(to: scene.remote())
        let site = scratch.appending("site").text
        let place = layout == "flat" ? site : "\(site)/api/vault/read/\(scene.keys.vaultID.text)"
        func publish() throws {
            try Shell.run(
                "rm -rf '\(site)' && mkdir -p '\(place)' && cp -r '\(scene.remotePath.text)/bare' '\(place)/'")
            guard hasManifest else { return }
            try Shell.run(
                "cd '\(place)' && { printf '{\"objects\":['; find bare -type f -printf '{\"file_id\":\"%p\"},'; "
                    + "printf '{}]}'; } > '\(site)/manifest.json'")
        }
        try publish()
        let host = try Host(FilePath(site))
        func remote() throws -> HTTPRemote {
            try .test(host.url, scene.keys.vaultID, environment: scene.environment)
        }
        let result = try await Vault.clone(
            from: try remote(), key: scene.keys.clone, to: scene.path("b"), options: CloneOptions(server: host.url),
            environment: scene.environment, observer: SilentObserver())
        #expect(result.commits == 2)
        #expect(try scene.workingFiles("b") == scene.workingFiles("a"))
        try scene.put("newer", at: "d/file", in: "a")
        _ = try vault.commit(CommitOptions(message: "two"))
        _ = try await vault.push(to: scene.remote())
        try publish()
        let other = try scene.open("b")
        _ = try await other.pull(from: try remote())
        #expect(try scene.workingFiles("b") == scene.workingFiles("a"))
        try scene.put("mine", at: "mine", in: "b")
        _ = try other.commit(CommitOptions(message: "mine"))
        await #expect(throws: VaultError(.readOnlyRemote, "")) { try await other.push(to: try remote()) }
    }

    @Test func `is not any host that has no vault`() async throws {
        let scratch = try TemporaryFolder("static")
        let site = scratch.appending("site")
        try Shell.run("mkdir -p '\(site.text)'")
        let host = try Host(site)
        let remote = try HTTPRemote.test(host.url, try VaultID("abcd1234"))
        await #expect(throws: VaultError(.serverError, "")) {
            try await remote.readAll([.ref(try RefID("ref-pid-muw-000000000001"))])
        }
    }

    @Test(arguments: [["refs", "indexes"], ["refs"]])
    func `that lists files which it does not have is incomplete, and its key is not called wrong`(
        absent: [String]
    ) async throws {
        let scratch = try TemporaryFolder("static")
        let scene = VaultScene(
            keys: try SceneKeys.shared(), on: LinuxFileSystem(), base: scratch.path, seed: 3, clock: SystemClock())
        _ = try await scene.create("a").push(to: scene.remote())
        let site = scratch.appending("site")
        try Shell.run(
            "cp -r '\(scene.remotePath.text)' '\(site.text)' && cd '\(site.text)' && { printf '{\"objects\":['; "
                + "find bare -type f -printf '{\"file_id\":\"%p\"},'; printf '{}]}'; } > manifest.json")
        for folder in absent { try Shell.run("rm -r '\(site.text)/bare/\(folder)'") }
        let host = try Host(site)
        let error = try await #require(throws: VaultError.self) {
            try await Vault.clone(
                from: try HTTPRemote.test(host.url, scene.keys.vaultID, environment: scene.environment),
                key: scene.keys.clone, to: scene.path("b"), options: CloneOptions(server: host.url),
                environment: scene.environment, observer: SilentObserver())
        }
        #expect(error.code == .objectMissing)
        #expect(error.object?.hasPrefix("bare/\(absent.last ?? "")/") == true, "\(error)")
    }
}
