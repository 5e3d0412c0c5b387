import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

@Suite("A token that comes when it is wanted")
struct HeldTokenTests {
    private let id: VaultID
    private let authorization: WriteAuthorization

    init() throws {
        id = try VaultID("abcd1234")
        let key = try VaultKey(parsing: Array("passphrase:abcd1234".utf8).span)
        authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
    }

    private struct Bytes: ObjectSource {
        let bytes: [UInt8]
        var size: Int64 { Int64(bytes.count) }
        func read(into sink: (Span<UInt8>) throws -> Void) throws { try sink(bytes.span) }
    }

    /// Objects that travel in many requests at once, one of them by itself.
    private func batch() throws -> WriteBatch {
        let sizes = [5 << 20] + (0..<6).map { 2_000_000 + $0 }
        return try WriteBatch(
            sizes.map { size in
                let bytes = [UInt8](repeating: 3, count: size)
                return .object(ObjectID(digest: try SHA256.hash(bytes.span), width: .short), Bytes(bytes: bytes))
            })
    }

    @Test(arguments: ["", "--presigned"]) func `is asked for once by all requests together`(option: String) async throws
    {
        let server = try StandIn("--token", "right", option)
        let asked = Locked(0)
        let remote = try HTTPRemote.test(server.url, id) { options in
            options.askForToken = {
                asked.withLock { $0 += 1 }
                return try HTTPSecret.of("right")
            }
        }
        _ = try await remote.list(.objects)
        #expect(asked.withLock { $0 } == 0)
        #expect(remote.workingToken == nil)
        #expect(try await remote.apply(batch(), authorization: authorization) == .applied)
        #expect(asked.withLock { $0 } == 1)
        #expect(remote.workingToken != nil)
    }

    @Test func `is asked for once also when it is refused, or nobody has one`() async throws {
        let server = try StandIn("--token right")
        for (answer, code) in [("wrong", VaultError.Code.tokenRefused), (nil, .tokenMissing)] {
            let asked = Locked(0)
            let remote = try HTTPRemote.test(server.url, id) { options in
                options.askForToken = {
                    asked.withLock { $0 += 1 }
                    return try answer.flatMap { try HTTPSecret.of($0) }
                }
            }
            for _ in 0..<2 {
                let error = await #expect(throws: VaultError.self) {
                    try await remote.apply(batch(), authorization: authorization)
                }
                #expect(error?.code == code)
            }
            #expect(asked.withLock { $0 } == 1)
            #expect(remote.workingToken == nil)
        }
    }

    @Test(arguments: [
        (Int64(401), VaultError.Code.tokenRefused), (200, .serverError), (404, .serverError), (429, .serverBusy),
        (302, .redirectRefused),
    ])
    func `is not believed to work by another answer than the one to a write without a key`(
        status: Int64, code: VaultError.Code
    ) async throws {
        let server = try StandIn("--token right")
        try await server.fault(["match": .string("batch"), "status": .integer(status), "count": .integer(9)])
        let remote = try HTTPRemote.test(server.url, id) { $0.token = try HTTPSecret.of("right") }
        let error = await #expect(throws: VaultError.self) { try await remote.checkToken() }
        #expect(error?.code == code && error?.answer?.httpStatus == (status == 200 ? nil : Int(status)))
        #expect(remote.workingToken == nil)
        try await server.reset()
        try await remote.checkToken()
        #expect(remote.workingToken != nil)
        // Nothing was made there.
        let health = try await server.log().map(\.status)
        #expect(health == [400])
    }
}
