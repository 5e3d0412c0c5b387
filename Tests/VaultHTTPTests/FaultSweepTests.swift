import Testing
import VaultCore
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultHTTP

/// Every request of a command fails once, before and after it took effect.
@Suite("A server that fails once")
struct FaultSweepTests {
    /// What the server does, and the codes that a command may then end with.
    struct Fault: Sendable, CustomTestStringConvertible {
        let status: JSONValue
        let codes: [VaultError.Code]
        var testDescription: String { status.text ?? "\(status.int ?? 0)" }
    }

    static let faults: [Fault] = [
        Fault(status: .integer(401), codes: [.tokenMissing]),
        Fault(status: .integer(403), codes: [.keyWrong, .tokenRefused]),
        // A host without the batch route counts as one that only gives files.
        Fault(status: .integer(404), codes: [.serverError, .readOnlyRemote]),
        Fault(status: .integer(429), codes: [.serverBusy]),
        Fault(status: .integer(500), codes: [.serverError]),
        Fault(status: .integer(502), codes: [.serverError]),
        Fault(status: .integer(503), codes: [.serverBusy]),
        Fault(status: .string("drop"), codes: [.unreachable]),
        Fault(status: .string("truncate"), codes: [.serverError]),
        Fault(status: .string("garbage"), codes: [.serverError]),
        Fault(status: .string("stall"), codes: [.timeout]),
    ]

    private func queue(_ fault: Fault, _ when: String, skip: Int, _ server: StandIn) async throws {
        try await server.reset()
        try await server.fault([
            "match": .string("/api/"), "status": fault.status, "when": .string(when), "skip": .integer(Int64(skip)),
            "seconds": .number("0.6"),
        ])
    }

    /// Runs a command with one attempt per request; true when the fault was not reached, because it had fewer.
    private func survives(
        _ fault: Fault, _ skip: Int, _ remote: HTTPRemote, _ body: (HTTPRemote) async throws -> Void
    ) async throws -> Bool {
        do {
            try await body(remote)
        } catch let error as VaultError {
            #expect(fault.codes.contains(error.code), "\(error)")
        }
        return remote.requests <= skip
    }

    private func impatient(_ scene: WebScene) throws -> HTTPRemote {
        try scene.remote {
            $0.retry.attempts = 1
            $0.client.stallMs = 250
        }
    }

    @Test(.timeLimit(.minutes(3)), arguments: faults, ["before", "after"])
    func `loses nothing`(fault: Fault, when: String) async throws {
        let scene = try WebScene()
        let vault = try scene.create("a")
        var number = 0
        func change() throws {
            number += 1
            try scene.commit("text \(number)", at: "folder/file \(number % 3)", in: "a")
        }
        // The first push of all.
        for skip in 0..<20 {
            try await queue(fault, when, skip: skip, scene.server)
            let isOver = try await survives(fault, skip, impatient(scene)) { _ = try await vault.push(to: $0) }
            try await scene.server.reset()
            _ = try await vault.push(to: try scene.remote())
            if isOver || skip > 1 { break }
        }
        try await scene.server.reset()
        try await scene.clone("b", from: try scene.remote())
        let other = try scene.files.open("b")
        for skip in 0..<20 {
            try change()
            try await queue(fault, when, skip: skip, scene.server)
            let isOver = try await survives(fault, skip, impatient(scene)) { _ = try await vault.push(to: $0) }
            try await scene.server.reset()
            _ = try await vault.push(to: try scene.remote())
            if isOver { break }
        }
        for skip in 0..<20 {
            try change()
            _ = try await vault.push(to: try scene.remote())
            try await queue(fault, when, skip: skip, scene.server)
            let isOver = try await survives(fault, skip, impatient(scene)) { _ = try await other.pull(from: $0) }
            try await scene.server.reset()
            _ = try await other.pull(from: try scene.remote())
            #expect(try scene.files.workingFiles("b") == scene.files.workingFiles("a"))
            if isOver { break }
        }
        for skip in 0..<20 {
            let name = "c\(skip)"
            try await queue(fault, when, skip: skip, scene.server)
            let isOver = try await survives(fault, skip, impatient(scene)) { _ = try await scene.clone(name, from: $0) }
            try await scene.server.reset()
            if (try? scene.files.open(name)) == nil { try await scene.clone(name, from: try scene.remote()) }
            #expect(try scene.files.workingFiles(name) == scene.files.workingFiles("a"))
            if isOver { break }
        }
        #expect(try await vault.fsck(FsckOptions()).isClean)
        #expect(try scene.files.history(vault).count == number + 1)
    }

    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            JSONValue.integer(429), .integer(502), .integer(503), .integer(504), .string("drop"), .string("truncate"),
        ])
    func `is not noticed where another attempt helps`(status: JSONValue) async throws {
        let scene = try WebScene()
        let vault = try scene.create("a")
        func disturb(_ skip: Int64) async throws {
            try await scene.server.reset()
            try await scene.server.fault([
                "match": .string("/api/"), "status": status, "when": .string(skip % 2 == 0 ? "after" : "before"),
                "skip": .integer(skip),
            ])
        }
        for skip in Int64(0)..<3 {
            try scene.commit("text \(skip)", at: "file", in: "a")
            try await disturb(skip)
            #expect(try await vault.push(to: try scene.remote()).outcome != .upToDate)
        }
        for skip in Int64(0)..<6 {
            try await disturb(skip)
            try await scene.clone("c\(skip)", from: try scene.remote())
        }
    }

    @Test func `a server that is gone is no empty vault`() async throws {
        let scene = try WebScene()
        let vault = try scene.create("a")
        _ = try await vault.push(to: try scene.remote())
        let nowhere = try HTTPRemote.test("http://127.0.0.1:1", scene.files.keys.vaultID)
        await #expect(throws: VaultError(.unreachable, "")) { try await vault.pull(from: nowhere) }
        await #expect(throws: VaultError(.unreachable, "")) { try await vault.push(to: nowhere) }
        await #expect(throws: VaultError(.unreachable, "")) { try await scene.clone("x", from: nowhere) }
        #expect(throws: Errno.noSuchFile) {
            try LinuxFileSystem().status(of: scene.files.path("x"), followLinks: false)
        }
    }
}
