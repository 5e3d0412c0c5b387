import Testing
import VaultFormat
import VaultTestSupport

@testable import struct VaultFormat.Glob

@Suite("Ignore rules")
struct IgnoreRuleTests {
    @Test("the verdicts of the reference's vectors about untracked paths")
    func vectors() throws {
        var verdicts = 0
        for row in try VectorFile("rules.json").rows("ignore", count: 19) {
            let lines = try #require(row["gitignore"]?.items).compactMap(\.text)
            let tracked = try #require(row["tracked"]?.items).compactMap(\.text)
            let rules = try IgnoreRules(gitignore: utf8(lines.joined(separator: "\n")))
            for verdict in try #require(row["verdicts"]?.items) {
                let path = try verdict.string("path")
                verdicts += 1
                // Rules speak of untracked paths only; the caller keeps what is tracked, and its folders.
                let isTracked = tracked.contains(path) || tracked.contains { $0.hasPrefix(path + "/") }
                if isTracked, !VaultPath.isProtected(utf8(path)) { continue }
                // A folder with tracked files is entered, but what is untracked in it stays ignored with the folder.
                let isInside = ancestors(of: path).contains { folder in
                    tracked.contains { $0.hasPrefix(folder + "/") } && rules.ignoresFolder(utf8(folder))
                }
                let isIgnored = isInside || rules.ignoresFile(utf8(path))
                #expect(isIgnored == (try verdict.flag("as_file")), "\(lines) \(path)")
                #expect(rules.ignoresFolder(utf8(path)) == (try verdict.flag("as_folder")), "\(lines) \(path)")
            }
        }
        #expect(verdicts == 100)
    }

    private func ancestors(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (1..<max(1, parts.count)).map { parts.prefix($0).joined(separator: "/") }
    }

    @Test("400 drawn pattern files give the verdicts of the reference")
    func drawnPatterns() throws {
        var verdicts = 0
        for row in try VectorFile("extra.json").rows("ignore", count: 400) {
            let rules = try IgnoreRules(gitignore: try row.utf8("gitignore"))
            for verdict in try #require(row["verdicts"]?.items) {
                let items = try #require(verdict.items)
                let path = try #require(items[0].text)
                let shown = "\(try row.string("gitignore").debugDescription) \(path.debugDescription)"
                #expect(rules.ignoresFile(utf8(path)) == items[1].boolean, "file \(shown)")
                #expect(rules.ignoresFolder(utf8(path)) == items[2].boolean, "folder \(shown)")
                verdicts += 1
            }
        }
        #expect(verdicts == 3600)
    }

    @Test("the reason names the line that decides, or the kind of name")
    func reasons() throws {
        let rules = try IgnoreRules(gitignore: utf8("# c\n*.log\n!keep.log\nbuild/\nkeep.log.old\n"))
        #expect(rules.reasonForFile(utf8("a/b.log")) == .pattern(line: 2, text: "*.log"))
        #expect(rules.reasonForFile(utf8("keep.log")) == nil)
        #expect(rules.reasonForFolder(utf8("x/build")) == .pattern(line: 4, text: "build/"))
        #expect(rules.reasonForFile(utf8("x/build")) == nil)
        #expect(rules.reasonForFile(utf8(".git/config")) == .protectedPath)
        #expect(rules.reasonForFile(utf8("a/.env")) == .secretName)
        #expect(rules.reasonForFolder(utf8("a/node_modules")) == .toolFolder)
    }

    @Test("a .gitignore that is not UTF-8, or too large, is refused; none at all is no rule")
    func files() throws {
        #expect(failure { _ = try IgnoreRules(gitignore: [0xFF]) } == .malformed)
        let large = [UInt8](repeating: 0x0A, count: Limits.ignoreFile + 1)
        #expect(failure { _ = try IgnoreRules(gitignore: large) } == .limitExceeded)
        #expect(try !IgnoreRules(gitignore: nil).ignoresFile(utf8("a")))
        // A byte-order mark stays part of the first line.
        #expect(try !IgnoreRules(gitignore: utf8("\u{FEFF}a\nb")).ignoresFile(utf8("a")))
        #expect(try IgnoreRules(gitignore: utf8("\u{FEFF}a\nb")).ignoresFile(utf8("b")))
    }

    @Test("patterns match as a plain backtracking matcher says")
    func oracle() {
        let random = SeededRandom.announced("glob oracle")
        let pieces = ["a", "b", "*", "*", "?", "[ab]", "[!a]", "[b-a]", "[", "]", "-", "/", "é"]
        for _ in 0..<20_000 {
            let pattern = scalars((0..<random.below(8)).map { _ in pieces[random.below(pieces.count)] }.joined())
            let letters = ["a", "b", "c", "/", "é"]
            let subject = scalars((0..<random.below(10)).map { _ in letters[random.below(5)] }.joined())
            let glob = Glob(pattern)
            let expected = Oracle.matches(pattern[...], subject[...])
            #expect(glob.matches(subject[...]) == expected, "\(random) \(pattern) \(subject)")
            var tails = [subject[...]]
            for index in subject.indices where subject[index] == 0x2F { tails.append(subject[(index + 1)...]) }
            let tail = tails.contains { Oracle.matches(pattern[...], $0) }
            #expect(glob.matchesTail(subject[...]) == tail, "\(random) \(pattern) \(subject)")
        }
    }

    @Test("patterns made to be slow are not", .timeLimit(.minutes(10)))
    func hostilePatterns() throws {
        let path = utf8(String(repeating: "a/", count: 1000) + String(repeating: "a", count: 255))
        let stars = String(repeating: "*a", count: 200) + "b"
        for pattern in [
            stars, "**/" + stars, "a/**" + stars, "x/" + stars, String(repeating: "[", count: 100_000),
            String(repeating: "[!", count: 50_000), "[" + String(repeating: "a-", count: 100_000) + "]",
            String(repeating: "*", count: 100_000) + "x", String(repeating: "**/", count: 1000) + "x",
        ] {
            let rules = try IgnoreRules(gitignore: utf8(pattern))
            #expect(!rules.ignoresFile(path))
            #expect(!rules.ignoresFolder(path))
        }
        let many = try IgnoreRules(gitignore: utf8((0..<50_000).map { "name-\($0)" }.joined(separator: "\n")))
        for number in 0..<2_000 { #expect(many.ignoresFile(utf8("x/name-\(number)"))) }
    }

    private func scalars(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }
}

/// A matcher that tries everything; too slow for anything but short texts.
private enum Oracle {
    static func matches(_ pattern: ArraySlice<UInt32>, _ text: ArraySlice<UInt32>) -> Bool {
        guard let head = pattern.first else { return text.isEmpty }
        let rest = pattern.dropFirst()
        switch head {
        case 0x2A: return (text.startIndex...text.endIndex).contains { matches(rest, text[$0...]) }
        case 0x3F: return !text.isEmpty && matches(rest, text.dropFirst())
        case 0x5B:
            var end = rest.startIndex
            if end < rest.endIndex, rest[end] == 0x21 { end += 1 }
            if end < rest.endIndex, rest[end] == 0x5D { end += 1 }
            while end < rest.endIndex, rest[end] != 0x5D { end += 1 }
            guard end < rest.endIndex else { return text.first == 0x5B && matches(rest, text.dropFirst()) }
            guard let scalar = text.first, isMember(scalar, Array(rest[..<end])) else { return false }
            return matches(rest[(end + 1)...], text.dropFirst())
        default: return text.first == head && matches(rest, text.dropFirst())
        }
    }

    private static func isMember(_ scalar: UInt32, _ set: [UInt32]) -> Bool {
        var body = set[...]
        // An empty range at the start uncovers what follows it, a `!` too.
        while body.first != 0x21, body.count >= 3, isRange(body), head(body) > head(body.dropFirst(2)) {
            body = body.dropFirst(3)
        }
        let isNegated = body.first == 0x21
        if isNegated { body = body.dropFirst() }
        var found = false
        while let first = body.first {
            if body.count >= 3, isRange(body) {
                let last = head(body.dropFirst(2))
                found = found || (first <= scalar && scalar <= last)
                body = body.dropFirst(3)
            } else {
                found = found || first == scalar
                body = body.dropFirst()
            }
        }
        return found != isNegated
    }

    private static func head(_ body: ArraySlice<UInt32>) -> UInt32 { body.first ?? 0 }
    private static func isRange(_ body: ArraySlice<UInt32>) -> Bool { body.dropFirst().first == 0x2D }
}
