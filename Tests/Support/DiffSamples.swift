/// Random texts and random edits of them, for tests of what compares texts.
package enum DiffSamples {
    /// Lines of few kinds, so that many are equal; sometimes without a line feed at the end, sometimes empty.
    package static func text(_ random: SeededRandom, lines: Int = 60) -> [UInt8] {
        var text: [UInt8] = []
        for _ in 0..<random.below(lines) { text += line(random) }
        return ended(text, random)
    }

    /// A text with some runs of lines replaced, added or taken out.
    package static func edited(_ text: [UInt8], _ random: SeededRandom, edits: Int = 6) -> [UInt8] {
        var lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) + [0x0A] }
        if lines.last == [0x0A] { lines.removeLast() }
        for _ in 0..<1 + random.below(edits) {
            let start = random.below(lines.count + 1)
            let end = min(lines.count, start + random.below(4))
            lines.replaceSubrange(start..<end, with: (0..<random.below(4)).map { _ in line(random) })
        }
        return ended(Array(lines.joined()), random)
    }

    private static func line(_ random: SeededRandom) -> [UInt8] {
        let words = ["", "a", "b", "\tc", "  d ", "-e", "+f", "@@ -1 +1 @@", "\\ g", "é", "x\r", "--- a/h", "end"]
        return Array("\(words[random.below(words.count)])\(random.below(3) == 0 ? "\(random.below(9))" : "")\n".utf8)
    }

    private static func ended(_ text: [UInt8], _ random: SeededRandom) -> [UInt8] {
        random.below(3) == 0 && text.count > 1 ? text.dropLast() : text
    }
}
