import Testing
import VaultCore
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

@Suite("Requests that are sent again")
struct RetryTests {
    private let id: VaultID
    private let authorization: WriteAuthorization
    private let ref: SwapTarget

    init() throws {
        id = try VaultID("abcd1234")
        ref = .ref(try RefID("ref-pid-muw-000000000001"))
        let key = try VaultKey(parsing: Array("passphrase:abcd1234".utf8).span)
        authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
    }

    private func swap(_ expected: Expected, _ new: [UInt8]) throws -> WriteBatch {
        try WriteBatch([.swap(ref, expected: expected, new: new)])
    }

    @Test(arguments: [429, 502, 503, 504])
    func `reads come through passing refusals`(status: Int64) async throws {
        let server = try StandIn()
        try await server.plant(id, ref.fileID, [5])
        try await server.fault(["match": .string("batch"), "status": .integer(status), "count": .integer(3)])
        let remote = try HTTPRemote.test(server.url, id)
        #expect(try await remote.readAll([ref.fileID]) == [ref.fileID: .content([5])])
    }

    @Test(arguments: [
        (JSONValue.integer(429), VaultError.Code.serverBusy), (.integer(502), .serverError),
        (.integer(503), .serverBusy),
        (.integer(504), .serverError), (.integer(500), .serverError), (.integer(401), .tokenMissing),
        (.integer(403), .tokenRefused), (.integer(404), .serverError), (.integer(410), .refused),
        (.integer(301), .redirectRefused), (.string("drop"), .unreachable), (.string("garbage"), .serverError),
        (.string("truncate"), .serverError),
    ])
    func `reads end with what the server did when it goes on`(status: JSONValue, code: VaultError.Code) async throws {
        let server = try StandIn()
        try await server.fault([
            "match": .string("/api/"), "status": status, "count": .integer(100),
            "headers": .record(["Location": .string("https://example.org/x")]),
        ])
        let remote = try HTTPRemote.test(server.url, id)
        let error = await #expect(throws: VaultError.self) { try await remote.readAll([ref.fileID]) }
        #expect(error?.code == code)
    }

    @Test(
        arguments: [JSONValue.integer(502), .integer(504), .string("drop"), .string("garbage"), .string("truncate")],
        ["before", "after"])
    func `a swap whose answer is lost took effect once`(status: JSONValue, when: String) async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id)
        #expect(try await remote.apply(swap(.absent, [1]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": status, "when": .string(when)])
        let isLost = status.text == "garbage" && when == "before"
        do {
            let outcome = try await remote.apply(swap(.bytes([1]), [2]), authorization: authorization)
            #expect(outcome == .applied && !isLost)
        } catch let error as VaultError {
            // An answer that is no answer is not asked for again: the file is read, and tells that nothing happened.
            #expect(isLost && error.code == .serverError)
        }
        let found = try await remote.readAll([ref.fileID])[ref.fileID]
        #expect(found == .content(isLost ? [1] : [2]))
    }

    @Test(arguments: [Int64(400), 401, 403, 404, 410, 429, 503])
    func `what an earlier attempt did is found out, whatever a later one is told`(status: Int64) async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id) { $0.retry.attempts = 2 }
        #expect(try await remote.apply(swap(.absent, [1]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": .string("drop"), "when": .string("after")])
        try await server.fault(["match": .string("batch"), "status": .integer(status)])
        #expect(try await remote.apply(swap(.bytes([1]), [2]), authorization: authorization) == .applied)
        #expect(try await remote.readAll([ref.fileID])[ref.fileID] == .content([2]))
    }

    @Test func `a refusal after an attempt whose outcome can not be read is no plain refusal`() async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id) { $0.retry.attempts = 2 }
        #expect(try await remote.apply(swap(.absent, [1]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": .string("drop"), "when": .string("after")])
        try await server.fault(["match": .string("batch"), "status": .integer(401), "count": .integer(99)])
        let error = await #expect(throws: VaultError.self) {
            try await remote.apply(swap(.bytes([1]), [2]), authorization: authorization)
        }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("not known") == true)
    }

    @Test func `an unknown outcome whose reading is put off says until when`() async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id) { $0.retry.attempts = 1 }
        #expect(try await remote.apply(swap(.absent, [1]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": .string("drop"), "when": .string("after")])
        try await server.fault([
            "match": .string("batch"), "status": .integer(503), "headers": .record(["Retry-After": .string("3600")]),
        ])
        let error = await #expect(throws: VaultError.self) {
            try await remote.apply(swap(.bytes([1]), [2]), authorization: authorization)
        }
        #expect(error?.code == .deferred && error?.message.contains("not known") == true)
        #expect(error?.answer?.httpStatus == 503)
        #expect(error?.answer?.notBeforeMs.map { $0 > SystemClock().nowMs + 3_500_000 } == true)
    }

    @Test func `an unknown outcome is resolved by reading when no attempt is left`() async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id) { $0.retry.attempts = 1 }
        #expect(try await remote.apply(swap(.absent, [1]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": .string("drop"), "when": .string("after")])
        #expect(try await remote.apply(swap(.bytes([1]), [2]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": .string("drop")])
        await #expect(throws: VaultError(.unreachable, "")) {
            try await remote.apply(swap(.bytes([2]), [3]), authorization: authorization)
        }
        #expect(try await remote.readAll([ref.fileID])[ref.fileID] == .content([2]))
    }

    @Test func `a write that somebody else overtook is a conflict`() async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id)
        #expect(try await remote.apply(swap(.absent, [1]), authorization: authorization) == .applied)
        try await server.fault(["match": .string("batch"), "status": .integer(502)])
        try await server.plant(id, ref.fileID, [9])
        #expect(
            try await remote.apply(swap(.bytes([1]), [2]), authorization: authorization)
                == .conflict(position: 0, current: [9]))
    }

    @Test(arguments: [
        (Int64(401), VaultError.Code.tokenMissing), (403, .keyWrong), (400, .serverError), (404, .serverError),
        (410, .refused), (307, .redirectRefused),
    ])
    func `refused writes are sent once`(status: Int64, code: VaultError.Code) async throws {
        let server = try StandIn()
        try await server.fault(["match": .string("batch"), "status": .integer(status), "count": .integer(9)])
        let remote = try HTTPRemote.test(server.url, id)
        let error = await #expect(throws: VaultError.self) {
            try await remote.apply(swap(.absent, [1]), authorization: authorization)
        }
        #expect(error?.code == code)
        #expect(remote.requests == 1)
    }

    @Test func `a short wait is kept, a long one is put off and remembered`() async throws {
        let server = try StandIn()
        let folder = try TemporaryFolder("backoff")
        let clock = SystemClock()
        let file = NotBeforeFile(folder: folder.path, fileSystem: LinuxFileSystem(), clock: clock)
        func remote(ignoring: Bool = false) throws -> HTTPRemote {
            try HTTPRemote.test(server.url, id) {
                $0.backoff = file
                $0.retry.ignoresBackoff = ignoring
            }
        }
        try await server.fault([
            "match": .string("batch"), "status": .integer(503), "headers": .record(["Retry-After": .string("1")]),
        ])
        let before = clock.monotonicNs
        _ = try await remote().readAll([ref.fileID])
        #expect(clock.monotonicNs - before >= 1_000_000_000)
        try await server.fault([
            "match": .string("batch"), "status": .integer(429), "headers": .record(["Retry-After": .string("3600")]),
        ])
        await #expect(throws: VaultError(.deferred, "")) { try await remote().readAll([ref.fileID]) }
        #expect(file.notBefore(server.url).map { $0 > clock.nowMs + 3_500_000 } == true)
        try await server.reset()
        let later = try remote()
        await #expect(throws: VaultError(.deferred, "")) { try await later.readAll([ref.fileID]) }
        #expect(later.requests == 0)
        _ = try await remote(ignoring: true).readAll([ref.fileID])
        #expect(file.notBefore("https://example.org") == nil)
    }

    @Test func `a batch that a gateway refuses is split`() async throws {
        let server = try StandIn()
        let remote = try HTTPRemote.test(server.url, id)
        let files = try (0..<20).map { FileID.ref(try RefID("ref-pid-snw-0000000000\($0 < 10 ? "0" : "")\($0)")) }
        for file in files { try await server.plant(id, file, Array(file.path.utf8)) }
        // Whatever holds this file with others is too much.
        try await server.fault([
            "match": .string("batch"), "body_has": .string("000000000007\"},{"), "status": .integer(502),
            "count": .integer(100),
        ])
        try await server.fault([
            "match": .string("batch"),
            "body_has": .string("},{\"op\":\"read\",\"file_id\":\"bare/refs/ref-pid-snw-000000000007"),
            "status": .integer(503), "count": .integer(100),
        ])
        let found = try await remote.readAll(files)
        #expect(found == Dictionary(uniqueKeysWithValues: files.map { ($0, .content(Array($0.path.utf8))) }))
    }

    @Test func `results that were not asked for are not taken`() async throws {
        let server = try StandIn()
        let other =
            "{\"results\":[{\"file_id\":\"bare/refs/ref-pid-muw-00000000000a\",\"status\":\"ok\",\"data\":\"AA==\"}]}"
        try await server.fault([
            "match": .string("batch"), "status": .integer(200), "body": .string(other), "count": .integer(9),
        ])
        let remote = try HTTPRemote.test(server.url, id)
        await #expect(throws: VaultError(.serverError, "")) {
            try await remote.read([ref.fileID]) { _, _ in Issue.record("something was delivered") }
        }
    }

    @Test(arguments: [
        "{\"vault_id\":\"abcd1234\",\"results\":[]}", "{\"vault_id\":\"abcd1234\"}",
        "{\"results\":[{\"op\":\"write-if-match\",\"file_id\":\"bare/refs/ref-pid-muw-000000000002\",\"status\":\"ok\"}]}",
        "{\"results\":[{\"op\":\"x\",\"file_id\":\"bare/refs/ref-pid-muw-000000000001\",\"status\":\"error\"}]}",
    ])
    func `a success without its results is none`(body: String) async throws {
        let server = try StandIn()
        try await server.fault([
            "match": .string("batch"), "body_has": .string("write"), "status": .integer(200), "body": .string(body),
        ])
        let remote = try HTTPRemote.test(server.url, id) { $0.retry.attempts = 1 }
        await #expect(throws: VaultError(.serverError, "")) {
            try await remote.apply(swap(.absent, [1]), authorization: authorization)
        }
    }
}
