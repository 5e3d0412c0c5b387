import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

@Suite("The look at a server")
struct ServerProbeTests {
    private let id: VaultID
    private let authorization: WriteAuthorization

    init() throws {
        id = try VaultID("abcd1234")
        let key = try VaultKey(parsing: Array("passphrase:abcd1234".utf8).span)
        authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
    }

    private func found(_ remote: HTTPRemote) async throws -> [String: ServerCheck.Status] {
        let checks = try await ServerProbe(remote).run(writingWith: authorization)
        return Dictionary(checks.map { ($0.name, $0.status) }) { first, _ in first }
    }

    /// Makes the vault, so that the server has it.
    private func remote(_ server: StandIn) async throws -> HTTPRemote {
        let remote = try HTTPRemote.test(server.url, id)
        let ref = SwapTarget.ref(try RefID("ref-pid-muw-000000000001"))
        let batch = try WriteBatch([.swap(ref, expected: .absent, new: [1])])
        #expect(try await remote.apply(batch, authorization: authorization) == .applied)
        let token = try HTTPSecret.of("token")
        return try HTTPRemote.test(server.url, id) { $0.token = token }
    }

    @Test func `claims no id that the server does not know`() async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id)
        let found = try await found(remote)
        #expect(found["vault_known"] == .warn)
        #expect(found["token_verify"] == .skip && found["write_probe"] == .skip)
        #expect(remote.workingToken == nil)
        #expect(try await server.log().allSatisfy { $0.line.hasPrefix("GET") })
    }

    @Test func `finds a server that has the vault and takes writes`() async throws {
        let server = try StandIn()
        let remote = try await remote(server)
        let found = try await found(remote)
        #expect(found["vault_known"] == .pass && found["token_verify"] == .pass && found["write_probe"] == .pass)
        #expect(remote.workingToken != nil)
    }

    @Test(arguments: [
        "{}", "{\"results\":[]}", "<html>welcome</html>",
        "{\"results\":[{\"op\":\"delete\",\"file_id\":\"bare/cache/cch-pid-snw-000000000000\",\"status\":\"ok\"}]}",
    ])
    func `takes not any 200 for a write that was taken`(body: String) async throws {
        let server = try StandIn()
        let remote = try await remote(server)
        try await server.fault(["match": .string("batch"), "status": .integer(200), "body": .string(body)])
        let found = try await found(remote)
        #expect(found["token_verify"] == .skip && found["write_probe"] == .fail)
        #expect(remote.workingToken == nil)
    }

    @Test(arguments: ["{}", "<html>welcome</html>", "{\"status\":\"ok\",\"vault_id\":\"abcd1235\"}"])
    func `takes not any 200 for a vault that is known`(body: String) async throws {
        let server = try StandIn()
        let remote = try await remote(server)
        try await server.reset()
        try await server.fault(["match": .string("/health/"), "status": .integer(200), "body": .string(body)])
        let found = try await found(remote)
        #expect(found["vault_known"] == .fail && found["write_probe"] == .skip)
        #expect(try await server.log().allSatisfy { $0.line.hasPrefix("GET") })
    }

    @Test(arguments: [
        (Int64(401), ServerCheck.Status.fail, ServerCheck.Status.skip), (403, .pass, .fail), (302, .skip, .fail),
        (400, .skip, .fail), (404, .skip, .fail), (429, .skip, .fail), (500, .skip, .fail), (503, .skip, .fail),
    ])
    func `says of the token only what the answer tells`(
        status: Int64, token: ServerCheck.Status, write: ServerCheck.Status
    ) async throws {
        let server = try StandIn()
        let remote = try await remote(server)
        try await server.fault(["match": .string("batch"), "status": .integer(status)])
        let found = try await found(remote)
        #expect(found["token_verify"] == token && found["write_probe"] == write)
        #expect(remote.workingToken == nil)
    }
}
