internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl help`.
enum HelpCommand {
    static let manual = OptionSpec.flag("--man", help: "print a manual page in roff")
    static let markdown = OptionSpec.flag("--markdown", help: "print the reference of all verbs in Markdown")

    static let verb = Verb(
        words: ["help"], group: .tool, summary: "explain vaultctl or one verb",
        paragraph: """
            Without a verb, lists all verbs, the options that every verb takes, the exit codes and the environment. \
            With --json the same is told to programs; completions, manual pages and the reference are made from it.
            """,
        synopsis: ["help [--man] [--markdown] [VERB [ACTION]]"], options: [manual, markdown],
        positionals: [
            Positional("VERB", help: "the verb to explain", completion: .verb),
            Positional("ACTION", help: "its action, as in 'help remote add'"),
        ],
        exits: [.init(.ok), .init(.notFound, "there is no such verb")],
        examples: [
            .init("vaultctl help commit", "Explains one verb."),
            .init("vaultctl help --json", "The whole surface as one JSON document."),
        ],
        document: .init("vaultctl/help/1", "version, exit_codes[], globals[], verbs[]"), pages: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let table = VerbTable.standard
        let words = try call.arguments.allPositionals.map { try call.text($0, of: "the verb") }
        let verbs = try topic(words, table)
        if call.isJSON {
            try call.output.write(
                JSONDocument.result(
                    schema: call.verb.document.schema, exit: .ok,
                    members: HelpJSON(table: VerbTable(globals: table.globals, verbs: verbs)).members()))
            return .ok
        }
        for line in lines(call, words, verbs, table) { try call.output.line(line) }
        return .ok
    }

    private static func lines(_ call: Call, _ words: [String], _ verbs: [Verb], _ table: VerbTable) -> [String] {
        let one = words.isEmpty ? nil : verbs.count == 1 ? verbs[0] : nil
        if call.has(markdown) { return MarkdownHelp(table: table).document() }
        if call.has(manual) {
            let page = ManPage(table: table)
            return one.map(page.verb) ?? page.overview()
        }
        let help = HelpText(table: table)
        guard let first = words.first else { return help.overview() }
        return one.map(help.verb) ?? help.group(first)
    }

    /// The verbs that the words name: all, the actions of a group, or one.
    private static func topic(_ words: [String], _ table: VerbTable) throws -> [Verb] {
        guard let first = words.first else { return table.verbs }
        let named = words.count == 1 ? table.verbs(startingWith: first) : table.verbs.filter { $0.words == words }
        guard named.isEmpty else { return named }
        let near = Spelling.nearest(to: first, among: table.firstWords).map { "; did you mean '\($0)'?" } ?? ""
        throw VaultError(
            .keyNotFound, "there is no verb\(Usage.echo(Array(words.joined(separator: " ").utf8)))\(near)",
            hint: "vaultctl help")
    }
}
