import Testing

@testable import VaultCLI

@Suite("The nearest spelling")
struct SpellingTests {
    @Test(
        "distances count insertions, deletions, replacements and swaps",
        arguments: [
            ("commit", "commit", 0), ("comit", "commit", 1), ("ocmmit", "commit", 1), ("kitten", "sitting", 3),
            ("", "abc", 3), ("abc", "", 3),
        ])
    func distance(left: String, right: String, expected: Int) {
        #expect(Spelling.distance(Array(left.utf8), Array(right.utf8)) == expected)
    }

    @Test("only near words are offered")
    func near() {
        #expect(Spelling.nearest(to: "pul", among: ["push", "pull"]) == "pull")
        #expect(Spelling.nearest(to: "xyzzy", among: ["push", "pull"]) == nil)
        #expect(Spelling.nearest(to: "", among: ["push"]) == nil)
    }
}
