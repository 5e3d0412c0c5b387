internal import VaultCore

/// Turns the words of a command line into `ParsedArguments` (spec 10 B.2).
///
/// Arguments are bytes throughout.
///
/// Global options may stand anywhere, a verb's options anywhere after the verb. Short options may be bundled,
/// `--opt=value` and `--opt value` are equal, `--` ends the options.
struct ArgumentParser {
    let table: VerbTable
    private var result = ParsedArguments()
    /// The verbs that the words read so far leave possible; empty before the first word.
    private var candidates: [Verb] = []
    /// A group's word was read and its action not yet.
    private var awaitsAction = false
    private var helpAsked = false

    init(table: VerbTable) {
        self.table = table
    }

    /// Reads a command line (without the program's name).
    static func parse(_ arguments: [[UInt8]], table: VerbTable) throws -> ParsedArguments {
        var parser = ArgumentParser(table: table)
        return try parser.run(arguments)
    }

    /// Whether a line asks for JSON; used where the line itself does not parse.
    static func asksForJSON(_ arguments: [[UInt8]]) -> Bool {
        let marker = Array("--".utf8)
        let json = Array(GlobalOptions.json.name.utf8)
        return arguments.prefix { $0 != marker }.contains(json)
    }

    /// The verb, or the word of the group, that was read before something was not understood.
    var verbSoFar: String? {
        candidates.count == 1 && !awaitsAction ? candidates[0].name : candidates.first?.words.first
    }

    /// Reads a command line (without the program's name).
    mutating func run(_ arguments: [[UInt8]]) throws -> ParsedArguments {
        var position = 0
        while position < arguments.count {
            let word = arguments[position]
            position += 1
            if word == Array("--".utf8) {
                guard !candidates.isEmpty else { throw Usage.error("'--' stands before any verb") }
                result.separated = Array(arguments[position...])
                break
            }
            if word.starts(with: Array("--".utf8)) {
                try takeLong(word, arguments, &position)
            } else if word.first == UInt8(ascii: "-"), word.count > 1 {
                try takeBundle(word, arguments, &position)
            } else {
                try takeWord(word)
            }
        }
        try settleVerb()
        if !helpAsked, !result.has(GlobalOptions.version) { try checkPositionals() }
        return result
    }

    // MARK: options

    private var knownOptions: [OptionSpec] {
        candidates.reduce(table.globals) { $0 + $1.options }
    }

    private mutating func takeLong(_ word: [UInt8], _ arguments: [[UInt8]], _ position: inout Int) throws {
        let equals = word.firstIndex(of: UInt8(ascii: "="))
        let flag = String(decoding: word[..<(equals ?? word.count)], as: UTF8.self)
        guard let option = option(spelled: flag) else { throw unknownOption(flag) }
        let attached = equals.map { Array(word[($0 + 1)...]) }
        switch option.argument {
        case .none:
            guard attached == nil else { throw Usage.error("option '\(flag)' takes no value") }
            store(option, [])
        case .optional:
            store(option, attached ?? [])
        case .required:
            store(option, try attached ?? next(arguments, &position, for: option, flag))
        }
    }

    private mutating func takeBundle(_ word: [UInt8], _ arguments: [[UInt8]], _ position: inout Int) throws {
        var rest = word.dropFirst()
        while let letter = rest.popFirst() {
            let flag = "-" + String(decoding: [letter], as: UTF8.self)
            guard let option = option(spelled: flag) else { throw unknownOption(flag) }
            guard option.takesValue else {
                store(option, [])
                continue
            }
            // What follows a short option that takes a value is the value, as in `-n5`.
            store(option, rest.isEmpty ? try next(arguments, &position, for: option, flag) : Array(rest))
            return
        }
    }

    private func option(spelled flag: String) -> OptionSpec? {
        knownOptions.first { $0.flags.contains(flag) }
    }

    private func next(
        _ arguments: [[UInt8]], _ position: inout Int, for option: OptionSpec, _ flag: String
    ) throws -> [UInt8] {
        guard position < arguments.count else {
            throw Usage.error("option '\(flag)' needs a value (\(option.argumentName ?? "VALUE"))", about: candidates)
        }
        defer { position += 1 }
        return arguments[position]
    }

    private mutating func store(_ option: OptionSpec, _ value: [UInt8]) {
        if option.name == GlobalOptions.help.name { helpAsked = true }
        result.values[option.name, default: []].append(value)
    }

    private func unknownOption(_ flag: String) -> VaultError {
        let spelled = TextSafety.quoted(Array(flag.utf8.prefix(60)))
        let known = knownOptions.flatMap(\.flags)
        if candidates.isEmpty {
            if table.verbs.contains(where: { $0.options.contains { $0.flags.contains(flag) } }) {
                return Usage.error("option \(spelled) belongs after the verb")
            }
            return Usage.error("unknown option \(spelled)", suggestion: Spelling.nearest(to: flag, among: known))
        }
        let verb = candidates.count == 1 ? candidates[0].name : candidates[0].words[0]
        return Usage.error(
            "unknown option \(spelled) for '\(verb)'", suggestion: Spelling.nearest(to: flag, among: known),
            about: candidates)
    }

    // MARK: words

    private mutating func takeWord(_ word: [UInt8]) throws {
        let text = String(decoding: word, as: UTF8.self)
        if candidates.isEmpty {
            candidates = table.verbs(startingWith: text)
            awaitsAction = table.isGroup(text)
            guard !candidates.isEmpty else {
                throw Usage.error(
                    "unknown verb\(Usage.echo(word))",
                    suggestion: Spelling.nearest(to: text, among: table.firstWords), hint: "vaultctl help")
            }
        } else if awaitsAction {
            guard let action = candidates.first(where: { $0.words.count == 2 && $0.words[1] == text }) else {
                let actions = candidates.compactMap { $0.words.count == 2 ? $0.words[1] : nil }
                throw Usage.error(
                    "'\(candidates[0].words[0])' has no action\(Usage.echo(word)); it has \(Usage.list(actions))",
                    suggestion: Spelling.nearest(to: text, among: actions), about: candidates)
            }
            candidates = [action]
            awaitsAction = false
        } else {
            result.positionals.append(word)
        }
    }

    private mutating func settleVerb() throws {
        guard let first = candidates.first else { return }
        if awaitsAction {
            if helpAsked {
                result.groupWord = first.words[0]
                return
            }
            guard let verb = candidates.first(where: \.isDefault) else {
                let actions = candidates.compactMap { $0.words.count == 2 ? $0.words[1] : nil }
                throw Usage.error("'\(first.words[0])' needs an action: \(Usage.list(actions))", about: candidates)
            }
            candidates = [verb]
        }
        result.verb = candidates[0]
        // Options were accepted while the action was open; those of its siblings belong elsewhere.
        let allowed = Set(knownOptions.map(\.name))
        if let stray = result.values.keys.sorted().first(where: { !allowed.contains($0) }) {
            throw unknownOption(stray)
        }
    }

    // MARK: counts

    private func checkPositionals() throws {
        guard let verb = result.verb else { return }
        let before = verb.positionals.filter { !$0.afterSeparator }
        let hasSeparate = verb.positionals.contains(where: \.afterSeparator)
        let given = hasSeparate ? result.positionals : result.allPositionals
        let needed = before.filter(\.required)
        if given.count < needed.count {
            let missing = needed[given.count]
            throw Usage.error("'\(verb.name)' needs \(missing.name)", about: [verb])
        }
        let unlimited = before.contains(where: \.repeatable)
        if !unlimited, given.count > before.count {
            let surplus = given[before.count]
            let text = String(decoding: surplus, as: UTF8.self)
            let near = Spelling.nearest(to: "--" + text, among: (table.globals + verb.options).flatMap(\.flags))
            let what = hasSeparate ? " (paths stand after '--')" : ""
            let echo = before.contains(where: \.secret) ? "" : Usage.echo(surplus)
            throw Usage.error(
                "'\(verb.name)' does not take the argument\(echo)\(what)", suggestion: near,
                about: [verb])
        }
    }
}
