import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("A remote that lies")
final class HostileRemoteTests {
    private let setting: TwoClones
    private let first: Vault

    init() async throws {
        setting = try TwoClones()
        first = try setting.create("a")
        try setting.write("content one", to: "one.txt", in: "a")
        try setting.write("content two", to: "sub/two.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
    }

    private func clone(from remote: any Remote, _ name: String = "b") async throws -> CloneResult {
        try await Vault.clone(
            from: remote, key: try setting.cloneKey(CloneOptions()), to: setting.folder.appending(name),
            options: CloneOptions(), environment: setting.environment, observer: SilentObserver())
    }

    private func names() throws -> [String] {
        try setting.folder.open().entries().map { String(decoding: $0.name, as: UTF8.self) }.sorted()
    }

    @Test func `no object that is not what was asked for survives a clone`() async throws {
        let remote = try setting.remote()
        let objects = try await remote.list(.objects)
        for (position, id) in objects.enumerated() {
            let other = objects[(position + 1) % objects.count]
            for lie in [LyingRemote.Lie.flipBit, .truncate, .swapWith(other), .answer([])] {
                let liar = LyingRemote(remote, lies: [id: lie])
                await #expect(throws: VaultError.coded(.objectCorrupt)) { try await clone(from: liar) }
                #expect(try names() == ["a", "remote"])
            }
        }
    }

    @Test func `an object that is not there fails the clone and leaves nothing`() async throws {
        let remote = try setting.remote()
        for id in try await remote.list(.objects) {
            await #expect(throws: VaultError.coded(.objectMissing)) {
                try await clone(from: LyingRemote(remote, lies: [id: .absent]))
            }
            #expect(try names() == ["a", "remote"])
        }
    }

    @Test func `a damaged index or ref is refused, never taken for absent`() async throws {
        let remote = try setting.remote()
        let index = FileID.index(first.ids.index)
        let ref = FileID.ref(first.ids.headRef)
        for id in [index, ref] {
            for lie in [LyingRemote.Lie.flipBit, .truncate, .answer([]), .swapWith(id == ref ? index : ref)] {
                await #expect(throws: VaultError.coded(.refUnreadable)) {
                    try await clone(from: LyingRemote(remote, lies: [id: lie]))
                }
                await #expect(throws: VaultError.coded(.refUnreadable)) {
                    try await first.pull(from: LyingRemote(remote, lies: [id: lie]))
                }
                await #expect(throws: VaultError.coded(.refUnreadable)) {
                    try await first.push(to: LyingRemote(remote, lies: [id: lie]))
                }
            }
        }
        #expect(try names() == ["a", "remote"])
        #expect(try first.status().isClean)
    }

    @Test func `ids that a listing makes up are no reason to trust or to fail`() async throws {
        let made = try (0..<50).map { FileID.object(try ObjectID("obj-cas-imm-\(100_000_000_000 + $0)")) }
        let keys = [FileID.key(try KeyID("key-rnd-imm-0123456789abcdef"))]
        let liar = LyingRemote(
            try setting.remote(), lies: [keys[0]: .answer(Array("-----BEGIN PUBLIC KEY-----".utf8))],
            alsoListing: made + keys)
        let result = try await clone(from: liar)
        #expect(result.files == 2)
        let held = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/bare/keys".utf8)))
        #expect(try !held.entries().contains { $0.name == Array("key-rnd-imm-0123456789abcdef".utf8) })
    }

    @Test func `a ref rolled back to an older state is refused`() async throws {
        let remote = try setting.remote()
        let ref = FileID.ref(first.ids.headRef)
        guard case .content(let old)? = try await remote.readAll([ref])[ref] else { throw Errno.ioError }
        _ = try await clone(from: remote)
        let second = try setting.open("b")
        try setting.write("three", to: "three.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: remote)
        _ = try await second.pull(from: remote)
        let liar = LyingRemote(remote, lies: [ref: .answer(old)])
        await #expect(throws: VaultError.coded(.refRewound)) { try await second.pull(from: liar) }
        await #expect(throws: VaultError.coded(.refRewound)) { try await first.pull(from: liar) }
        let gone = LyingRemote(remote, lies: [ref: .absent])
        await #expect(throws: VaultError.coded(.refRewound)) { try await second.pull(from: gone) }
        #expect(setting.read("three.txt", in: "b") == "three")
    }

    @Test func `a corrupt object is never sent`() async throws {
        try setting.write("new", to: "new.txt", in: "a")
        _ = try first.commit()
        let blob = try #require(try first.list(recursive: true).first { $0.path.description == "new.txt" }).objectID
        let data = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("a").appending(relative: Array(".sg_vault/bare/data".utf8)))
        var bytes = try #require(try data.readFileIfPresent(Array(blob.text.utf8), limit: 1 << 20))
        bytes[20] ^= 1
        try data.removeFile(Array(blob.text.utf8))
        try data.createFile(Array(blob.text.utf8), mode: 0o644).write(bytes.span)
        let before = try await setting.remote().list(.all)
        let error = await #expect(throws: VaultError.coded(.objectCorrupt)) {
            try await first.push(to: try setting.remote())
        }
        #expect(error?.object == blob.text)
        #expect(try await setting.remote().list(.all) == before)
    }

    @Test func `fsck fetches what is missing and replaces what is corrupt`() async throws {
        let remote = try setting.remote()
        _ = try await clone(from: remote)
        let second = try setting.open("b")
        let data = try setting.environment.fileSystem.openDirectory(
            setting.folder.appending("b").appending(relative: Array(".sg_vault/bare/data".utf8)))
        for (position, entry) in try data.entries().enumerated() {
            try data.removeFile(entry.name)
            if position.isMultiple(of: 2) { try data.createFile(entry.name, mode: 0o644).write([1, 2, 3].span) }
        }
        #expect(try await !second.fsck().isClean)
        let repaired = try await setting.open("b").fsck(FsckOptions(repair: true), repairFrom: remote)
        #expect(repaired.isClean)
        #expect(!repaired.repaired.isEmpty)
        #expect(try await setting.open("b").fsck().isClean)
        #expect(try setting.open("b").status().isClean)
    }

    @Test func `a pull with nothing new asks once, for index and ref only`() async throws {
        _ = try await clone(from: try setting.remote())
        let second = try setting.open("b")
        let counting = CountingRemote(try setting.remote())
        #expect(try await second.pull(from: counting).outcome == .upToDate)
        let asked: [FileID] = [.index(second.ids.index), .ref(second.ids.headRef)]
        #expect(counting.counted.reads == 1)
        #expect(counting.counted.asked == asked)
        #expect(counting.counted.lists == 0 && counting.counted.applies == 0)
        counting.reset()
        #expect(try await second.push(to: counting).outcome == .upToDate)
        #expect(counting.counted.reads == 1 && counting.counted.applies == 0)
    }

    @Test func `what is held and verified is never asked for again, and refs always are`() async throws {
        _ = try await clone(from: try setting.remote())
        let second = try setting.open("b")
        try setting.write("x", to: "x.txt", in: "a")
        _ = try first.commit()
        _ = try await first.push(to: try setting.remote())
        let counting = CountingRemote(try setting.remote())
        _ = try await second.fetch(from: counting)
        let objects = counting.counted.asked.filter { if case .object = $0 { true } else { false } }
        // One commit, the root tree, one blob: the folder `sub` is the one held already.
        #expect(objects.count == 3)
        counting.reset()
        _ = try await second.fetch(from: counting)
        #expect(counting.counted.asked == [.index(second.ids.index), .ref(second.ids.headRef)])
    }
}
