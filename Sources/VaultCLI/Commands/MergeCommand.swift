internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl merge`.
enum MergeCommand {
    static let message = OptionSpec.value("-m", argument: "MSG", help: "the message of the merge commit")
    static let fastForward = OptionSpec.flag("--ff-only", help: "refuse when a merge commit would be needed")
    static let noFastForward = OptionSpec.flag("--no-ff", help: "make a merge commit also where none is needed")
    static let abort = OptionSpec.flag(
        "--abort",
        help:
            "end the merge in progress and give its files back what they held before; what was written by hand is stashed"
    )
    static let proceed = OptionSpec.flag(
        "--continue",
        help: "commit the merge in progress, once all is resolved; like every commit it takes the whole working copy")

    static let verb = Verb(
        words: ["merge"], group: .branches, summary: "join another branch into this one",
        paragraph: """
            Brings the commits of a branch, or of any revision, into the branch of this clone: by moving forward, or by \
            a merge commit. Files are merged over their last common version, and texts that both sides changed line by \
            line. Where both changed the same, ours stays in the working copy, theirs is laid beside it as \
            NAME.conflict, and the merge waits for vaultctl resolve. Nothing is sent.
            """,
        synopsis: [
            "merge [-m MSG] [--ff-only|--no-ff] [--no-text-merge] REV", "merge --abort", "merge --continue [-m MSG]",
        ],
        options: [message, fastForward, noFastForward, PullCommand.noTextMerge, abort, proceed],
        positionals: [Positional("REV", help: "a branch or another revision", completion: .revision)],
        exits: [
            .init(.ok), .init(.notFound), .init(.conflict, "the merge waits for conflicts to be resolved"),
            .init(.rejected, "with --ff-only: a merge commit would be needed"), .init(.auth, "a read-only clone"),
            .init(.integrity), .init(.refused, "uncommitted work is in the way, or no merge is in progress"),
            .init(.partial, "some files can not be stored on this file system"),
        ],
        examples: [
            .init("vaultctl merge drafts", "Merges the branch drafts."),
            .init("vaultctl merge --abort", "Goes back to where the merge began."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/merge/1",
            "result, old, new, added[], modified[], deleted[], kept_dirty[], not_written[{path,reason}], branch, "
                + "conflicts[], tags[], partial; with --abort: result, restored[], stash or null; with --continue: result, old, new"
        ),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let revisions = call.arguments.allPositionals
        let modes = [call.has(abort), call.has(proceed), !revisions.isEmpty].count { $0 }
        guard modes == 1 else {
            throw Usage.error("merge takes one of REV, '--abort' and '--continue'", about: [call.verb])
        }
        guard !call.has(fastForward) || !call.has(noFastForward) else {
            throw Usage.error("options '--ff-only' and '--no-ff' exclude each other", about: [call.verb])
        }
        let text = try call.arguments.last(message)
            .map { try CommitMessage.checked(try call.text($0, of: "the message")) }
        let vault = try VaultPlace.open(call)
        if call.has(abort) {
            let ended = try call.completing(vault) { try vault.abortMerge(observer: call.observer()) }
            return try call.answer(AbortAnswer(ended: ended))
        }
        if call.has(proceed) { return try finish(vault, text, call) }
        let options = MergeOptions(
            fastForward: call.has(fastForward) ? .only : call.has(noFastForward) ? .never : .whenPossible,
            message: text, mergesTexts: try call.settings().flag(.mergeText) && !call.has(PullCommand.noTextMerge))
        let revision = try call.revision(revisions[0])
        let result = try call.completing(vault) { try vault.merge(revision, options, observer: call.observer()) }
        return try PullAnswer(result: result).give(call)
    }

    private static func finish(_ vault: Vault, _ text: String?, _ call: Call) throws -> ExitCode {
        guard try vault.isMerging() else { throw VaultError(.refused, "no merge is in progress") }
        let options = CommitOptions(message: text, sign: try call.settings().flag(.sign))
        let result = try vault.commit(options, observer: call.observer())
        return try call.answer(ContinueAnswer(commit: result.commit, branch: result.branch))
    }
}

/// A merge that was ended, told.
private struct AbortAnswer: Rendered {
    let ended: MergeAbort

    func writeText(to text: TextRenderer) throws {
        try text.line("The merge is ended; \(text.counted(ended.restored.count, "file")) went back")
        if let stash = ended.stash {
            let count = text.counted(stash.changes.count, "file")
            try text.line("What was written by hand in \(count) is stashed; 'vaultctl stash pop' brings it back")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "result": .string("aborted"), "restored": .paths(ended.restored),
            "stash": ended.stash.map { .stash($0) } ?? .null,
        ])
    }
}

/// A merge that was finished, told.
private struct ContinueAnswer: Rendered {
    let commit: CommitInfo?
    let branch: String

    func writeText(to text: TextRenderer) throws {
        try text.line("Merged into \(branch): \(text.short(commit?.id))")
    }

    func jsonMembers() -> [JSONMember] {
        .record(["result": .string("merged"), "old": .id(commit?.parents.first), "new": .id(commit?.id)])
    }
}
