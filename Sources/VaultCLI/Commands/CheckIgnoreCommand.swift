internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl check-ignore`.
enum CheckIgnoreCommand {
    static let rules = OptionSpec.flag("--rules", help: "list the rules instead")

    static let verb = Verb(
        words: ["check-ignore"], group: .work, summary: "why a path is or is not left out of commits",
        paragraph: """
            Prints those of the paths that commits leave out, with -v all of them, with the rule and where it stands. \
            Rules are about untracked files only. --rules lists the built-in names, the lines of .gitignore and what \
            vaultctl rm --cached recorded.
            """,
        synopsis: ["check-ignore PATH...", "check-ignore --rules"], options: [rules],
        positionals: [Positional("PATH", help: "a path; it need not exist", repeatable: true, completion: .file)],
        exits: [.init(.ok), .init(.negative, "no PATH is ignored"), .init(.integrity), .init(.refused)],
        examples: [
            .init("vaultctl check-ignore -v build/out.o", "Names the rule."),
            .init("vaultctl check-ignore --rules", "All rules."),
        ],
        document: .init(
            "vaultctl/check-ignore/1", "paths[{path,ignored,tracked,rule,source}]; with --rules: rules[{rule,source}]"),
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let words = call.arguments.allPositionals
        guard call.has(rules) == words.isEmpty else {
            throw Usage.error("check-ignore takes PATH or '--rules'", about: [call.verb])
        }
        let vault = try VaultPlace.open(call)
        if call.has(rules) { return try call.answer(RulesAnswer(rules: try vault.ignoreRules())) }
        let typed = PathArgument(call: call, root: vault.rootPath)
        let verdicts = try vault.ignoreVerdicts(try words.map { try typed.file($0) })
        return try call.answer(
            IgnoreAnswer(verdicts: verdicts, typed: typed),
            exit: verdicts.contains(where: \.isIgnored) ? .ok : .negative)
    }
}

/// Whether paths are ignored, told.
private struct IgnoreAnswer: Rendered {
    let verdicts: [IgnoreVerdict]
    let typed: PathArgument

    func writeText(to text: TextRenderer) throws {
        for verdict in verdicts where verdict.isIgnored || text.isVerbose {
            let shown = String(decoding: TextSafety.path(typed.typed(verdict.path.bytes)), as: UTF8.self)
            guard text.isVerbose else {
                try text.line(shown)
                continue
            }
            let rule = verdict.rule.map { TextSafety.line($0) } ?? (verdict.isTracked ? "tracked" : "no rule")
            try text.line("\(verdict.source.map { "\($0): " } ?? "")\(rule)\t\(shown)")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "paths": .array(
                verdicts.map {
                    .record([
                        "path": .path($0.path), "ignored": .bool($0.isIgnored), "tracked": .bool($0.isTracked),
                        "rule": .optional($0.rule), "source": .optional($0.source),
                    ])
                })
        ])
    }
}

/// The rules, told.
private struct RulesAnswer: Rendered {
    let rules: [IgnoreRule]

    func writeText(to text: TextRenderer) throws {
        for rule in rules { try text.line("\(rule.source): \(TextSafety.line(rule.rule))") }
    }

    func jsonMembers() -> [JSONMember] {
        .record(["rules": .array(rules.map { .record(["rule": .string($0.rule), "source": .string($0.source)]) })])
    }
}
