internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl pull`.
enum PullCommand {
    static let fastForward = OptionSpec.flag("--ff-only", help: "refuse when the remote's work would have to be merged")
    static let acceptRewind = OptionSpec.flag("--accept-rewind", help: "follow a remote whose branch went back")
    static let noTextMerge = OptionSpec.flag(
        "--no-text-merge", help: "a text that both sides changed conflicts, also where they changed other lines")

    static let verb = Verb(
        words: ["pull"], group: .share, summary: "fetch and merge",
        paragraph: """
            Fetches the remote's branch and brings it into this clone: by moving forward, or by a merge commit. Exit 0 \
            only when the remote was reached and its work is in the working copy. Uncommitted work that would be \
            overwritten stops it before anything has changed. Texts that both sides changed are merged line by line; \
            what conflicts waits for vaultctl resolve.
            """,
        synopsis: ["pull [--ff-only] [--accept-rewind] [--no-text-merge]"],
        options: [fastForward, acceptRewind, noTextMerge],
        exits: [
            .init(.ok), .init(.notFound, "no server is known"),
            .init(.conflict, "both sides changed the same file; the merge waits"),
            .init(.rejected, "with --ff-only: a merge would be needed"), .init(.auth), .init(.network),
            .init(.integrity), .init(.refused, "uncommitted work is in the way"),
            .init(.partial, "some files can not be stored on this file system"), .init(.deferred),
        ],
        examples: [
            .init("vaultctl pull", "Brings the work of others here."),
            .init("vaultctl pull --ff-only", "Only when nothing has to be merged."),
        ],
        network: .always,
        document: .init(
            "vaultctl/pull/1",
            "result, old, new, added[], modified[], deleted[], kept_dirty[], not_written[{path,reason}], branch, "
                + "conflicts[], partial, error (exit 4)"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        let settings = try call.settings()
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let options = PullOptions(
            fastForwardOnly: call.has(fastForward) || settings.text(.pullMode) == "ff-only",
            acceptRewind: call.has(acceptRewind),
            mergesTexts: settings.flag(.mergeText) && !call.has(noTextMerge))
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        let result = try await vault.pull(from: remote, options, observer: observer)
        return try PullAnswer(result: result).give(call)
    }
}

/// What was brought here, told.
struct PullAnswer: Rendered {
    let result: PullResult

    func give(_ call: Call) throws -> ExitCode {
        let exit: ExitCode =
            result.outcome == .conflicts ? .conflict : result.notWritten.isEmpty ? .ok : .partial
        let code = try call.answer(self, exit: exit)
        if result.outcome == .conflicts { call.messages.advice("vaultctl resolve --list") }
        return code
    }

    func writeText(to text: TextRenderer) throws {
        let range = "\(text.short(result.old))..\(text.short(result.new))"
        switch result.outcome {
        case .upToDate: try text.line("\(result.branch) has everything already (\(text.short(result.new)))")
        case .fastForward: try text.line("Moved \(result.branch) forward: \(range)")
        case .absent: try text.line("The remote has no branch \(TextSafety.line(result.branch)); a push makes it")
        case .merged: try text.line("Merged into \(result.branch): \(range)")
        case .conflicts:
            try text.line(
                "The merge into \(result.branch) stopped with \(text.counted(result.conflicts.count, "conflict")):")
            for path in result.conflicts { try text.path("U", path.bytes, as: .bad, indent: 1) }
            if !result.changes.isEmpty { try text.line("Already in the working copy:") }
        }
        try text.changes(result.changes, indent: 1)
        if !result.keptDirty.isEmpty {
            try text.line("Uncommitted work kept:")
            try text.kept(result.kept, indent: 2)
        }
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        guard let first = result.conflicts.first else { return resultMembers() }
        // Not done, so it is told as a failure too.
        return resultMembers()
            + .record([
                "error": .record([
                    "code": .string(VaultError.Code.conflicts.name),
                    "message": .string("both sides changed the same; the merge waits for a decision"),
                    "hint": .string("vaultctl resolve --list"), "retryable": .bool(false), "path": .path(first),
                ])
            ])
    }

    private func resultMembers() -> [JSONMember] {
        let failed = Set(result.notWritten.map(\.path))
        let written = (result.changes.added + result.changes.modified).filter { !failed.contains($0.bytes) }
        return .record([
            "result": .string(result.outcome.rawValue),
            "old": .id(result.old),
            "new": .id(result.new),
            "added": .paths(result.changes.added),
            "modified": .paths(result.changes.modified),
            "deleted": .paths(result.changes.deleted),
            "kept_dirty": .paths(result.keptDirty),
            "not_written": .skipped(result.notWritten),
            "branch": .string(result.branch),
            "conflicts": .paths(result.conflicts),
            "partial": .partial(done: written, failed: result.notWritten),
        ])
    }
}
