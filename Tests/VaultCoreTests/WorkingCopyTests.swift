import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("The working copy")
struct WorkingCopyTests {
    private func open(_ setting: TwoClones, _ path: String) throws -> any Directory {
        var folder = try setting.environment.fileSystem.openDirectory(setting.folder.appending("a"))
        for part in path.split(separator: "/") { folder = try folder.openDirectory(Array(part.utf8)) }
        return folder
    }

    @Test func `status names added, modified and deleted files`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        for name in ["one", "two", "three/four"] { try setting.write(name, to: name, in: "a") }
        _ = try vault.commit()
        #expect(try vault.status().isClean)
        try setting.write("ONE", to: "one", in: "a")
        try setting.remove("two", in: "a")
        try setting.write("new", to: "three/new", in: "a")
        let status = try vault.status()
        #expect(status.changes.modified.map(\.description) == ["one"])
        #expect(status.changes.deleted.map(\.description) == ["two"])
        #expect(status.changes.added.map(\.description) == ["three/new"])
    }

    @Test func `an edit of the same size and time stamp is seen`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("aaaa", to: "f", in: "a")
        _ = try vault.commit()
        for round in 0..<50 {
            let text = round.isMultiple(of: 2) ? "bbbb" : "cccc"
            let file = try open(setting, "").openForAppending(Array("f".utf8), mode: 0o644)
            try file.truncate(to: 0)
            try file.write(Array(text.utf8).span)
            #expect(try vault.status().changes.modified.count == 1)
            #expect(try vault.commit().commit != nil)
            #expect(try vault.status().isClean)
        }
    }

    @Test func `committing nothing gives no commit and moves nothing`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let head = try vault.status().head
        let result = try vault.commit(CommitOptions(message: "nothing"))
        #expect(result.commit == nil)
        #expect(try vault.status().head == head)
        #expect(try vault.commit(CommitOptions(message: "still", allowEmpty: true)).commit != nil)
    }

    @Test func `unchanged files keep their blobs and unchanged folders their trees`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        for name in ["x/1", "x/2", "y/1"] { try setting.write(name, to: name, in: "a") }
        _ = try vault.commit()
        let before = try vault.list(recursive: false)
        let blobs = try vault.list(recursive: true)
        try setting.write("changed", to: "y/1", in: "a")
        _ = try vault.commit()
        let after = try vault.list(recursive: false)
        #expect(after[0].objectID == before[0].objectID)
        #expect(after[1].objectID != before[1].objectID)
        #expect(try vault.list(recursive: true).prefix(2).map(\.objectID) == blobs.prefix(2).map(\.objectID))
    }

    @Test func `links and special files are left out and named; tracked paths under a link stay`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("x", to: "d/x", in: "a")
        _ = try vault.commit()
        let outside = setting.folder.appending("outside")
        try setting.environment.fileSystem.createDirectory(outside, mode: 0o755)
        let root = try open(setting, "")
        try root.removeTree(Array("d".utf8))
        try Shell.run("ln -s '\(outside.text)' '\(setting.folder.appending("a").text)/d'")
        try Shell.run("mkfifo '\(setting.folder.appending("a").text)/pipe'")
        let status = try vault.status()
        #expect(status.changes == Changes())
        #expect(status.skipped.map(\.reason) == [.symbolicLink, .specialFile])
        #expect(try vault.commit().commit == nil)
        #expect(throws: VaultError.coded(.refused)) { try vault.commit(CommitOptions(strict: true)) }
    }

    @Test(arguments: [".SG_VAULT", ".Sg_Vault_New", ".GIT"])
    func `another spelling of a protected name is named and left out`(name: String) throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("x", to: "d/\(name)/x", in: "a")
        try setting.write("good", to: "good", in: "a")
        try setting.write("x", to: "d/.git/x", in: "a")
        let left = [SkippedEntry(path: Array("d/\(name)".utf8), reason: .unsafeName)]
        #expect(try vault.status().skipped == left)
        let result = try vault.commit()
        #expect(result.changes.added.map(\.description) == ["good"] && result.skipped == left)
    }

    @Test func `names that are not UTF-8 are named and left out`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try open(setting, "").createFile([0x66, 0xFF, 0x6F], mode: 0o644).write([1, 2].span)
        try setting.write("good", to: "good", in: "a")
        let result = try vault.commit()
        #expect(result.changes.added.map(\.description) == ["good"])
        #expect(result.skipped == [SkippedEntry(path: [0x66, 0xFF, 0x6F], reason: .nameNotUTF8)])
    }

    @Test func `composed and decomposed names are two files`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("composed", to: "caf\u{E9}", in: "a")
        try setting.write("decomposed", to: "cafe\u{301}", in: "a")
        #expect(try vault.commit().changes.added.count == 2)
        var read: [String] = []
        for entry in try vault.list(recursive: true) {
            _ = try vault.read(entry.path) { span in
                read.append(String(decoding: span.indices.map { span[$0] }, as: UTF8.self))
            }
        }
        #expect(read == ["decomposed", "composed"])
    }

    @Test func `an ignored file stays out, a tracked one under the same rule stays in`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("1", to: "kept.log", in: "a")
        _ = try vault.commit()
        try setting.write("*.log\nbuild/\n", to: ".gitignore", in: "a")
        try setting.write("2", to: "new.log", in: "a")
        try setting.write("3", to: "build/out", in: "a")
        try setting.write("4", to: ".env", in: "a")
        try setting.write("edited", to: "kept.log", in: "a")
        let status = try vault.status(StatusOptions(includeIgnored: true))
        #expect(status.changes.added.map(\.description) == [".gitignore"])
        #expect(status.changes.modified.map(\.description) == ["kept.log"])
        #expect(status.ignored.map { String(decoding: $0, as: UTF8.self) } == [".env", "build/", "new.log"])
    }

    @Test func `a hard link to a key is refused, and so is a zip that holds one`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let path = setting.folder.appending("a").text
        try Shell.run("ln '\(path)/.sg_vault/local/vault_key' '\(path)/innocent.txt'")
        #expect(throws: VaultError.coded(.secretInCommit)) { try vault.commit() }
        #expect(throws: VaultError.coded(.secretInCommit)) {
            try vault.commit(CommitOptions(allowSecret: [try VaultPath("innocent.txt")]))
        }
        try setting.remove("innocent.txt", in: "a")
        try Shell.run(
            "cd '\(path)' && python3 -c \"import zipfile; z=zipfile.ZipFile('b.zip','w'); z.writestr('VAULT-KEY','x')\""
        )
        #expect(throws: VaultError.coded(.secretInCommit)) { try vault.commit() }
        let allowed = CommitOptions(allowSecret: [try VaultPath("b.zip")])
        #expect(try vault.commit(allowed).changes.added.map(\.description) == ["b.zip"])
    }

    @Test func `only the named paths are committed`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        for name in ["in/a", "in/b", "out"] { try setting.write(name, to: name, in: "a") }
        let result = try vault.commit(CommitOptions(message: "part", paths: [try VaultPath("in")]))
        #expect(result.changes.added.map(\.description) == ["in/a", "in/b"])
        #expect(try vault.status().changes.added.map(\.description) == ["out"])
    }

    @Test func `amend replaces an unpushed commit and keeps its message`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("1", to: "f", in: "a")
        let first = try vault.commit(CommitOptions(message: "the message"))
        try setting.write("2", to: "g", in: "a")
        let amended = try vault.commit(CommitOptions(amend: true))
        #expect(amended.commit?.parents == first.commit?.parents)
        #expect(amended.commit?.message == "the message")
        #expect(try vault.list(recursive: true).map(\.path.description) == ["f", "g"])
    }

    @Test func `write commits content without a scan, and a stale expectation is refused`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let path = try VaultPath("notes/today.txt")
        let first = try vault.write(WriteRequest(files: [(path, .bytes(Array("hello".utf8)))]))
        #expect(first.commit?.message == "write notes/today.txt")
        #expect(setting.read("notes/today.txt", in: "a") == "hello")
        let again = try vault.write(WriteRequest(files: [(path, .bytes(Array("hello".utf8)))]))
        #expect(again.unchanged)
        #expect(again.blobs[0].blob == first.blobs[0].blob)
        #expect(throws: VaultError.coded(.remoteMoved)) {
            try vault.write(
                WriteRequest(
                    files: [(path, .bytes([1]))], expectedBlob: try ObjectID("obj-cas-imm-000000000000")))
        }
        try setting.write("edited by hand", to: "notes/today.txt", in: "a")
        #expect(throws: VaultError.coded(.dirtyTree)) {
            try vault.write(WriteRequest(files: [(path, .bytes([1]))]))
        }
        #expect(setting.read("notes/today.txt", in: "a") == "edited by hand")
    }

    @Test func `a folder without files gives way to a file`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("x", to: "e/deep/x", in: "a")
        try setting.remove("e/deep/x", in: "a")
        let path = try VaultPath("e")
        #expect(try vault.write(WriteRequest(files: [(path, .bytes([1]))])).commit != nil)
        #expect(try vault.contents(of: path) == [1])
        #expect(try vault.status().isClean)
    }

    @Test func `parallel writes all end in the history`() async throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let root = setting.folder.appending("a")
        let environment = setting.environment
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    let own = try Vault.open(
                        root: root, options: OpenOptions(lockTimeout: 60), environment: environment)
                    let path = try VaultPath("file-\(number)")
                    _ = try own.write(WriteRequest(files: [(path, .bytes([UInt8(number)]))]))
                }
            }
            try await group.waitForAll()
        }
        #expect(try vault.list(recursive: true).count == 8)
        var commits = 0
        try vault.log { _ in
            commits += 1
            return true
        }
        #expect(commits == 9)
    }

    @Test func `a held lock is reported with its holder`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let lock = try vault.lock()
        let other = try Vault.open(
            root: setting.folder.appending("a"), options: OpenOptions(lockTimeout: 0), environment: setting.environment)
        let error = #expect(throws: VaultError.self) { try other.commit() }
        #expect(error?.code == .locked)
        let told = error?.message ?? ""
        #expect(told.contains("(pid ") && told.contains(", library, for ") && told.hasSuffix(" s)"))
        #expect(!told.contains("since"))
        // Reading needs no lock.
        #expect(try other.status().isClean)
        _ = consume lock
    }

    @Test func `a file that can not be read stops the commit and is never taken for deleted`() throws {
        guard ProcessContext.effectiveUserID != 0 else { return }
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("1", to: "f", in: "a")
        _ = try vault.commit()
        try Shell.run("chmod 000 '\(setting.folder.appending("a").text)/f'")
        #expect(throws: VaultError.coded(.permissionDenied)) { try vault.commit() }
    }

    @Test(arguments: [0, 1, 4095, 4096, 1 << 20, 8 << 20, (8 << 20) + 1, (20 << 20) + 12_345])
    func `contents of every size come back byte for byte`(size: Int) throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
        try open(setting, "").createFile(Array("big".utf8), mode: 0o644).write(bytes.span)
        _ = try vault.commit()
        var back: [UInt8] = []
        back.reserveCapacity(size)
        let info = try vault.read(try VaultPath("big")) { span in
            for index in span.indices { back.append(span[index]) }
        }
        #expect(back == bytes)
        #expect(info.size == Int64(size))
        let digest = try SHA256.hash(bytes.span)
        #expect(info.sha256 == Hex.text(digest.span))
        #expect(try vault.list()[0].isLarge == (size + 28 > 4_194_304))
    }
}
