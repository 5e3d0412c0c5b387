import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

/// What only a folder remote has: its layouts, its own files, links, and what other programs leave there.
@Suite("A folder remote's folder")
struct RemoteFolderTests {
    private let memory = InMemoryFileSystem()
    private let path = FilePath("/remote")
    private let id: VaultID
    private let authorization: WriteAuthorization
    private let ref: RefID
    private let object: ObjectID

    init() throws {
        id = try VaultID("abcd")
        let key = try VaultKey(parsing: Array("passphrase:abcd".utf8).span)
        authorization = WriteAuthorization(vaultID: id, writeKey: try key.deriveWriteKey())
        ref = try RefID("ref-pid-muw-000000000001")
        object = try ObjectID("obj-cas-imm-000000000001")
    }

    private var remote: FolderRemote {
        FolderRemote(
            path: path, vaultID: id,
            environment: VaultEnvironment(
                fileSystem: memory, clock: TestClock(), random: SeededRandom(seed: 1), failPoints: .none,
                pool: WorkerPool(threads: 2)))
    }

    private func write(_ file: String, _ text: String = "x") throws {
        let file = path.appending(relative: Array(file.utf8))
        try memory.createDirectories(file.parent, mode: 0o755)
        try memory.writeFile(file, Array(text.utf8))
    }

    private func push(_ new: [UInt8] = [1], expected: Expected = .absent) async throws -> BatchOutcome {
        try await remote.apply(
            WriteBatch([.swap(.ref(ref), expected: expected, new: new)]), authorization: authorization)
    }

    private func read(_ id: FileID) async throws -> RemoteFile? {
        try await remote.readAll([id])[id]
    }

    @Test("the first write makes the layout that the reference reads, and files of its own")
    func layout() async throws {
        #expect(try await push() == .applied)
        let text = String(
            decoding: memory.contents["/remote/.vaultctl/owner.json"]?.flatMap { $0 } ?? [], as: UTF8.self)
        let hash = try authorization.writeKey.ownerHash()
        #expect(
            text == #"{"v":1,"vault_id":"abcd","write_key_hash":"\#(hash)","created_at":"2026-01-02T03:04:05Z"}"#)
        #expect(try memory.status(of: "/remote/.vaultctl", followLinks: false).mode == 0o700)
        #expect(try memory.status(of: "/remote/.vaultctl/owner.json", followLinks: false).mode == 0o600)
        #expect(try memory.status(of: FilePath("/remote/bare/refs/\(ref.text)"), followLinks: false).mode == 0o644)
        #expect(
            Set(memory.contents.keys) == [
                "/remote/.vaultctl/owner.json", "/remote/.vaultctl/lock", "/remote/.vaultctl/tmp/",
                "/remote/bare/data/",
                "/remote/bare/refs/\(ref.text)", "/remote/bare/keys/", "/remote/bare/indexes/",
                "/remote/bare/cache/value/", "/remote/bare/cache/pointer/",
            ])
    }

    @Test("a relative path is one from the working directory, and told as such")
    func relativePath() async throws {
        #expect(try await push() == .applied)
        let relative = FolderRemote(path: "remote", vaultID: id, environment: remote.environment)
        #expect(relative.location == "/remote")
        #expect(try await relative.list(.refs) == [.ref(ref)])
    }

    @Test("names that are no file ids are not listed, nor what is no file")
    func listing() async throws {
        try write("bare/data/\(object.text)")
        for name in [
            "obj-cas-imm-00000000000G", "obj-cas-imm-0000000000001", "OBJ-CAS-IMM-000000000001", ".tmp",
            "obj-cas-imm-000000000002.tmp", "obj-cas-imm-000000000003/inner",
        ] {
            try write("bare/data/\(name)")
        }
        try write("bare/refs/\(ref.text)")
        try write("bare/pending/x")
        try write("bare/refs/\(object.text)")
        #expect(Set(try await remote.list(.all)) == [.object(object), .ref(ref)])
        #expect(try await remote.list(.objects) == [.object(object)])
        #expect(try await remote.list(.indexes) == [])
        #expect(try await remote.storedBytes() == 1)
    }

    @Test("a listing is in the order of the names")
    func order() async throws {
        let names = try (0..<50).map { try ObjectID("obj-cas-imm-0000000000\(($0 * 37) % 50 + 10)").text }
        for name in names { try write("bare/data/\(name)") }
        #expect(try await remote.list(.objects).map(\.path) == Set(names).sorted().map { "bare/data/" + $0 })
    }

    @Test("a folder or a pipe in the place of a file is an error, not an absent file")
    func wrongKind() async throws {
        try write("bare/data/\(object.text)/inner")
        await #expect(throws: VaultError.coded(.ioError)) { try await read(.object(object)) }
        try write("bare/refs", "a file where a folder must be")
        await #expect(throws: VaultError.coded(.ioError)) { try await read(.ref(ref)) }
        await #expect(throws: VaultError.coded(.ioError)) { try await remote.list(.refs) }
    }

    @Test("a link to a place inside is followed, one that leads outside or nowhere is as if it were not there")
    func links() async throws {
        try write("objects/\(object.text)", "inside")
        try write("bare/keys/.keep")
        try memory.createLink("/remote/bare/data", to: "../objects")
        try memory.writeFile("/outside", Array("outside".utf8))
        try memory.createDirectory("/folder", mode: 0o755)
        try memory.writeFile("/folder/idx-pid-muw-000000000001", Array("outside".utf8))
        try memory.createDirectory("/remote/bare/refs", mode: 0o755)
        try memory.createLink(FilePath("/remote/bare/refs/\(ref.text)"), to: "/outside")
        try memory.createLink(
            "/remote/bare/refs/ref-pid-muw-000000000002", to: FilePath("/remote/objects/\(object.text)"))
        try memory.createLink("/remote/bare/refs/ref-pid-muw-000000000003", to: "nowhere")
        try memory.createLink("/remote/bare/refs/ref-pid-muw-000000000004", to: "ref-pid-muw-000000000004")
        try memory.createLink("/remote/bare/refs/ref-pid-muw-000000000005", to: "/remotely")
        try memory.writeFile("/remotely", Array("outside".utf8))
        try memory.createLink("/remote/bare/indexes", to: "/folder")
        #expect(try await read(.object(object)) == .content(Array("inside".utf8)))
        #expect(try await read(.ref(ref)) == .absent)
        #expect(try await read(.ref(try RefID("ref-pid-muw-000000000002"))) == .content(Array("inside".utf8)))
        for digit in 3...5 { #expect(try await read(.ref(try RefID("ref-pid-muw-00000000000\(digit)"))) == .absent) }
        #expect(try await read(.index(try IndexID("idx-pid-muw-000000000001"))) == .absent)
        #expect(
            Set(try await remote.list(.all)) == [.object(object), .ref(try RefID("ref-pid-muw-000000000002"))])
    }

    @Test("the folder itself may be a link")
    func linkedRoot() async throws {
        try memory.createDirectory("/real", mode: 0o755)
        try memory.createLink("/remote", to: "/real")
        #expect(try await push() == .applied)
        #expect(memory.contents["/real/bare/refs/\(ref.text)"] == [1])
    }

    @Test("nothing is written through a link below it")
    func linkedArea() async throws {
        #expect(try await push() == .applied)
        try memory.openDirectory("/remote/bare").rename(
            Array("refs".utf8), to: try memory.openDirectory("/"), as: Array("elsewhere".utf8), replacing: false)
        try memory.createLink("/remote/bare/refs", to: "/elsewhere")
        await #expect(throws: VaultError.self) { try await push([2]) }
        #expect(memory.contents["/elsewhere/\(ref.text)"] == [1])
    }

    @Test(
        "what is not ours takes no writes and is not touched",
        arguments: [
            ["notes.txt"], ["bare/data/x", "notes.txt"], ["bare/refs/x", "manifest.json"], [".sg_vault/bare/refs/x"],
            ["bare/refs/x", "local/config.json"], ["api/vault/read/abcd/bare/refs/x"],
            [".vaultctl/lock", "bare/refs/x", "notes.txt"], [".vaultctl/lock", "notes.txt"],
        ])
    func foreign(files: [String]) async throws {
        for file in files { try write(file) }
        let before = memory.contents
        await #expect(throws: VaultError.coded(.readOnlyRemote)) { try await push() }
        #expect(memory.contents == before)
    }

    @Test("a bound folder stays writable whatever lies beside")
    func beside() async throws {
        #expect(try await push() == .applied)
        try write("README")
        #expect(try await push([2], expected: .bytes([1])) == .applied)
    }

    @Test(
        "every layout is read",
        arguments: ["bare", ".sg_vault/bare", "api/vault/read/abcd/bare"])
    func layouts(bare: String) async throws {
        try write("\(bare)/refs/\(ref.text)", "head")
        try write("\(bare)/data/\(object.text)", "object")
        #expect(try await read(.ref(ref)) == .content(Array("head".utf8)))
        #expect(try await remote.list(.all).count == 2)
    }

    @Test("a published folder of another vault has nothing of this one")
    func otherVault() async throws {
        try write("api/vault/read/zzzz/bare/refs/\(ref.text)", "head")
        #expect(try await read(.ref(ref)) == .absent)
    }

    @Test("a missing or unreadable folder is unreachable for every question")
    func unreachable() async throws {
        try memory.writeFile("/file", [])
        let nowhere = FolderRemote(path: "/file", vaultID: id, environment: remote.environment)
        for remote in [remote, nowhere] {
            await #expect(throws: VaultError.coded(.unreachable)) { try await remote.readAll([.ref(ref)]) }
            await #expect(throws: VaultError.coded(.unreachable)) { try await remote.list(.all) }
            await #expect(throws: VaultError.coded(.unreachable)) { try await remote.stream(.ref(ref)) { _ in } }
            await #expect(throws: VaultError.coded(.unreachable)) { try await remote.storedBytes() }
        }
    }

    @Test("an object that is there with other bytes stops the whole batch", arguments: ["", "wrong size", "conten?"])
    func corruptObject(held: String) async throws {
        let content = Array("content".utf8)
        let (id, operation) = try RemoteScene.object(content)
        #expect(try await push() == .applied)
        try write("bare/data/\(id.text)", held)
        await #expect(throws: VaultError.coded(.objectCorrupt)) {
            try await remote.apply(
                WriteBatch([operation, .swap(.ref(ref), expected: .bytes([1]), new: [2])]), authorization: authorization
            )
        }
        #expect(try await read(.ref(ref)) == .content([1]))
        #expect(memory.contents["/remote/bare/data/\(id.text)"] == Array(held.utf8))
        #expect(memory.contents.keys.contains("/remote/.vaultctl/tmp/"))
    }

    @Test("a destroyed vault refuses every write for ever")
    func destroyed() async throws {
        try write(".vaultctl/owner.json", #"{"v":1,"vault_id":"abcd","destroyed_at":"2026-01-01T00:00:00Z"}"#)
        await #expect(throws: VaultError.coded(.refused)) { try await push() }
        #expect(try await read(.ref(ref)) == .absent)
    }

    @Test(
        "an owner record that is not understood is never replaced",
        arguments: ["", "{", #"{"v":2,"vault_id":"abcd"}"#, "[]"])
    func strangeOwner(text: String) async throws {
        try write(".vaultctl/owner.json", text)
        await #expect(throws: VaultError.coded(.formatUnsupported)) { try await push() }
        #expect(memory.contents["/remote/.vaultctl/owner.json"] == Array(text.utf8))
    }

    @Test("another vault's folder is refused")
    func otherOwner() async throws {
        #expect(try await push() == .applied)
        let other = FolderRemote(path: path, vaultID: try VaultID("zzzz"), environment: remote.environment)
        let stranger = WriteAuthorization(vaultID: try VaultID("zzzz"), writeKey: authorization.writeKey)
        await #expect(throws: VaultError.coded(.keyWrong)) {
            try await other.apply(
                WriteBatch([.swap(.ref(ref), expected: .bytes([1]), new: [2])]), authorization: stranger)
        }
    }

    @Test(
        "a journal that is not understood as a whole is not carried out in part",
        arguments: [
            #"{"v":2,"steps":[]}"#, "{", #"{"v":1}"#,
            #"{"v":1,"steps":[{"to":"bare/refs/ref-pid-muw-000000000001","from":"t-1"},{"to":"bare/../x","from":"t-2"}]}"#,
            #"{"v":1,"steps":[{"to":"bare/refs/ref-pid-muw-000000000001","from":"../owner.json"}]}"#,
            #"{"v":1,"steps":[{"to":"bare/refs/ref-pid-muw-000000000001"}]}"#,
        ])
    func strangeJournal(text: String) async throws {
        #expect(try await push() == .applied)
        try write(".vaultctl/journal", text)
        try write(".vaultctl/tmp/t-1", "new")
        await #expect(throws: VaultError.coded(.formatUnsupported)) { try await push([2], expected: .bytes([1])) }
        #expect(try await read(.ref(ref)) == .content([1]))
    }

    @Test("a journal whose staged files are gone moves no ref")
    func lostFiles() async throws {
        #expect(try await push() == .applied)
        try write(
            ".vaultctl/journal",
            #"{"v":1,"steps":[{"to":"bare/data/\#(object.text)","from":"t-1"},"#
                + #"{"to":"bare/refs/\#(ref.text)","from":"t-2"}]}"#)
        try write(".vaultctl/tmp/t-2", "new")
        #expect(try await push([2], expected: .bytes([9])) == .conflict(position: 0, current: [1]))
        #expect(try await read(.object(object)) == .absent)
        #expect(memory.contents.keys.contains("/remote/.vaultctl/tmp/"))
    }

    @Test("a writer waits for another one's lock")
    func lock() async throws {
        #expect(try await push() == .applied)
        let held = try memory.openDirectory("/remote/.vaultctl").openForAppending(Array("lock".utf8), mode: 0o600)
        #expect(try held.lock(wait: false))
        async let outcome = push([2], expected: .bytes([1]))
        try await Task.sleep(for: .milliseconds(30))
        #expect(try await read(.ref(ref)) == .content([1]))
        try held.unlock()
        #expect(try await outcome == .applied)
    }

    @Test("a writer that waits for a minute says that the folder is locked")
    func lockTimeout() async throws {
        #expect(try await push() == .applied)
        let held = try memory.openDirectory("/remote/.vaultctl").openForAppending(Array("lock".utf8), mode: 0o600)
        #expect(try held.lock(wait: false))
        let hurried = FolderRemote(
            path: path, vaultID: id,
            environment: VaultEnvironment(
                fileSystem: memory, clock: TestClock(stepNs: 30_000_000_000), random: SeededRandom(seed: 1),
                failPoints: .none, pool: WorkerPool(threads: 1)))
        await #expect(throws: VaultError.coded(.locked)) {
            try await hurried.apply(
                WriteBatch([.swap(.ref(ref), expected: .bytes([1]), new: [2])]), authorization: authorization)
        }
    }

    @Test("a swap sees what an earlier one of its batch would leave")
    func twoSwaps() async throws {
        let index = SwapTarget.index(try IndexID("idx-pid-muw-000000000001"))
        let outcome = try await remote.apply(
            WriteBatch([.swap(index, expected: .absent, new: [1]), .swap(index, expected: .bytes([1]), new: [2])]),
            authorization: authorization)
        #expect(outcome == .applied)
        #expect(try await read(index.fileID) == .content([2]))
    }

    @Test("a file larger than what is read at once is streamed")
    func large() async throws {
        let size = remote.limits.inlineBytes + 5
        try write("bare/data/.keep")
        try memory.writeFile(
            path.appending(relative: Array("bare/data/\(object.text)".utf8)), .init(repeating: 7, count: size))
        #expect(try await read(.object(object)) == .large(size: Int64(size)))
        let total = Locked(0)
        #expect(try await remote.stream(.object(object)) { piece in total.withLock { $0 += piece.count } })
        #expect(total.withLock { $0 } == size)
    }
}
