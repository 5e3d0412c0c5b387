internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl switch`.
enum SwitchCommand {
    static let create = OptionSpec.flag("-c", help: "make the branch first")
    static let from = OptionSpec.value(
        "--from", argument: "REV", help: "with -c: where the branch begins; the head by default", completion: .revision)

    static let fetch = OptionSpec.flag("--fetch", help: "get the branch from the server first")
    static let discard = OptionSpec.flag(
        "--discard", help: "stash edits of tracked files, instead of taking them along")

    static let verb = Verb(
        words: ["switch"], group: .branches, summary: "work on another branch",
        paragraph: """
            Brings the files of another branch into the working copy and works on it from then on. Uncommitted work \
            that the change does not touch is taken along; what would be overwritten stops it before anything has \
            changed. '-' is the branch that was worked on before. Commits of a branch that this clone never fetched \
            are not here; --fetch gets them. With --discard no edit of a tracked file stands in the way: all of them are \
            put aside as a stash.
            """,
        synopsis: ["switch [--fetch] [--discard] NAME", "switch -c NAME [--from REV] [--discard]"],
        options: [create, from, fetch, discard],
        positionals: [Positional("NAME", help: "the branch, or '-'", required: true, completion: .revision)],
        exits: [
            .init(.ok), .init(.notFound, "there is no such branch, or its commits are not here"), .init(.conflict),
            .init(.rejected, "with -c: there is a branch of this name"), .init(.auth, "a read-only clone"),
            .init(.network), .init(.integrity), .init(.refused, "uncommitted work is in the way"),
            .init(.partial, "some files can not be stored on this file system"), .init(.deferred),
        ],
        examples: [
            .init("vaultctl switch -c drafts", "Makes a branch and works on it."),
            .init("vaultctl switch -", "Goes back to the branch before."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/switch/1",
            "branch, head, added[], modified[], deleted[], kept_dirty[], not_written[{path,reason}], partial, "
                + "stash or null"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        var name = try call.text(call.arguments.allPositionals[0], of: "the branch name")
        if name == "-", !call.has(create) {
            guard let previous = try vault.previousBranch() else {
                throw VaultError(.branchNotFound, "no other branch was worked on in this clone")
            }
            name = previous
        }
        guard call.has(create) || !call.has(from) else {
            throw Usage.error("'--from' goes with '-c'", about: [call.verb])
        }
        if call.has(fetch) {
            let remote = try RemoteOpener.open(
                try ServerChoice.existing(call, vault), vaultID: vault.vaultID, call: call, vault: vault)
            _ = try await vault.fetchBranch(name, from: remote, observer: call.observer())
        }
        let start = try call.arguments.last(from).map { try call.revision($0) }
        let result = try call.completing(vault) {
            // Where files are lacking, the branch is not made before they are here.
            try vault.switchBranch(
                to: name, creating: call.has(create), from: start, discards: call.has(discard),
                observer: call.observer())
        }
        return try call.answer(
            SwitchAnswer(result: result), exit: result.notWritten.isEmpty ? .ok : .partial)
    }
}

/// A switch, told.
private struct SwitchAnswer: Rendered {
    let result: SwitchResult

    func writeText(to text: TextRenderer) throws {
        try text.line("On branch \(TextSafety.line(result.branch)) at \(text.short(result.head))")
        if text.isVerbose { try text.changes(result.changes, indent: 1) }
        try text.changes(result.kept, indent: 1)
        try text.stashed(result.stash, why: "The edits")
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        let failed = Set(result.notWritten.map(\.path))
        let written = (result.changes.added + result.changes.modified).filter { !failed.contains($0.bytes) }
        return .record([
            "branch": .string(result.branch), "head": .id(result.head), "added": .paths(result.changes.added),
            "modified": .paths(result.changes.modified), "deleted": .paths(result.changes.deleted),
            "kept_dirty": .paths(result.keptDirty), "not_written": .skipped(result.notWritten),
            "partial": .partial(done: written, failed: result.notWritten),
            "stash": result.stash.map { .stash($0) } ?? .null,
        ])
    }
}
