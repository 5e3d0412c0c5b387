import Testing
import VaultCore
import VaultFormat
import VaultTestSupport

@testable import VaultHTTP

@Suite("A server as a remote")
struct RemoteConformanceTests {
    private func id(_ text: String = "abcd1234") throws -> VaultID { try VaultID(text) }

    @Test(arguments: [[], ["--presigned"], ["--ranges"]])
    func `it conforms`(options: [String]) async throws {
        let server = try StandIn(options.joined(separator: " "))
        let id = try id()
        try await RemoteConformance(vaultID: id) { try HTTPRemote.test(server.url, id) }.runAll()
    }

    @Test func `of several first writers one wins`() async throws {
        let server = try StandIn()
        for round in 0..<10 {
            let id = try id("first\(round)aaa")
            try await RemoteConformance(vaultID: id) { try HTTPRemote.test(server.url, id) }.oneOfManyFirstWritersWins()
        }
    }

    @Test func `it conforms below a path, with a token`() async throws {
        let server = try StandIn("--token secret-token")
        let id = try id()
        let token = try HTTPSecret.of("secret-token")
        try await RemoteConformance(vaultID: id) { try HTTPRemote.test(server.url + "/", id) { $0.token = token } }
            .runAll()
    }
}
