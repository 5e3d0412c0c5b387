import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

/// The last column of the table of spec 05 §16.
@Suite("Requests that a command takes")
struct RequestCountTests {
    private func portions(_ count: Int) -> Int { (count + 49) / 50 }

    @Test func `are no more than they have to be`() async throws {
        let scene = try WebScene()
        let first = try scene.create("a")
        for number in 0..<120 { try scene.files.put("\(number)", at: "d\(number % 3)/f\(number)", in: "a") }
        _ = try first.commit(CommitOptions(message: "many"))

        var remote = try scene.remote()
        let created = try await first.push(to: remote)
        // Index, key and clone ref travel with the named ref, which is then read back.
        #expect(remote.requests <= 1 + portions(created.objects + 4) + 1)

        remote = try scene.remote()
        #expect(try await first.push(to: remote).outcome == .upToDate)
        #expect(remote.requests == 1)

        remote = try scene.remote()
        #expect(try await first.pull(from: remote).outcome == .upToDate)
        #expect(remote.requests == 1)

        remote = try scene.remote()
        let cloned = try await scene.clone("b", from: remote)
        #expect(remote.requests <= 2 + portions(cloned.objects + 3))

        remote = try scene.remote()
        let second = try scene.commit("new", at: "d0/f0", in: "b")
        let unregistered = try await second.push(to: remote)
        #expect(remote.requests <= 1 + portions(unregistered.objects + 4) + 1)

        remote = try scene.remote()
        try scene.commit("newer", at: "d0/f0", in: "b")
        let registered = try await second.push(to: remote)
        #expect(remote.requests <= 1 + portions(registered.objects + 1) + 1)

        remote = try scene.remote()
        #expect(try await first.pull(from: remote).outcome == .fastForward)
        // State, two commits one after the other, the new signer's key, root and folder of both, the contents.
        #expect(remote.requests <= 1 + 2 + 1 + 2 + 1)

        remote = try scene.remote()
        try scene.commit("newest", at: "d0/f0", in: "b")
        _ = try await second.push(to: try scene.remote())
        _ = try await first.pull(from: remote)
        #expect(remote.requests <= 1 + 1 + 2 + 1)
    }

    @Test func `carry what they should and nothing else`() async throws {
        let scene = try WebScene("--token tok")
        let token = try HTTPSecret.of("tok")
        let vault = try scene.create("a")
        _ = try await vault.push(to: try scene.remote { $0.token = token })
        let text = try scene.files.keys.write.hex()
        let writeKey = text.withBytes { bytes in String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self) }
        let seen = try await scene.server.log()
        #expect(seen.count == 3)
        for request in seen {
            #expect(request.headers["x-sgraph-access-token"] == "tok")
            #expect(request.headers["x-api-key"] == "tok")
            #expect(request.headers["accept-encoding"] == "identity")
            #expect(request.headers["user-agent"]?.hasPrefix("vaultctl") == true)
            #expect(request.headers["content-type"] == "application/json")
            #expect(request.headers["cookie"] == nil && request.headers["authorization"] == nil)
            #expect(request.headers["expect"] == nil)
        }
        #expect(seen[0].headers["x-sgraph-vault-write-key"] == nil)
        #expect(seen[1].headers["x-sgraph-vault-write-key"] == writeKey)
    }

    @Test func `a wrong or missing token is told apart`() async throws {
        let scene = try WebScene("--token tok")
        let vault = try scene.create("a")
        await #expect(throws: VaultError(.tokenMissing, "")) { try await vault.push(to: try scene.remote()) }
        let wrong = try HTTPSecret.of("no")
        await #expect(throws: VaultError(.tokenRefused, "")) {
            try await vault.push(to: try scene.remote { $0.token = wrong })
        }
    }
}
