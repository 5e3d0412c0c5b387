internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl commit`.
enum CommitCommand {
    static let message = OptionSpec.value(
        "-m", argument: "MSG", help: "the message; several make paragraphs", repeatable: true)
    static let messageFile = OptionSpec.value(
        "-F", argument: "FILE", help: "read the message from FILE, or from standard input with '-'", completion: .file)
    static let amend = OptionSpec.flag("--amend", help: "replace the last commit, which must not be pushed yet")
    static let allowEmpty = OptionSpec.flag("--allow-empty", help: "commit also when nothing has changed")
    static let allowSecret = OptionSpec.value(
        "--allow-secret", argument: "PATH", help: "commit PATH although it holds the keys of a vault", repeatable: true,
        completion: .file)
    static let noSign = OptionSpec.flag("--no-sign", help: "do not sign the commit")
    static let strict = OptionSpec.flag("--strict", help: "refuse when something has to be left out (exit 9)")

    static let verb = Verb(
        words: ["commit"], group: .work, summary: "record the working copy",
        paragraph: """
            There is no staging area: the commit is a snapshot of the working copy, or with PATH the last commit with \
            only these paths brought up to date. A message of more than 740 bytes is refused. Without -m and -F an \
            editor opens on a terminal. Symbolic links, special files, permissions and empty folders are not recorded.
            """,
        synopsis: [
            "commit [-m MSG]... [-F FILE] [--amend] [--allow-empty] [--allow-secret PATH]... [--no-sign] [--strict] "
                + "[PATH]..."
        ],
        options: [message, messageFile, amend, allowEmpty, allowSecret, noSign, strict],
        positionals: [Positional("PATH", help: "only what is at or below PATH", repeatable: true, completion: .file)],
        exits: [
            .init(.ok), .init(.negative, "there is nothing to commit"), .init(.notFound),
            .init(.conflict, "a merge has unresolved conflicts"), .init(.auth, "a read-only clone"),
            .init(.integrity),
            .init(.refused, "the keys of a vault would be committed, the commit to amend is pushed, or --strict"),
            .init(.inputNeeded, "there is no message and no editor"),
        ],
        examples: [
            .init("vaultctl commit -m 'Add the plan'", "Commits everything that has changed."),
            .init("vaultctl commit -m 'Fix a typo' -- docs/plan.md", "Commits one file."),
        ],
        document: .init(
            "vaultctl/commit/1",
            "commit{id,parents[],message,time_ms,branch} or null when there was nothing to commit (exit 1), added, "
                + "modified, deleted, skipped[{path,reason}], signed"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let settings = try call.settings()
        let given = try CommitMessage(call: call).given()
        if let given, CommitMessage.isBlank(given), settings.flag(.requireMessage) {
            throw Usage.error("the message is empty", about: [call.verb])
        }
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        let paths = try typed.paths(call.arguments.allPositionals) ?? []
        var options = CommitOptions(
            message: given, amend: call.has(amend), allowEmpty: call.has(allowEmpty), paths: paths,
            allowSecret: try call.arguments.all(allowSecret).map { try typed.file($0) },
            sign: !call.has(noSign) && settings.flag(.sign), strict: call.has(strict))
        // A merge has its own message.
        if given == nil, !options.amend, settings.flag(.requireMessage), try !vault.isMerging() {
            guard let edited = try CommitMessage(call: call).edited(vault, options) else {
                return try answer(call, .init(branch: try vault.status().branch))
            }
            options.message = edited
        }
        try checkPaths(paths, call, vault)
        let result = try vault.commit(options, observer: call.observer())
        if result.commit != nil, options.sign, !result.signed {
            call.messages.warning("the commit is not signed: this clone holds no signing key")
        }
        return try answer(
            call,
            CommitAnswer(
                commit: result.commit, branch: result.branch, changes: result.changes, skipped: result.skipped,
                signed: result.signed))
    }

    /// Refuses paths that are neither on disk nor in the vault: most likely they are mistyped.
    private static func checkPaths(_ paths: [VaultPath], _ call: Call, _ vault: Vault) throws {
        for path in paths {
            let place = vault.rootPath.appending(FilePath(bytes: path.bytes))
            if (try? call.surroundings.vault.fileSystem.status(of: place, followLinks: false)) != nil { continue }
            _ = try vault.list(path)
        }
    }

    private static func answer(_ call: Call, _ answer: CommitAnswer) throws -> ExitCode {
        call.messages.eraseProgress()
        for entry in answer.skipped {
            let path = String(decoding: TextSafety.path(entry.path), as: UTF8.self)
            call.messages.warning("left out \(path): \(entry.reason.words)")
        }
        let exit = try call.answer(answer, exit: answer.commit == nil ? .negative : .ok)
        if answer.commit != nil { call.messages.advice("vaultctl push") }
        return exit
    }
}

/// A commit, or that there was none, told.
private struct CommitAnswer: Rendered {
    var commit: CommitInfo?
    var branch: String
    var changes = Changes()
    var skipped: [SkippedEntry] = []
    var signed = false

    func writeText(to text: TextRenderer) throws {
        guard let commit else { return try text.line("Nothing to commit") }
        try text.line("[\(branch) \(text.short(commit.id))] \(TextSafety.line(commit.subject))")
        try text.line(
            " \(changes.added.count) added, \(changes.modified.count) modified, \(changes.deleted.count) deleted")
        if text.isVerbose { try text.changes(changes, indent: 1) }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "commit": .made(commit, on: branch),
            "added": .count(changes.added.count),
            "modified": .count(changes.modified.count),
            "deleted": .count(changes.deleted.count),
            "skipped": .skipped(skipped),
            "signed": .bool(signed),
        ])
    }
}
