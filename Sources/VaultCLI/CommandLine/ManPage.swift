/// Manual pages in roff, for `vaultctl help --man [VERB]` and `make install`.
struct ManPage {
    let table: VerbTable

    /// The page `vaultctl(1)`.
    func overview() -> [String] {
        var lines = heading("VAULTCTL", "vaultctl", "encrypted vaults with history, on a server or in a folder")
        lines += [".SH SYNOPSIS", ".B vaultctl", "[OPTION]... VERB [ARGUMENT]...", ".SH DESCRIPTION"]
        lines += [text("Works on vaults whose files and history are encrypted before they leave this machine.")]
        lines += [text("Each verb has a page of its own, named vaultctl-VERB(1).")]
        for group in Verb.Group.allCases {
            let verbs = table.verbs.filter { $0.group == group }
            guard !verbs.isEmpty else { continue }
            lines += [".SS \(text(group.title))"] + verbs.flatMap { term($0.name, $0.summary) }
        }
        lines += [".SH OPTIONS"] + table.globals.flatMap { term($0.spelled, $0.help) }
        lines += [".SH REVISIONS AND PATHS", text(Reference.revisions), ".PP", text(Reference.paths)]
        lines += [".SH EXIT STATUS"] + ExitCode.allCases.flatMap { term("\($0.rawValue)", $0.meaning) }
        lines += [".SH ENVIRONMENT"] + Reference.environment.flatMap { term($0.name, $0.help) }
        lines += [".SH FILES"] + Reference.files.flatMap { term($0.name, $0.help) }
        return lines
    }

    /// The page of one verb.
    func verb(_ verb: Verb) -> [String] {
        let page = "vaultctl-" + verb.words.joined(separator: "-")
        var lines = heading(page.uppercased(), page, verb.summary) + [".SH SYNOPSIS", ".nf"]
        lines += verb.synopsis.map { text("vaultctl \($0)") } + [".fi", ".SH DESCRIPTION", text(verb.paragraph)]
        if verb.network != .never { lines += [".PP", text("May use the network.")] }
        if !verb.positionals.isEmpty {
            lines += [".SH ARGUMENTS"] + verb.positionals.flatMap { term($0.name, $0.help) }
        }
        if !verb.options.isEmpty { lines += [".SH OPTIONS"] + verb.options.flatMap { term($0.spelled, $0.help) } }
        lines += [".PP", text("The options of every verb are described in vaultctl(1).")]
        lines += [".SH EXIT STATUS"]
        lines += verb.allExits.flatMap { term("\($0.code.rawValue)", $0.note ?? $0.code.meaning) }
        lines += [".SH JSON", text("Schema \(verb.document.schema): \(verb.document.members).")]
        lines += [".SH EXAMPLES"] + verb.examples.flatMap { term($0.command, $0.effect) }
        lines += [".SH SEE ALSO", ".BR vaultctl (1)"]
        return lines
    }

    private func heading(_ title: String, _ name: String, _ summary: String) -> [String] {
        [".TH \"\(title)\" 1 \"\" \"vaultctl \(Version.number)\"", ".ad l", ".SH NAME", text("\(name) - \(summary)")]
    }

    private func term(_ name: String, _ help: String) -> [String] {
        [".TP", ".B \(text(name))", text(help)]
    }

    /// Text that roff prints as it is.
    private func text(_ plain: String) -> String {
        var result = ""
        for character in plain {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            default: result.append(character)
            }
        }
        return result.hasPrefix(".") ? "\\&" + result : result
    }
}
