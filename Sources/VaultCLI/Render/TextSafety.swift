internal import VaultSystem

/// Keeps what others chose (file names, messages, server texts) from driving the terminal (spec 10 B.4).
enum TextSafety {
    /// A path for a line of text: as it is when printable, else C-quoted as a whole.
    static func path(_ bytes: [UInt8]) -> [UInt8] {
        isPlainASCII(bytes) ? bytes : Array(QuotedName.text(bytes).utf8)
    }

    /// Bytes for a message, always in quotes.
    static func quoted(_ bytes: [UInt8]) -> String {
        let text = QuotedName.text(bytes)
        return text.hasPrefix("\"") ? text : "'\(text)'"
    }

    /// Text with line ends kept and every other control character spelled out as `\ooo`.
    static func lines(_ text: String) -> String {
        escaping(text) { $0 == "\n" }
    }

    /// Text for one line: control characters and line ends spelled out.
    static func line(_ text: String) -> String {
        escaping(text) { _ in false }
    }

    /// A line of a file for a terminal: tabs kept, everything else that drives it spelled out.
    static func content(_ bytes: [UInt8]) -> [UInt8] {
        let isPlain = bytes.allSatisfy { (0x20..<0x7f).contains($0) || $0 == 0x09 }
        return isPlain ? bytes : Array(escaping(String(decoding: bytes, as: UTF8.self)) { $0 == "\t" }.utf8)
    }

    private static func isPlainASCII(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy {
            (0x20..<0x7f).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
    }

    /// Characters that move the cursor, end a line or turn the writing direction.
    private static func drivesTerminal(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f...0x9f, 0x2028, 0x2029, 0x061c, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }

    private static func escaping(_ text: String, except keep: (Unicode.Scalar) -> Bool) -> String {
        guard text.unicodeScalars.contains(where: { drivesTerminal($0) && !keep($0) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if drivesTerminal(scalar), !keep(scalar) {
                for byte in Array(String(scalar).utf8) { result += "\\" + octal(byte) }
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return String(repeating: "0", count: 3 - digits.count) + digits
    }
}
