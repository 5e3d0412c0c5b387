import Testing
import VaultFormat
import VaultTestSupport

@Suite("Vault paths and the path guard")
struct PathTests {
    /// Checks one path: whether it is protected, and what the reference makes of it below a folder.
    private func check(_ path: String, isProtected: Bool, normal: String?) {
        #expect(VaultPath.isProtected(utf8(path)) == isProtected, "\(path.debugDescription)")
        // The root itself is a place to the reference, but no file.
        guard let normal, !normal.isEmpty else {
            #expect(failure { _ = try VaultPath(path) } == .unsafePath, "\(path.debugDescription)")
            return
        }
        #expect((try? VaultPath(path))?.bytes == utf8(normal), "\(path.debugDescription)")
    }

    @Test("every path of the reference's vectors is judged alike")
    func vectors() throws {
        for row in try VectorFile("rules.json").rows("path_guard", count: 73) {
            let path = try row.string("path")
            // The vectors' root holds a symbolic link of this name, which only the file system can tell.
            let isWritable = try row.flag("writable") || path == "link" || path == "link/x"
            let normal = path.utf8.split(separator: 0x2F).filter { !$0.elementsEqual(".".utf8) }
            let joined = normal.map { String(Substring($0)) }.joined(separator: "/")
            check(path, isProtected: try row.flag("protected"), normal: isWritable ? joined : nil)
        }
    }

    @Test("700 hostile paths are judged as the reference judges them")
    func hostilePaths() throws {
        let rows = try VectorFile("extra.json").rows("paths", count: 700)
        for row in rows {
            check(
                try row.string("path"), isProtected: try row.flag("protected"), normal: row["normal"]?.text)
        }
        #expect(rows.count { $0["protected"]?.boolean == true } > 100)
    }

    @Test("bytes that are not UTF-8 stay as they are, NUL and absurd lengths are refused")
    func bytes() throws {
        #expect(try VaultPath([0x61, 0xFF, 0x2F, 0x2F, 0x62]).bytes == [0x61, 0xFF, 0x2F, 0x62])
        #expect(failure { _ = try VaultPath([0x61, 0]) } == .unsafePath)
        #expect(failure { _ = try VaultPath([]) } == .unsafePath)
        let long = [UInt8](repeating: 0x61, count: Limits.pathLength)
        #expect(try VaultPath(long).bytes.count == Limits.pathLength)
        #expect(failure { _ = try VaultPath(long + [0x61]) } == .limitExceeded)
    }

    @Test("paths are put together and taken apart by segments")
    func segments() throws {
        let path = try VaultPath("a/b c/d.txt")
        #expect(path.segments.map { text($0) } == ["a", "b c", "d.txt"])
        #expect(text(path.lastSegment) == "d.txt")
        #expect(try path.parent == VaultPath("a/b c"))
        #expect(try VaultPath("a").parent == nil)
        #expect(try VaultPath("a").appending(utf8("b c")).appending(utf8("d.txt")) == path)
        #expect(try VaultPath.joining(nil, utf8("a")) == VaultPath("a"))
        #expect(try VaultPath.joining(VaultPath("a"), utf8("b")) == VaultPath("a/b"))
        #expect(try path.isBelow(VaultPath("a")))
        #expect(try !path.isBelow(VaultPath("a/b")))
        #expect(!path.isBelow(path))
        for segment in ["", ".", "..", "a/b", "/", ".git", "x\\..", "\u{0}", ".g\u{200B}it"] {
            #expect(failure { _ = try path.appending(utf8(segment)) } == .unsafePath, "\(segment.debugDescription)")
            #expect(failure { _ = try VaultPath.joining(nil, utf8(segment)) } == .unsafePath)
        }
    }

    @Test("paths compare by bytes: spellings differ, and the order is that of the code points")
    func order() throws {
        #expect(try VaultPath("\u{E9}") != VaultPath("e\u{301}"))
        let names = ["Z", "a", "a b", "a/b", "a0", "\u{E9}", "\u{FFFF}", "😀"]
        let paths = try names.map { try VaultPath($0) }
        #expect(paths.shuffled().sorted() == paths)
    }

    @Test("a path is shown as it is, or in quotes with escapes when it could be mistaken")
    func quoting() throws {
        let cases: [(path: [UInt8], shown: String)] = [
            (utf8("a b/é😀"), "a b/é😀"), (utf8("a\nb"), "\"a\\nb\""), (utf8("a\"b"), "\"a\\\"b\""),
            (utf8("a\\b"), "\"a\\\\b\""), (utf8("\t\r\u{7}\u{8}\u{B}\u{C}x"), "\"\\t\\r\\a\\b\\v\\fx\""),
            (utf8("x\u{1B}[31m"), "\"x\\033[31m\""), (utf8("x\u{7F}"), "\"x\\177\""),
            (utf8("é\u{9B}"), "\"é\\302\\233\""), ([0x61, 0xFF], "\"a\\377\""),
            (utf8("a\u{2028}"), "\"a\\342\\200\\250\""),
        ]
        for (path, shown) in cases {
            #expect(VaultPath(unchecked: path).description == shown)
            #expect(!shown.unicodeScalars.contains { $0.value < 0x20 })
        }
    }

    @Test("a refusal names the path so that it cannot write to a terminal")
    func refusal() {
        do {
            _ = try VaultPath("../\u{1B}[2J")
            Issue.record("not refused")
        } catch {
            #expect(error.detail.contains("\\033[2J"))
        }
    }
}
