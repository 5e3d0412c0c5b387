import Testing
import VaultSystem

@Suite("A file path is bytes")
struct FilePathTests {
    @Test(
        "the last component and the parent are those of dirname and basename",
        arguments: [
            ("/a/b", "b", "/a"), ("/a", "a", "/"), ("a", "a", "."), ("a/b/", "b", "a"), ("a//b", "b", "a"),
            ("//a", "a", "/"), ("/a//", "a", "/"), ("./x", "x", "."),
        ])
    func parts(path: String, last: String, parent: String) {
        #expect(FilePath(path).lastComponent == Array(last.utf8))
        #expect(FilePath(path).parent == FilePath(parent))
    }

    @Test("the root and the empty path have no last component", arguments: ["/", "//", ""])
    func noLastComponent(path: String) {
        #expect(FilePath(path).lastComponent == nil)
    }

    @Test(
        "the absolute form resolves dots by text",
        arguments: [
            ("x", "/a/b", "/a/b/x"), ("../x", "/a/b", "/a/x"), ("../../../x", "/a/b", "/x"), ("./.", "/a/b", "/a/b"),
            ("/x//y/./z/..", "/a", "/x/y"), ("..", "/", "/"), ("", "/a/", "/a"), ("...", "/", "/..."),
        ])
    func absolute(path: String, base: String, expected: String) {
        #expect(FilePath(path).lexicalAbsolute(from: FilePath(base)) == FilePath(expected))
    }

    @Test("joining puts exactly one slash between", arguments: [("/a", "b", "/a/b"), ("/", "b", "/b"), ("", "b", "b")])
    func joining(base: String, component: String, expected: String) {
        #expect(FilePath(base).appending(component: component) == FilePath(expected))
    }

    @Test("an absolute path joined to another stands for itself")
    func joiningAbsolute() {
        #expect(FilePath("/a").appending(FilePath("/b")) == FilePath("/b"))
        #expect(FilePath("/a").appending(FilePath("")) == FilePath("/a"))
        #expect(FilePath("/a").isAbsolute)
        #expect(!FilePath("a").isAbsolute)
    }

    @Test(
        "names are shown as they are, or quoted as a whole when a terminal could be fooled",
        arguments: [
            (Array("grün/ß €".utf8), "grün/ß €"),
            (Array("a b".utf8), "a b"),
            (Array("a\nb".utf8), #""a\nb""#),
            (Array("tab\there".utf8), #""tab\there""#),
            (Array(#"say "x""#.utf8), #""say \"x\"""#),
            (Array(#"back\slash"#.utf8), #""back\\slash""#),
            ([0x1B, 0x5B, 0x31, 0x6D], #""\033[1m""#),
            ([0x61, 0xFF, 0x62], #""a\377b""#),
            ([0xC3], #""\303""#),
            ([0xED, 0xA0, 0x80], #""\355\240\200""#),
            (Array("\u{202E}gpj".utf8), #""\342\200\256gpj""#),
            (Array("\u{85}".utf8), #""\302\205""#),
            (Array("\u{2028}".utf8), #""\342\200\250""#),
            ([0x7F], #""\177""#),
            ([], ""),
        ])
    func quoting(bytes: [UInt8], expected: String) {
        #expect(FilePath(bytes: bytes).text == expected)
    }
}

@Suite("An error number names itself")
struct ErrnoTests {
    @Test("with the C library's sentence and name")
    func description() {
        #expect(Errno.noSuchFile.description == "No such file or directory (ENOENT)")
        #expect(Errno.tooManyLinks.description == "Too many levels of symbolic links (ELOOP)")
        #expect(Errno(rawValue: 99_999).description == "Unknown error 99999 (errno 99999)")
    }

    @Test("groups tell what a caller decides by")
    func groups() {
        #expect(Errno.quotaExceeded.isOutOfSpace && Errno.noSpace.isOutOfSpace && !Errno.ioError.isOutOfSpace)
        #expect(Errno.notPermitted.isPermission && Errno.permissionDenied.isPermission)
        #expect(Errno.noSuchFile.isAbsent && Errno.notADirectory.isAbsent && !Errno.permissionDenied.isAbsent)
    }
}
