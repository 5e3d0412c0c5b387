/// How many columns of a terminal text takes (Unicode Standard Annex #11, "wide" and "fullwidth" as two).
enum DisplayWidth {
    /// The columns of text without control characters.
    static func of(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + of($1) }
    }

    /// The text, or, where it takes more than `columns`, its end behind `...`.
    static func tail(_ text: String, columns: Int) -> String {
        guard of(text) > columns else { return text }
        var left = columns - 3
        var kept: [Character] = []
        for character in text.reversed() {
            left -= of(String(character))
            if left < 0 { break }
            kept.append(character)
        }
        return String("...".prefix(max(columns, 0))) + String(kept.reversed())
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        guard scalar.value >= 0x300 else { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        // The vowels and finals of Korean syllables that are spelled out.
        case 0x1160...0x11ff: return 0
        case 0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3,
            0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18cff,
            0x1aff0...0x1b2ff, 0x20000...0x3fffd:
            return 2
        default: return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }
}
