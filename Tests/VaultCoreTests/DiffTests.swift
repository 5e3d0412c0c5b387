import Testing
import VaultCrypto
import VaultFormat
import VaultSystem
import VaultTestSupport

@testable import VaultCore

@Suite("Differences between states of a vault")
struct DiffTests {
    private func files(_ vault: Vault, _ options: DiffOptions = DiffOptions()) throws -> [FileDiff] {
        var found: [FileDiff] = []
        try vault.diff(options) { file in
            found.append(file)
            return true
        }
        return found
    }

    private func told(_ files: [FileDiff]) -> [String] {
        files.map { file in
            "\(file.status.rawValue) \(file.oldPath.map { "\($0) > " } ?? "")\(file.path)"
        }
    }

    private func lines(_ range: ClosedRange<Int>) -> String { range.map { "\($0)\n" }.joined() }

    @Test func `context, hunks that touch, and the ends of a text, as POSIX has them`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write(lines(1...20), to: "f", in: "a")
        _ = try vault.commit()
        try setting.write(lines(1...4) + "five\n" + lines(6...11) + "12a\n" + lines(13...19) + "20", to: "f", in: "a")
        let wide = try #require(try files(vault).first)
        // Six equal lines lie between 5 and 12, seven between 12 and 20: with three on each side the first two touch.
        guard case .text(let hunks) = wide.content else { throw Errno.invalidArgument }
        #expect(hunks.map(\.header) == ["@@ -2,14 +2,14 @@", "@@ -17,4 +17,4 @@"])
        #expect(wide.linesAdded == 3 && wide.linesRemoved == 3)
        let narrow = try #require(try files(vault, DiffOptions(context: 2)).first)
        // However many are asked for, there are no more lines than the text has.
        for context in [20, Int.max / 2 + 1, Int.max] {
            let all = try #require(try files(vault, DiffOptions(context: context)).first)
            guard case .text(let hunks) = all.content else { throw Errno.invalidArgument }
            #expect(hunks.map(\.header) == ["@@ -1,20 +1,20 @@"])
        }
        let text = String(decoding: narrow.patch, as: UTF8.self)
        #expect(
            text == """
                diff --git a/f b/f
                --- a/f
                +++ b/f
                @@ -3,5 +3,5 @@
                 3
                 4
                -5
                +five
                 6
                 7
                @@ -10,5 +10,5 @@
                 10
                 11
                -12
                +12a
                 13
                 14
                @@ -18,3 +18,3 @@
                 18
                 19
                -20
                +20
                \\ No newline at end of file

                """)
        let none = try #require(try files(vault, DiffOptions(context: 0)).first)
        guard case .text(let bare) = none.content else { throw Errno.invalidArgument }
        #expect(bare.map(\.header) == ["@@ -5 +5 @@", "@@ -12 +12 @@", "@@ -20 +20 @@"])
        // Only a line feed at the end differs.
        try setting.write(String(lines(1...20).dropLast()), to: "f", in: "a")
        let end = try #require(try files(vault).first)
        #expect(String(decoding: end.patch, as: UTF8.self).hasSuffix("-20\n+20\n\\ No newline at end of file\n"))
    }

    @Test func `sizes and hashes are those of the contents`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("abc", to: "f", in: "a")
        _ = try vault.commit()
        try setting.write("", to: "f", in: "a")
        let file = try #require(try files(vault).first)
        // FIPS 180-2, appendix B.1, and the hash of nothing.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(file.before == FileDiff.Side(size: 3, sha256: abc))
        #expect(file.after == FileDiff.Side(size: 0, sha256: nothing))
        #expect(file.linesAdded == 0 && file.linesRemoved == 1)
        let named = try #require(try files(vault, DiffOptions(detail: .names)).first)
        #expect(named.before == FileDiff.Side(size: 3) && named.content == .notRead && named.linesAdded == nil)
    }

    @Test func `text is valid UTF-8 without NUL`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        for name in ["latin", "nul", "text", "gone"] { try setting.write("é\n", to: name, in: "a") }
        _ = try vault.commit()
        let root = try setting.environment.fileSystem.openDirectory(setting.folder.appending("a"))
        for (name, bytes) in [("latin", [0xE9, 0x0A]), ("nul", [0x61, 0, 0x0A]), ("text", [0xE2, 0x82, 0xAC, 0x0A])]
            as [(String, [UInt8])]
        {
            try root.removeFile(Array(name.utf8))
            try root.createFile(Array(name.utf8), mode: 0o644).write(bytes.span)
        }
        let found = try files(vault)
        #expect(found.map(\.content).map { $0 == .binary } == [true, true, false])
        #expect(
            String(decoding: found[0].patch, as: UTF8.self)
                == "diff --git a/latin b/latin\nBinary files a/latin and b/latin differ\n")
        var hashed: [String] = []
        found[1].writePatch(hashesBinary: true) { hashed.append(String(decoding: $0.bytes, as: UTF8.self)) }
        #expect(hashed.suffix(2).map { $0.prefix(15) } == ["-size 3 sha256 ", "+size 3 sha256 "])
        // Back to text on one side only is binary still.
        _ = try vault.commit()
        try setting.write("é\n", to: "nul", in: "a")
        #expect(try files(vault).map(\.content) == [.binary])
    }

    @Test func `a text over the limit is told as too large, with size and hash`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        let text = String(repeating: "0123456\n", count: 40_000)
        try setting.write(text, to: "f", in: "a")
        _ = try vault.commit()
        try setting.write(text + "x\n", to: "f", in: "a")
        try setting.write(text, to: "new", in: "a")
        let small = try files(vault, DiffOptions(textLimit: 320_001))
        let file = small[0]
        #expect(file.content == .tooLarge && file.status == .modified)
        #expect(file.before?.size == 320_000 && file.after?.size == 320_002)
        let bytes = Array((text + "x\n").utf8)
        let digest = try SHA256.hash(bytes.span)
        let hex = Hex.text(digest.span)
        #expect(file.after?.sha256 == hex)
        #expect(file.linesAdded == nil)
        let whole = try files(vault, DiffOptions(textLimit: 320_002))
        #expect(whole[0].linesAdded == 1 && whole[0].linesRemoved == 0)
        #expect(whole[1].linesAdded == 40_000)
        #expect(DiffOptions().textLimit == 8 * 1024 * 1024)
    }

    @Test func `a renamed file is one with exactly the same content`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        for name in ["x/same", "y/same", "other", "edited", "kept"] {
            try setting.write(name.hasSuffix("same") ? "twin" : "\(name) text", to: name, in: "a")
        }
        _ = try vault.commit()
        for name in ["x/same", "y/same", "other", "edited"] { try setting.remove(name, in: "a") }
        try setting.write("twin", to: "a-copy", in: "a")
        try setting.write("twin", to: "z/same", in: "a")
        try setting.write("other text", to: "renamed", in: "a")
        try setting.write("edited texT", to: "edited2", in: "a")
        try setting.write("kept text", to: "copied", in: "a")
        // The twin with the same last name is taken first; what has only the same size is not renamed.
        let expected = [
            "added copied", "deleted edited", "added edited2", "renamed other > renamed", "renamed x/same > a-copy",
            "renamed y/same > z/same",
        ]
        let here = try told(files(vault))
        #expect(here.sorted() == expected.sorted())
        #expect(try told(files(vault, DiffOptions(detail: .names))) == here)
        _ = try vault.commit()
        #expect(try told(files(vault, DiffOptions(subject: .commit("HEAD")))) == here)
        #expect(try told(files(vault, DiffOptions(subject: .revisions("HEAD~1", "HEAD"), detail: .names))) == here)
        #expect(
            try files(vault, DiffOptions(subject: .commit("HEAD"))).filter { $0.status == .renamed }.allSatisfy {
                $0.before == $0.after && $0.content == .text([])
            })
        // From outside of the paths that are asked for it is new.
        let below = try VaultPath("z")
        #expect(try told(files(vault, DiffOptions(subject: .commit("HEAD"), paths: [below]))) == ["added z/same"])
    }

    @Test func `a state two commits back is compared with the files as they are`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("1", to: "back", in: "a")
        try setting.write("1", to: "stays", in: "a")
        let first = try #require(try vault.commit().commit?.id)
        try setting.write("2", to: "back", in: "a")
        try setting.write("1", to: "temporary", in: "a")
        _ = try vault.commit()
        // Back to what it was, and gone again: no difference from the first commit.
        try setting.write("1", to: "back", in: "a")
        try setting.remove("temporary", in: "a")
        #expect(try told(files(vault, DiffOptions(subject: .since(first.text)))) == [])
        #expect(try told(files(vault)) == ["modified back", "deleted temporary"])
        #expect(
            try vault.diff(DiffOptions(subject: .since("HEAD~1..HEAD"))) { _ in true }.from == first)
    }

    @Test func `the remote's head as last seen is compared with the files`() async throws {
        let (setting, vault) = try await TwoClones.published()
        #expect(try told(files(vault, DiffOptions(subject: .remote("origin")))) == [])
        try setting.write("two", to: "g", in: "a")
        _ = try vault.commit()
        try setting.write("one and more", to: "f", in: "a")
        #expect(try told(files(vault, DiffOptions(subject: .remote("origin")))) == ["modified f", "added g"])
        #expect(throws: VaultError.coded(.remoteNotFound)) {
            try vault.diff(DiffOptions(subject: .remote("none"))) { _ in true }
        }
        let fresh = try setting.create("b")
        #expect(throws: VaultError.coded(.remoteNotFound)) {
            try fresh.diff(DiffOptions(subject: .remote("origin"))) { _ in true }
        }
    }

    @Test func `content is checked before it is told`() throws {
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("content", to: "f", in: "a")
        _ = try vault.commit()
        let blob = try #require(try vault.list().first?.objectID)
        try setting.write("other", to: "f", in: "a")
        let place = try vault.layout.place(of: .object(blob))
        try place.folder.removeFile(place.name)
        #expect(throws: VaultError.coded(.objectMissing)) { try vault.diff { _ in true } }
        // Which files differ is known without their content.
        #expect(try told(files(vault, DiffOptions(detail: .names))) == ["modified f"])
    }

    @Test func `a file that can not be read is never left out silently`() throws {
        guard ProcessContext.effectiveUserID != 0 else { return }
        let setting = try TwoClones()
        let vault = try setting.create("a")
        try setting.write("content", to: "f", in: "a")
        _ = try vault.commit()
        try Shell.run("chmod 000 '\(setting.folder.path.text)/a/f'; echo x >'\(setting.folder.path.text)/a/g'")
        try Shell.run("touch -d '2020-01-01' '\(setting.folder.path.text)/a/f'")
        #expect(throws: VaultError.coded(.permissionDenied)) { try vault.diff { _ in true } }
        let other = try VaultPath("g")
        #expect(try told(files(vault, DiffOptions(paths: [other]))) == ["added g"])
    }
}
