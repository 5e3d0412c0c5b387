import Testing
import VaultCore

@testable import VaultCLI

/// Checks that a command line which the tool shows to people is one that it understands.
enum Advice {
    /// Checks every `vaultctl …` in a line of shell.
    static func check(_ line: String) throws {
        for part in line.split(whereSeparator: { "|;()<>".contains($0) }) {
            let words = shellWords(String(part))
            guard let start = words.firstIndex(of: "vaultctl") else { continue }
            do {
                _ = try ArgumentParser.parse(
                    words[(start + 1)...].map { Array($0.utf8) }, table: .standard)
            } catch {
                Issue.record("'\(line)' does not parse: \(error)")
            }
        }
    }

    /// Words with single quotes removed.
    static func shellWords(_ line: String) -> [String] {
        var words: [String] = []
        var word = ""
        var isQuoted = false
        for character in line {
            if character == "'" {
                isQuoted.toggle()
            } else if character == " ", !isQuoted {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        return words + (word.isEmpty ? [] : [word])
    }
}
