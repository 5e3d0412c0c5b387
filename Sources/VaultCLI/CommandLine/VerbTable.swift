/// All verbs and the options that every verb takes.
struct VerbTable: Sendable {
    let globals: [OptionSpec]
    /// In the order of the overview.
    let verbs: [Verb]

    /// The verbs with this first word: one, or the actions of a group.
    func verbs(startingWith word: String) -> [Verb] {
        verbs.filter { $0.words.first == word }
    }

    /// The verb of exactly these words; a group's default for its word alone.
    func verb(_ words: [String]) -> Verb? {
        verbs.first { $0.words == words }
            ?? (words.count == 1 ? verbs(startingWith: words[0]).first { $0.isDefault } : nil)
    }

    /// First words without repetition.
    var firstWords: [String] {
        var seen: Set<String> = []
        return verbs.compactMap { verb in
            verb.words.first.flatMap { seen.insert($0).inserted ? $0 : nil }
        }
    }

    /// Whether a first word has actions below it.
    func isGroup(_ word: String) -> Bool {
        verbs(startingWith: word).contains { $0.words.count > 1 }
    }
}
