import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// One batch on a folder remote in memory, interrupted at every call to the file system.
@Suite("A folder remote under faults")
struct RemoteFaultTests {
    private let scene: RemoteScene

    init() throws {
        scene = try RemoteScene()
    }

    @Test(
        "a batch is whole or nothing whichever call fails, and a retry succeeds",
        arguments: [RemoteScene.Start.published, .absent, .unbound],
        [Errno.ioError, .noSpace, .permissionDenied])
    func singleFault(start: RemoteScene.Start, error: Errno) async throws {
        var atCall = 0
        while true {
            atCall += 1
            let memory = try await scene.prepare(start)
            let faults = FaultFileSystem(memory)
            faults.set(FaultFileSystem.Fault(atCall: atCall, error: error, writesHalf: true))
            let outcome = await scene.run(on: faults)
            guard faults.hasFired else { break }
            faults.set(nil)
            if case .failure(let failure) = outcome {
                let code = (failure as? VaultError)?.code
                let expected: VaultError.Code =
                    error == .ioError ? .ioError : error == .noSpace ? .noSpace : .permissionDenied
                #expect(code == expected || code == .unreachable, "call \(atCall): \(failure)")
            }
            try await scene.checkReaders(of: memory, start, outcome, "call \(atCall)")
            try await scene.checkAfterNextWriter(on: memory.afterKill(), start, outcome, "call \(atCall)")
            try await scene.checkRetry(on: memory, "call \(atCall)")
        }
        print("\(atCall - 1) single faults (\(error)) on a folder that was \(start)")
        #expect(atCall > 20)
    }

    @Test(
        "a process that dies at any call leaves the old or the new state, for readers at once and for the next writer",
        arguments: [RemoteScene.Start.published, .absent, .unbound])
    func death(start: RemoteScene.Start) async throws {
        var atCall = 0
        while true {
            atCall += 1
            let memory = try await scene.prepare(start)
            let faults = FaultFileSystem(memory)
            faults.set(FaultFileSystem.Fault(atCall: atCall, isSticky: true, writesHalf: true))
            let outcome = await scene.run(on: faults)
            guard faults.hasFired else { break }
            for (state, name) in [(memory.afterKill(), "killed"), (memory.afterPowerCut(), "power cut")] {
                let what = "\(name) at call \(atCall)"
                try await scene.checkReaders(of: state, start, outcome, what)
                try await scene.checkAfterNextWriter(on: state, start, outcome, what)
                try await scene.checkRetry(on: state, what)
            }
        }
        print("\(atCall - 1) deaths on a folder that was \(start)")
        #expect(atCall > 20)
    }

    @Test(
        "what was answered as applied survives a power cut",
        arguments: [RemoteScene.Start.published, .absent, .unbound])
    func durable(start: RemoteScene.Start) async throws {
        let memory = try await scene.prepare(start)
        let outcome = await scene.run(on: memory)
        #expect(try outcome.get() == .applied)
        let state = memory.afterPowerCut()
        #expect(try await scene.state(of: state) == .new)
    }

    @Test("a power cut after the second of two batches does not bring the first one back")
    func secondBatch() async throws {
        let memory = try await scene.prepare(.absent)
        #expect(try await scene.run(on: memory).get() == .applied)
        let namedRef = SwapTarget.ref(try RefID("ref-pid-muw-000000000001"))
        let remote = scene.remote(scene.environment(memory))
        for round in UInt8(2)..<6 {
            let batch = try WriteBatch([.swap(namedRef, expected: .bytes([round]), new: [round + 1])])
            #expect(try await remote.apply(batch, authorization: scene.authorization) == .applied)
            let state = memory.afterPowerCut()
            try await scene.probe(state)
            let found = try await scene.remote(scene.environment(state)).readAll([namedRef.fileID])
            #expect(found[namedRef.fileID] == .content([round + 1]))
        }
    }

    @Test("a power cut after a single write to a served vault does not bring back a delete before it")
    func singleWrite() async throws {
        let memory = try await scene.prepare(.absent)
        func vault(_ fileSystem: any FileSystem) -> ServedVault {
            ServedVault(path: FilePath("/remotes/one"), vaultID: scene.id, environment: scene.environment(fileSystem))
        }
        let hash = String(repeating: "c", count: 64)
        let x = try #require(StorePath("bare/data/x"))
        let y = try #require(StorePath("bare/data/y"))
        try vault(memory).write(ownerHash: hash) { writer in
            try writer.publish([x: writer.stage([1]), y: writer.stage([1])])
        }
        try vault(memory).write(ownerHash: hash) { writer in try writer.publish([x: nil, y: nil]) }
        try vault(memory).write(ownerHash: hash) { writer in try writer.publish([x: writer.stage([2])]) }
        let state = memory.afterPowerCut()
        let held = try vault(state).write(ownerHash: hash) { writer in
            try writer.open(x)?.file.readToEnd(limit: 10)
        }
        #expect(held == [2])
    }

    @Test("a power cut while the next writer finishes a batch is survived too")
    func deathInRecovery() async throws {
        let memory = try await scene.prepare(.published)
        let interrupted = scene.environment(
            memory, FailPoints { point throws(Errno) in if point == .folderJournalWritten { throw .ioError } })
        let first = await scene.run(on: interrupted)
        #expect(throws: VaultError.coded(.ioError)) { try first.get() }
        var atCall = 0
        while true {
            atCall += 1
            let state = memory.afterKill()
            let faults = FaultFileSystem(state)
            faults.set(FaultFileSystem.Fault(atCall: atCall, isSticky: true))
            try? await scene.probe(faults)
            guard faults.hasFired else { break }
            for next in [state.afterKill(), state.afterPowerCut()] {
                try await scene.checkReaders(of: next, .published, first, "recovery call \(atCall)")
                try await scene.probe(next)
                #expect(try await scene.state(of: next) == .new)
            }
        }
        print("\(atCall - 1) deaths during recovery")
    }

    @Test("a full disk is told as such, leaves nothing behind, and the batch works after space is freed")
    func fullDisk() async throws {
        var capacity: Int64 = 0
        var refusals = 0
        while true {
            let memory = try await scene.prepare(.published)
            let free = memory.usedBytes + capacity
            memory.setCapacity(free)
            let outcome = await scene.run(on: memory)
            if case .success(let answer) = outcome {
                #expect(answer == .applied)
                break
            }
            refusals += 1
            #expect(throws: VaultError.coded(.noSpace)) { try outcome.get() }
            #expect(try await scene.state(of: memory) == .old)
            #expect(try scene.leftovers(in: memory) == [], "capacity \(capacity)")
            memory.setCapacity(.max)
            try await scene.checkRetry(on: memory, "capacity \(capacity)")
            capacity += 16
        }
        print("\(refusals) sizes of a full disk")
        #expect(refusals > 10)
    }

    @Test("a batch of any size needs few syncs", arguments: [1, 10, 500])
    func syncs(count: Int) async throws {
        let memory = try await scene.prepare(.published)
        let faults = FaultFileSystem(memory)
        var operations: [WriteOperation] = []
        for number in 0..<count { operations.append(try RemoteScene.object(Array("object \(number)".utf8)).1) }
        faults.set(nil)
        let outcome = try await scene.remote(scene.environment(faults)).apply(
            WriteBatch(operations), authorization: scene.authorization)
        #expect(outcome == .applied)
        #expect(faults.count(FileSystemCall.syncs) <= min(count, 24) + 12)
    }
}
