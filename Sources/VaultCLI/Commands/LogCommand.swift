internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl log`.
enum LogCommand {
    static let number = OptionSpec.value("-n", argument: "N", help: "at most N commits")
    static let oneline = OptionSpec.flag("--oneline", help: "one line per commit")
    static let graph = OptionSpec.flag("--graph", help: "draw the lines between the commits")
    static let stat = DiffCommand.stat
    static let patch = OptionSpec.flag("-p", "--patch", help: "what each commit changed, as a patch")
    static let firstParent = OptionSpec.flag("--first-parent", help: "follow only the first parent of merges")
    static let reverse = OptionSpec.flag("--reverse", help: "oldest first")
    static let grep = OptionSpec.value(
        "--grep", argument: "RE", help: "only commits in whose message the regular expression is found")
    static let ignoreCase = OptionSpec.flag("-i", "--ignore-case", help: "letters of RE and W stand for both cases")
    static let author = OptionSpec.value(
        "--author", argument: "W", help: "only commits whose branch name, branch id or key id holds W")
    static let since = OptionSpec.value(
        "--since", argument: "T", help: "only commits from T on: '2026-11-30', '2026-11-30 14:03', '3d', '2 weeks ago'")
    static let until = OptionSpec.value(
        "--until", argument: "T", help: "only commits up to T; a day without a time is part of it")
    static let merges = OptionSpec.flag("--merges", help: "only merges")
    static let noMerges = OptionSpec.flag("--no-merges", help: "no merges")
    static let showSignature = OptionSpec.flag("--show-signature", help: "check and show the signatures")
    static let exitCode = OptionSpec.flag("--exit-code", help: "exit 1 when there is no such commit")

    static let verb = Verb(
        words: ["log"], group: .work, summary: "show the history",
        paragraph: """
            Shows the commits that lead to a revision (default: the head), newest first. A range A..B shows what B has \
            and A lacks, A...B what B has beyond their merge base; a side that is left out is the head. With PATH only \
            commits that change something at or below it. All conditions have to hold, and each goes with each form. \
            What a commit changed is told against its first parent. --json always tells which files that were.
            """,
        synopsis: [
            "log [--oneline] [--graph] [--stat] [-p] [-n N] [--first-parent] [--reverse] [--grep RE] [-i] [--author W] "
                + "[--since T] [--until T] [--merges | --no-merges] [--show-signature] [--exit-code] [REV | A..B] "
                + "[-- PATH...]"
        ],
        options: [
            number, oneline, graph, stat, patch, firstParent, reverse, grep, ignoreCase, author, since, until, merges,
            noMerges, showSignature, exitCode,
        ],
        positionals: [
            Positional("REV", help: "a revision or a range A..B", completion: .revision),
            Positional(
                "PATH", help: "after '--': only commits that change something here", repeatable: true,
                afterSeparator: true, completion: .vaultPath),
        ],
        exits: [
            .init(.ok), .init(.negative, "with --exit-code: there is no such commit"),
            .init(.notFound, "there is no such revision"), .init(.auth), .init(.integrity),
        ],
        examples: [
            .init("vaultctl log --oneline origin/current..HEAD -- docs", "Commits not pushed yet that change 'docs'."),
            .init("vaultctl log --graph --since 2w --grep '^Fix' -i", "Fixes of the last two weeks."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/log/1",
            "commits[{id, parents[], tree, subject, message, time_ms, branch_id, author{name,key_id}, signature, "
                + "changes{added[],modified[],deleted[],renamed[{old_path,path}]}, "
                + "files[] as show (with --stat or -p)}], truncated, boundary[]"),
        pages: true, action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        var options = try options(call)
        let vault = try VaultPlace.open(call)
        options.paths = try PathArgument(call: call, root: vault.rootPath).paths(call.arguments.separated) ?? []
        let withFiles = call.has(stat) || call.has(patch)
        try call.completing(vault) { try vault.requireLog(options, withFiles: withFiles) }
        let count = call.isJSON ? try answer(call, vault, options) : try tell(call, vault, options)
        return call.has(exitCode) && count == 0 ? .negative : .ok
    }

    private static func options(_ call: Call) throws -> LogOptions {
        if call.has(merges), call.has(noMerges) {
            throw Usage.error("'--merges' and '--no-merges' leave nothing", about: [call.verb])
        }
        if call.has(graph), call.has(reverse) {
            throw Usage.error("'--graph' draws newest first, so it does not go with '--reverse'", about: [call.verb])
        }
        let now = call.surroundings.vault.clock.nowMs
        func time(_ option: OptionSpec, endOfDay: Bool) throws -> Int64? {
            guard let typed = try call.text(option) else { return nil }
            guard let time = TypedTime.parse(typed, nowMs: now, endOfDay: endOfDay) else {
                throw Usage.error(
                    "option '\(option.name)' takes a time like '2026-11-30', '2026-11-30 14:03', '3d' or '2 weeks ago'",
                    about: [call.verb])
            }
            return time
        }
        return LogOptions(
            revision: try call.arguments.positionals.first.map { try call.revision($0) },
            limit: try call.number(number, least: 0), firstParent: call.has(firstParent), reverse: call.has(reverse),
            messagePattern: try call.text(grep), author: try call.text(author), ignoresCase: call.has(ignoreCase),
            sinceMs: try time(since, endOfDay: false), untilMs: try time(until, endOfDay: true),
            merges: call.has(merges) ? .only : call.has(noMerges) ? .excluded : .included,
            checkSignatures: call.has(showSignature), includeChanges: call.isJSON,
            includeGraph: call.has(graph) && !call.isJSON)
    }

    private static func tell(_ call: Call, _ vault: Vault, _ options: LogOptions) throws -> Int {
        let text = TextRenderer(call: call)
        let lines = try Lines(text)
        let style = DiffStyle(form: call.has(patch) ? .patch : nil, showsStat: call.has(stat))
        let showsFiles = style.form != nil || style.showsStat
        let isShort = call.has(oneline)
        var count = 0
        let known = Set(try vault.historyEnds())
        var ends: [String] = []
        try vault.log(options) { entry in
            try call.checkStop()
            if known.contains(entry.commit.id) { ends.append(text.short(entry.commit.id)) }
            // The line between two commits still belongs to the graph of the one above it.
            if count > 0, !isShort { try lines.line("") }
            if count > 0 { try lines.end() }
            count += 1
            try lines.begin(entry.graph)
            for line in isShort ? [try text.oneLine(entry.commit)] : try text.lines(of: entry.commit) {
                try lines.line(line)
            }
            guard showsFiles else { return true }
            var isFirst = !isShort
            try DiffTeller(text, lines, style).tell { body in
                try entry.files { file in
                    if isFirst { try lines.line("") }
                    isFirst = false
                    return try body(file)
                }
            }
            return true
        }
        try lines.end()
        if !ends.isEmpty {
            call.messages.note("history ends here at \(ends[0]); vaultctl fetch --unshallow gets what is before it")
        }
        return count
    }

    /// Of the commits told those whose parents were not fetched.
    private static func ends(_ vault: Vault, _ commits: [JSONValue]) throws -> [JSONValue] {
        let ends = Set(try vault.historyEnds().map(\.text))
        return commits.compactMap { $0["id"] }.filter { $0.text.map { ends.contains($0) } ?? false }
    }

    private static func answer(_ call: Call, _ vault: Vault, _ asked: LogOptions) throws -> Int {
        // One commit more than asked for tells whether there are more.
        var options = asked
        options.limit = asked.limit.map { $0 + 1 }
        let showsFiles = call.has(stat) || call.has(patch)
        var commits: [JSONValue] = []
        try vault.log(options) { entry in
            try call.checkStop()
            var members = [JSONMember].logEntry(entry)
            if showsFiles {
                var files: [JSONValue] = []
                try entry.files { file in
                    files.append(file.jsonValue(withPatch: call.has(patch)))
                    return true
                }
                members.append(JSONMember(name: "files", value: .array(files)))
            }
            commits.append(.object(members))
            return true
        }
        let truncated = asked.limit.map { commits.count > $0 } ?? false
        if truncated { call.has(reverse) ? commits.removeFirst(1) : commits.removeLast(1) }
        let members: [JSONMember] = .record([
            "commits": .array(commits), "truncated": .bool(truncated), "boundary": .array(try ends(vault, commits)),
        ])
        let exit: ExitCode = call.has(exitCode) && commits.isEmpty ? .negative : .ok
        try call.output.write(JSONDocument.result(schema: call.verb.document.schema, exit: exit, members: members))
        return commits.count
    }
}
