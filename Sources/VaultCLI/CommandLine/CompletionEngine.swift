/// Decides what may stand at the last of the words typed so far.
///
/// Knows the verbs; what depends on a vault or a key store comes from the closure it is given.
struct CompletionEngine {
    /// A word that fits, with a few words of explanation for shells that show them.
    struct Candidate: Equatable {
        let word: [UInt8]
        let help: String?

        init(_ word: String, _ help: String? = nil) {
            self.word = Array(word.utf8)
            self.help = help
        }

        init(bytes: [UInt8]) {
            word = bytes
            help = nil
        }
    }

    let table: VerbTable
    /// Candidates of a kind that only a vault or a key store knows, for a prefix.
    let lookup: (CompletionKind, _ prefix: [UInt8]) -> [Candidate]

    /// The candidates for the last word of `words`.
    func candidates(_ words: [[UInt8]]) -> [Candidate] {
        guard let typed = words.last else { return [] }
        let current = typed == Array("=".utf8) ? [] : typed
        var state = State(table: table)
        for word in words.dropLast() { state.take(word) }

        if let option = state.pending { return values(option.completion, current) }
        if state.separated { return positional(state, current) }
        if current.starts(with: Array("--".utf8)), let equals = current.firstIndex(of: UInt8(ascii: "=")) {
            let flag = String(decoding: current[..<equals], as: UTF8.self)
            guard let option = state.options.first(where: { $0.flags.contains(flag) }) else { return [] }
            let start = Array(current[...equals])
            return values(option.completion, Array(current[(equals + 1)...])).map {
                $0.word.first == UInt8(ascii: ":") ? $0 : Candidate(bytes: start + $0.word)
            }
        }
        if current.first == UInt8(ascii: "-") {
            return matching(
                state.options.flatMap { option in option.flags.map { Candidate($0, option.help) } }, current)
        }
        if state.candidates.isEmpty { return matching(verbWords(), current) }
        if state.awaitsAction {
            return matching(
                state.candidates.compactMap { $0.words.count == 2 ? Candidate($0.words[1], $0.summary) : nil }, current)
        }
        return positional(state, current)
    }

    private func verbWords() -> [Candidate] {
        table.firstWords.map { word in
            Candidate(word, table.isGroup(word) ? nil : table.verb([word])?.summary)
        }
    }

    private func positional(_ state: State, _ current: [UInt8]) -> [Candidate] {
        guard let verb = state.candidates.first, !state.awaitsAction else { return [] }
        let separate = verb.positionals.filter { $0.afterSeparator == state.separated }
        let fitting = separate.isEmpty && state.separated ? verb.positionals : separate
        guard let last = fitting.last else { return [] }
        let index = state.positionals
        guard index < fitting.count || last.repeatable else { return [] }
        return values(fitting[min(index, fitting.count - 1)].completion, current)
    }

    private func values(_ kind: CompletionKind, _ current: [UInt8]) -> [Candidate] {
        switch kind {
        case .nothing: []
        case .file: [Candidate(":file")]
        case .folder: [Candidate(":folder")]
        case .choice(let words): matching(words.map { Candidate($0) }, current)
        case .verb: matching(verbWords(), current)
        case .setting:
            matching(SettingKey.all.filter { $0.scope != .nowhere }.map { Candidate($0.name, $0.help) }, current)
        case .vaultPath, .revision, .remote, .keyPair, .knownKey: matching(lookup(kind, current), current)
        }
    }

    private func matching(_ candidates: [Candidate], _ prefix: [UInt8]) -> [Candidate] {
        candidates.filter { $0.word.starts(with: prefix) }
    }

    /// What the words before the last one say, read leniently: nothing here is an error.
    private struct State {
        let table: VerbTable
        var candidates: [Verb] = []
        var awaitsAction = false
        var separated = false
        var positionals = 0
        /// An option that still lacks its value.
        var pending: OptionSpec?

        init(table: VerbTable) { self.table = table }

        var options: [OptionSpec] { candidates.reduce(table.globals) { $0 + $1.options } }

        mutating func take(_ word: [UInt8]) {
            if pending != nil {
                // Some shells split `--opt=value` at the sign.
                if word != Array("=".utf8) { pending = nil }
                return
            }
            let text = String(decoding: word, as: UTF8.self)
            if separated {
                positionals += 1
            } else if text == "--" {
                separated = true
                positionals = 0
            } else if text.hasPrefix("-"), text.count > 1 {
                guard !text.contains("=") else { return }
                pending = options.first { $0.takesValue && $0.flags.contains(text) }
            } else if candidates.isEmpty {
                candidates = table.verbs(startingWith: text)
                awaitsAction = table.isGroup(text)
            } else if awaitsAction {
                let chosen = candidates.filter { $0.words.count == 2 && $0.words[1] == text }
                if !chosen.isEmpty {
                    candidates = chosen
                    awaitsAction = false
                }
            } else {
                positionals += 1
            }
        }
    }
}
