internal import VaultFormat

/// `vaultctl help --json`: the whole surface for programs (spec 10 B.14).
struct HelpJSON {
    let table: VerbTable

    /// Members after `schema` and `ok`.
    func members() -> [JSONMember] {
        .record([
            "version": .string(Version.number),
            "exit_codes": .array(ExitCode.allCases.map(exitCode)),
            "globals": .array(table.globals.map(option)),
            "verbs": .array(table.verbs.map(verb)),
        ])
    }

    private func exitCode(_ code: ExitCode) -> JSONValue {
        .record([
            "code": .integer(Int64(code.rawValue)),
            "name": .string(code.name),
            "meaning": .string(code.meaning),
            "retryable": .bool(code.isRetryable),
        ])
    }

    private func option(_ option: OptionSpec) -> JSONValue {
        .record([
            "flags": .strings(option.flags),
            "arg": .optional(option.argumentName),
            "help": .string(option.help),
            "repeatable": .bool(option.repeatable),
            "secret": .bool(option.secret),
        ])
    }

    private func positional(_ positional: Positional) -> JSONValue {
        .record([
            "name": .string(positional.name),
            "help": .string(positional.help),
            "required": .bool(positional.required),
            "repeatable": .bool(positional.repeatable),
            "after_separator": .bool(positional.afterSeparator),
        ])
    }

    private func verb(_ verb: Verb) -> JSONValue {
        .record([
            "name": .string(verb.name),
            "group": .string(verb.group.rawValue),
            "synopsis": .strings(verb.synopsis.map { "vaultctl " + $0 }),
            "summary": .string(verb.summary),
            "network": .string(verb.network.rawValue),
            "options": .array(verb.options.map(option)),
            "positionals": .array(verb.positionals.map(positional)),
            "exits": .array(verb.allExits.map { .integer(Int64($0.code.rawValue)) }),
            "json_schema": .string(verb.document.schema),
        ])
    }
}
