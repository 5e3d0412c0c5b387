import Testing
import VaultTestSupport

@testable import VaultCore

@Suite("Texts compared and merged by line")
struct TextMergeTests {
    private func merge(_ base: String, _ ours: String, _ theirs: String, union: Bool = false) -> String? {
        TextMerge.merge(base: Array(base.utf8), ours: Array(ours.utf8), theirs: Array(theirs.utf8), union: union)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// The length of the longest common subsequence, by the textbook's table.
    private func common(_ a: [Int], _ b: [Int]) -> Int {
        var row = Array(repeating: 0, count: b.count + 1)
        for x in a {
            var diagonal = 0
            for index in b.indices {
                let above = row[index + 1]
                row[index + 1] = b[index] == x ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return row[b.count]
    }

    @Test func `what is common is common, in order, and as much as there is`() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<3000 {
            let letters = Int.random(in: 1...5, using: &random)
            func text() -> [Int] {
                (0..<Int.random(in: 0...24, using: &random)).map { _ in Int.random(in: 0..<letters, using: &random) }
            }
            let (a, b) = (text(), text())
            let matches = LineDiff.matches(a, b)
            var (left, right, total) = (0, 0, 0)
            for match in matches {
                #expect(match.old >= left && match.new >= right && match.count > 0)
                #expect(a[match.old..<match.old + match.count] == b[match.new..<match.new + match.count])
                (left, right) = (match.old + match.count, match.new + match.count)
                total += match.count
            }
            #expect(left <= a.count && right <= b.count)
            #expect(total == common(a, b), "\(a) \(b)")
        }
    }

    @Test func `texts that have nothing in common end soon`() {
        let a = Array(0..<40_000)
        let b = Array(100_000..<140_000)
        #expect(LineDiff.hunks(a, b) == [LineDiff.Hunk(old: 0..<40_000, new: 0..<40_000)])
        // Half of the lines moved: far more edits than are looked for.
        let small = Array(0..<4000)
        let thinned = small.filter { $0 % 2 == 0 } + small.filter { $0 % 2 == 1 }
        var kept = 0
        for match in LineDiff.matches(small, thinned) { kept += match.count }
        #expect(kept > 0)
    }

    @Test func `changes of different lines both stand`() {
        #expect(merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n") == "A\nb\nc\nd\nE\n")
        #expect(merge("a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nc\ny\n") == "a\nx\nb\nc\ny\n")
        #expect(merge("a\nb\nc\nd\n", "a\nd\n", "a\nb\nc\nd\ne") == "a\nd\ne")
        #expect(merge("", "", "") == "")
        #expect(merge("a\n", "a\n", "") == "")
    }

    @Test func `the same change on both sides is made once`() {
        #expect(merge("a\nb\nc\n", "a\nx\nc\n", "a\nx\nc\n") == "a\nx\nc\n")
        #expect(merge("a\nb\nc\nd\ne\n", "a\nx\nc\nd\ne\n", "a\nx\nc\nd\nE\n") == "a\nx\nc\nd\nE\n")
    }

    @Test func `changes of the same lines, or of lines that touch, conflict`() {
        #expect(merge("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n") == nil)
        #expect(merge("a\nb\nc\n", "a\nx\nc\n", "a\nb\ny\n") == nil)
        #expect(merge("a\nc\n", "a\nx\nc\n", "a\ny\nc\n") == nil)
        #expect(merge("a\nb", "a\nc", "a\nb\n") == nil)
        #expect(merge("a\nb\nc\n", "a\nc\n", "a\nx\nc\n") == nil)
    }

    @Test func `a union keeps the lines of both`() {
        #expect(merge("a\nb\nc\n", "a\nx\nc\n", "a\ny\nc\n", union: true) == "a\nx\ny\nc\n")
        #expect(merge("a\nb", "a\nc", "a\nd", union: true) == "a\nc\nd")
        #expect(merge("", "x", "y", union: true) == "x\ny")
    }

    @Test func `text is UTF-8 without NUL`() {
        #expect(TextMerge.isText(Array("grüße\n".utf8)))
        #expect(TextMerge.isText([]))
        #expect(!TextMerge.isText([0x61, 0]))
        #expect(!TextMerge.isText([0xC3, 0x28]))
        #expect(!TextMerge.isText([0xFF, 0xFE, 0x61, 0x00]))
    }

    /// Both sides change lines of their own; whatever the edits, a clean result holds each of them.
    @Test func `a clean merge is the same from either side and loses no line`() {
        var random = SeededRandom(seed: 11)
        var clean = 0
        for _ in 0..<2000 {
            let base = (0..<Int.random(in: 0...20, using: &random)).map { "line \($0)" }
            func edited(_ mark: String) -> [String] {
                var lines = base
                for number in 0..<Int.random(in: 0...3, using: &random) {
                    let place = Int.random(in: 0...lines.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: lines.insert("\(mark) \(number)", at: place)
                    case 1 where place < lines.count: lines[place] = "\(mark) changed \(number)"
                    case 2 where place < lines.count: lines.remove(at: place)
                    default: break
                    }
                }
                return lines
            }
            func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
            let (ours, theirs) = (edited("o"), edited("t"))
            let merged = merge(text(base), text(ours), text(theirs))
            #expect(merged == merge(text(base), text(theirs), text(ours)))
            #expect(merge(text(base), text(ours), text(base)) == text(ours))
            guard let merged else { continue }
            clean += 1
            let lines = Set(merged.split(separator: "\n").map(String.init))
            for line in Set(ours).subtracting(base) { #expect(lines.contains(line)) }
            for line in Set(theirs).subtracting(base) { #expect(lines.contains(line)) }
            // A line stays when both kept it, and goes when one removed it.
            for line in base { #expect(lines.contains(line) == (ours.contains(line) && theirs.contains(line))) }
        }
        #expect(clean > 300)
    }
}
