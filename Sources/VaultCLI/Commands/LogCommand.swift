internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl log`.
enum LogCommand {
    static let oneline = OptionSpec.flag("--oneline", help: "one line per commit")
    static let number = OptionSpec.value("-n", argument: "N", help: "at most N commits")
    static let firstParent = OptionSpec.flag("--first-parent", help: "follow only the first parent of merges")
    static let reverse = OptionSpec.flag("--reverse", help: "oldest first")
    static let showSignature = OptionSpec.flag("--show-signature", help: "check and show the signatures")

    static let verb = Verb(
        words: ["log"], group: .work, summary: "show the history",
        paragraph: """
            Shows the commits that lead to a revision (default: the head), newest first. A range A..B shows what B has \
            and A lacks; a side that is left out is the head. With PATH only commits that change something at or below it. --json always tells what each \
            commit changed; renames are told as a deletion and an addition.
            """,
        synopsis: ["log [--oneline] [-n N] [--first-parent] [--reverse] [--show-signature] [REV] [-- PATH...]"],
        options: [oneline, number, firstParent, reverse, showSignature],
        positionals: [
            Positional("REV", help: "a revision or a range A..B", completion: .revision),
            Positional(
                "PATH", help: "after '--': only commits that change something here", repeatable: true,
                afterSeparator: true, completion: .vaultPath),
        ],
        exits: [
            .init(.ok), .init(.notFound, "there is no such revision"), .init(.auth), .init(.integrity),
        ],
        examples: [
            .init("vaultctl log --oneline -n 10", "The last ten commits."),
            .init("vaultctl log origin/current..HEAD -- docs", "Commits not pushed yet that change 'docs'."),
        ],
        document: .init(
            "vaultctl/log/1",
            "commits[{id, parents[], tree, subject, message, time_ms, branch_id, author{name,key_id}, signature, "
                + "changes{added[],modified[],deleted[],renamed[]}}], truncated, boundary[]"),
        pages: true, action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let limit = try call.number(number, least: 0)
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        var options = LogOptions(
            revision: try call.arguments.positionals.first.map { try call.revision($0) },
            paths: try typed.paths(call.arguments.separated) ?? [], limit: limit, firstParent: call.has(firstParent),
            reverse: call.has(reverse), checkSignatures: call.has(showSignature), includeChanges: call.isJSON)
        guard call.isJSON else {
            let text = TextRenderer(call: call)
            let isShort = call.has(oneline)
            var isFirst = true
            try vault.log(options) { entry in
                try call.checkStop()
                if !isFirst, !isShort { try text.line("") }
                isFirst = false
                try isShort ? text.oneLine(entry.commit) : text.commit(entry.commit)
                return true
            }
            return .ok
        }
        // One commit more than asked for tells whether there are more.
        options.limit = limit.map { $0 + 1 }
        var commits: [JSONValue] = []
        try vault.log(options) { entry in
            try call.checkStop()
            commits.append(.object(.logEntry(entry)))
            return true
        }
        let truncated = limit.map { commits.count > $0 } ?? false
        if truncated { call.has(reverse) ? commits.removeFirst(1) : commits.removeLast(1) }
        let members: [JSONMember] = .record([
            "commits": .array(commits), "truncated": .bool(truncated), "boundary": .array([]),
        ])
        try call.output.write(JSONDocument.result(schema: call.verb.document.schema, exit: .ok, members: members))
        return .ok
    }
}
