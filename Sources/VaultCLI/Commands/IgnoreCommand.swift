internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl ignore`.
enum IgnoreCommand {
    static let apply = OptionSpec.value(
        "--apply", argument: "FOLDER", help: "the folder to stop tracking", completion: .vaultPath)
    static let message = OptionSpec.value("-m", argument: "MSG", help: "the commit's message")

    static let verb = Verb(
        words: ["ignore"], group: .work, summary: "stop tracking a folder, keeping its files",
        paragraph: """
            Takes a folder out of the vault in one commit. Its files stay on disk, and commits leave them out from then \
            on: where no rule ignores the folder, a line for it is added to .gitignore in the same commit. In other \
            clones the next pull removes the files that are unchanged there. Earlier commits keep what they have. \
            vaultctl check-ignore tells about rules.
            """,
        synopsis: ["ignore [-m MSG] --apply FOLDER"], options: [apply, message],
        exits: [
            .init(.ok), .init(.notFound, "nothing is tracked there"), .init(.conflict, "a merge waits"),
            .init(.auth, "a read-only clone"), .init(.integrity),
            .init(.refused, ".gitignore has uncommitted changes, or no rule can name the folder"),
        ],
        examples: [
            .init("vaultctl ignore --apply build", "Stops tracking 'build'."),
            .init("vaultctl ignore -m 'No output here' --apply docs/out", "With a message."),
        ],
        document: .init(
            "vaultctl/ignore/1", "commit{id,parents[],message,time_ms,branch}, removed[], rule or null"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        guard let typed = call.arguments.last(apply) else {
            throw Usage.error("ignore takes '--apply FOLDER'", about: [call.verb])
        }
        let text = try call.arguments.last(message)
            .map { try CommitMessage.checked(try call.text($0, of: "the message")) }
        if let text, CommitMessage.isBlank(text) { throw Usage.error("the message is empty", about: [call.verb]) }
        let vault = try VaultPlace.open(call)
        let folder = try PathArgument(call: call, root: vault.rootPath).file(typed)
        let result = try vault.untrackFolder(
            folder, message: text, sign: try call.settings().flag(.sign), observer: call.observer())
        return try call.answer(UntrackAnswer(result: result))
    }
}

/// Files that are not tracked any more, told.
private struct UntrackAnswer: Rendered {
    let result: UntrackResult

    func writeText(to text: TextRenderer) throws {
        try text.line(
            "[\(result.branch) \(text.short(result.commit.id))] \(TextSafety.line(result.commit.subject))")
        for path in result.removed { try text.path("D", path.bytes, as: .bad, indent: 1) }
        if let rule = result.rule { try text.line("Added to .gitignore: \(TextSafety.line(rule))") }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "commit": .made(result.commit, on: result.branch), "removed": .paths(result.removed), "rule": .optional(result.rule),
        ])
    }
}
