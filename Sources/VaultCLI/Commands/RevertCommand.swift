internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl revert`.
enum RevertCommand {
    static let message = OptionSpec.value("-m", argument: "MSG", help: "the message; 'Revert ...' by default")

    static let verb = Verb(
        words: ["revert"], group: .undo, summary: "undo an earlier commit with a new one",
        paragraph: """
            Makes a commit that takes the changes of REV back and keeps everything since. This is how a commit that has \
            been pushed is undone for everyone. Where later commits changed the same lines nothing is done (exit 4). A \
            merge can not be reverted.
            """,
        synopsis: ["revert [-m MSG] REV"], options: [message],
        positionals: [
            Positional("REV", help: "the commit to take back", required: true, completion: .revision)
        ],
        exits: [
            .init(.ok), .init(.negative, "the head has nothing of it left"), .init(.notFound),
            .init(.conflict, "later commits changed the same, or a merge is in progress"),
            .init(.auth, "a read-only clone"), .init(.integrity),
            .init(.refused, "a merge, a commit of another branch, or uncommitted work is in the way"),
            .init(.partial, "some files can not be stored on this file system"),
        ],
        examples: [
            .init("vaultctl revert HEAD", "Takes the last commit back."),
            .init("vaultctl revert -m 'Not yet' 31d325cdbe64", "Takes back an earlier one."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/revert/1",
            "commit{id,parents[],message,time_ms,branch} or null (exit 1), added[], modified[], deleted[], kept_dirty[], "
                + "not_written[{path,reason}]"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let text = try call.arguments.last(message)
            .map { try CommitMessage.checked(try call.text($0, of: "the message")) }
        if let text, CommitMessage.isBlank(text) { throw Usage.error("the message is empty", about: [call.verb]) }
        let revision = try call.revision(call.arguments.allPositionals[0])
        let vault = try VaultPlace.open(call)
        let result = try call.completing(vault) {
            try vault.revert(revision, message: text, observer: call.observer())
        }
        let exit: ExitCode = result.commit == nil ? .negative : result.notWritten.isEmpty ? .ok : .partial
        return try call.answer(RevertAnswer(result: result), exit: exit)
    }
}

/// A commit that takes another back, told.
private struct RevertAnswer: Rendered {
    let result: RevertResult

    func writeText(to text: TextRenderer) throws {
        guard let commit = result.commit else { return try text.line("Nothing of it is left in the head") }
        try text.line("[\(result.branch) \(text.short(commit.id))] \(TextSafety.line(commit.subject))")
        if text.isVerbose { try text.changes(result.changes, indent: 1) }
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "commit": .made(result.commit, on: result.branch),
            "added": .paths(result.changes.added), "modified": .paths(result.changes.modified),
            "deleted": .paths(result.changes.deleted), "kept_dirty": .paths(result.keptDirty),
            "not_written": .skipped(result.notWritten),
        ])
    }
}
