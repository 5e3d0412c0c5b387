/// Breaks and aligns plain text.
enum TextLayout {
    /// The widest line of help (spec 10 B.14).
    static let helpWidth = 100

    /// Breaks text at blanks so that no line is wider than `width`; single words may be.
    static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        if !line.isEmpty { lines.append(line) }
        return lines
    }

    /// Two columns; a left text too wide for its column stands on a line of its own.
    static func columns(_ rows: [(left: String, right: String)], indent: Int = 2, width: Int = helpWidth) -> [String] {
        let widest = min(26, rows.map(\.left.count).max() ?? 0)
        let start = indent + widest + 2
        var lines: [String] = []
        for row in rows {
            let left = String(repeating: " ", count: indent) + row.left
            var right = wrapped(row.right, width: width - start)
            if row.left.count <= widest, !right.isEmpty {
                lines.append(padded(left, to: start) + right.removeFirst())
            } else {
                lines.append(left)
            }
            lines += right.map { String(repeating: " ", count: start) + $0 }
        }
        return lines
    }

    /// Text without the characters at its end that are of a kind.
    static func withoutSuffix(_ text: String, while isUnwanted: (Character) -> Bool) -> String {
        var kept = text[...]
        while let last = kept.last, isUnwanted(last) { kept.removeLast() }
        return String(kept)
    }

    /// Text with blanks up to a column.
    static func padded(_ text: String, to column: Int) -> String {
        text + String(repeating: " ", count: max(0, column - DisplayWidth.of(text)))
    }
}
