internal import VaultCore

/// Makes the errors of a command line that is not understood.
enum Usage {
    /// A usage error, with the nearest known spelling and where to read on.
    static func error(
        _ message: String, suggestion: String? = nil, about candidates: [Verb] = [], hint: String? = nil
    ) -> VaultError {
        let full = suggestion.map { "\(message); did you mean '\($0)'?" } ?? message
        let topic = candidates.count == 1 ? candidates[0].name : candidates.first?.words.first
        return VaultError(.usage, full, hint: hint ?? topic.map { "vaultctl help \($0)" })
    }

    /// A mistyped word in quotes with a leading blank, or nothing when it could be a secret: anything that is not a
    /// short plain word is not repeated.
    static func echo(_ word: [UInt8]) -> String {
        let isPlain = word.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        guard isPlain, !word.isEmpty, word.count <= 20 else { return "" }
        return " '\(String(decoding: word, as: UTF8.self))'"
    }

    /// Words as a sentence lists them.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }
}
