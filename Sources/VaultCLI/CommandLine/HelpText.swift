/// Help for people (spec 10 B.14): synopsis, one paragraph, options, exit codes, examples.
struct HelpText {
    let table: VerbTable

    /// What `vaultctl` alone prints: the verbs in one screen.
    func short() -> [String] {
        ["usage: vaultctl [OPTION]... VERB [ARGUMENT]...", ""] + verbList() + [
            "", "'vaultctl help VERB' explains a verb, 'vaultctl help' all options and exit codes.",
        ]
    }

    /// `vaultctl help`.
    func overview() -> [String] {
        var lines = ["vaultctl - encrypted vaults with history, on a server or in a folder", ""]
        lines += ["Usage:", "  vaultctl [OPTION]... VERB [ARGUMENT]...", ""]
        lines += verbList()
        lines += ["", "Verbs marked [net] may use the network; the others never do.", ""]
        lines += ["Options of every verb, before or after it:"] + optionRows(table.globals)
        lines += ["", "Exit codes:"] + exitRows(ExitCode.allCases.map { Verb.Exit($0) })
        lines += ["", "Environment:"]
        lines += TextLayout.columns(Reference.environment.map { (left: $0.name, right: $0.help) })
        lines += ["", "'vaultctl help VERB' explains a verb. 'vaultctl help --json' tells all of this to programs."]
        return lines
    }

    /// `vaultctl help VERB`.
    func verb(_ verb: Verb) -> [String] {
        var lines = ["vaultctl \(verb.name) - \(verb.summary)\(networkMark(verb))", "", "Usage:"]
        lines += usage(verb)
        lines += [""] + TextLayout.wrapped(verb.paragraph, width: TextLayout.helpWidth)
        if !verb.positionals.isEmpty {
            lines += ["", "Arguments:"]
            lines += TextLayout.columns(verb.positionals.map { (left: $0.name, right: $0.help) })
        }
        if !verb.options.isEmpty { lines += ["", "Options:"] + optionRows(verb.options) }
        lines += ["", "Exit codes (besides 2, 11, 12 and those of signals):"] + exitRows(verb.allExits)
        lines += ["", "Examples:"]
        for example in verb.examples {
            lines += ["  \(example.command)"]
            lines += TextLayout.wrapped(example.effect, width: TextLayout.helpWidth - 6).map { "      " + $0 }
        }
        lines += ["", "JSON (\(verb.document.schema)):"]
        lines += TextLayout.wrapped(verb.document.members, width: TextLayout.helpWidth - 2).map { "  " + $0 }
        lines += ["", "Options of every verb: 'vaultctl help'."]
        return lines
    }

    /// `vaultctl help remote`: the actions of a group.
    func group(_ word: String) -> [String] {
        let verbs = table.verbs(startingWith: word)
        let actions = verbs.map { $0.words.last ?? "" }.joined(separator: ", ")
        var lines = TextLayout.wrapped("vaultctl \(word) - \(actions)", width: TextLayout.helpWidth)
        lines += ["", "Usage:"] + verbs.flatMap(usage)
        lines += [""] + TextLayout.columns(verbs.map { (left: $0.name, right: $0.summary + networkMark($0)) })
        lines += ["", "'vaultctl help \(word) ACTION' explains one."]
        return lines
    }

    private func usage(_ verb: Verb) -> [String] {
        verb.synopsis.flatMap { line -> [String] in
            let wrapped = TextLayout.wrapped("vaultctl \(line)", width: TextLayout.helpWidth - 6)
            return wrapped.enumerated().map { ($0.offset == 0 ? "  " : "      ") + $0.element }
        }
    }

    /// What stands behind the summary of a verb that may use the network.
    func networkMark(_ verb: Verb) -> String {
        verb.network == .never ? "" : " [net]"
    }

    private func verbList() -> [String] {
        var lines: [String] = []
        for group in Verb.Group.allCases {
            let verbs = table.verbs.filter { $0.group == group }
            guard !verbs.isEmpty else { continue }
            if !lines.isEmpty { lines.append("") }
            lines.append("\(group.title):")
            lines += TextLayout.columns(verbs.map { (left: $0.name, right: $0.summary + networkMark($0)) })
        }
        return lines
    }

    private func optionRows(_ options: [OptionSpec]) -> [String] {
        TextLayout.columns(
            options.map { (left: $0.spelled, right: $0.help + ($0.repeatable ? " (repeatable)" : "")) })
    }

    private func exitRows(_ exits: [Verb.Exit]) -> [String] {
        TextLayout.columns(exits.map { (left: "\($0.code.rawValue)", right: $0.note ?? $0.code.meaning) })
    }
}
