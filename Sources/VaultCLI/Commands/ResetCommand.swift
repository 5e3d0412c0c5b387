internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl reset`.
enum ResetCommand {
    static let soft = OptionSpec.flag("--soft", help: "leave every file as it is; the default")
    static let hard = OptionSpec.flag("--hard", help: "give tracked files the content of REV")

    static let verb = Verb(
        words: ["reset"], group: .undo, summary: "move the branch of this clone to another commit",
        paragraph: """
            Moves the head of this clone to REV. Files stay as they are, so that what later commits did becomes \
            uncommitted work again; with --hard tracked files follow. Untracked files are never deleted. Edits that \
            --hard would lose need a yes (or -y) and are stashed first. Nothing is sent, and a pull brings published \
            commits back; vaultctl undo takes a reset back.
            """,
        synopsis: ["reset [--soft|--hard] [REV]"], options: [soft, hard],
        positionals: [Positional("REV", help: "the commit; the head by default", completion: .revision)],
        exits: [
            .init(.ok), .init(.negative, "declined"), .init(.notFound), .init(.conflict, "a merge is in progress"),
            .init(.auth, "a read-only clone"), .init(.integrity),
            .init(.refused, "untracked files are in the way"),
            .init(.partial, "some files can not be stored on this file system"),
            .init(.inputNeeded, "edits would be lost and nobody can be asked"),
        ],
        examples: [
            .init("vaultctl reset HEAD~1", "Takes the last commit apart and keeps its work."),
            .init("vaultctl reset --hard -y", "Back to the head; edits go into a stash."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/reset/1",
            "old, new, stash or null, added[], modified[], deleted[], kept_dirty[], not_written[{path,reason}]"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        guard !call.has(soft) || !call.has(hard) else {
            throw Usage.error("options '--soft' and '--hard' exclude each other", about: [call.verb])
        }
        let revision = try call.arguments.allPositionals.first.map { try call.revision($0) } ?? "HEAD"
        let vault = try VaultPlace.open(call)
        var options = ResetOptions(hard: call.has(hard), stashesEdits: call.has(GlobalOptions.yes))
        if options.hard, !options.stashesEdits {
            let changes = try vault.status().changes
            let edits = changes.modified.count + changes.deleted.count
            if edits > 0 {
                let files = "\(edits) file\(edits == 1 ? "" : "s")"
                try Confirmation.require("Stash the uncommitted edits to \(files) and reset?", call)
                options.stashesEdits = true
            }
        }
        let result = try call.completing(vault) {
            try vault.reset(to: revision, options, observer: call.observer())
        }
        return try call.answer(
            HeadMoveAnswer(words: "Reset to", result: result), exit: result.notWritten.isEmpty ? .ok : .partial)
    }
}

/// The verb `vaultctl undo`.
enum UndoCommand {
    static let force = OptionSpec.flag("--force", help: "also from a commit that has been pushed")

    static let verb = Verb(
        words: ["undo"], group: .undo, summary: "take back the last commit, merge, pull or reset",
        paragraph: """
            Moves the head of this clone, and the files with it, to where it was before its last move (vaultctl \
            reflog). Uncommitted edits that this does not touch are taken along; others stop it before anything has \
            changed. Nothing is lost: a second undo goes back again. A head that has been pushed is refused, for others \
            have it; vaultctl revert undoes it for everyone.
            """,
        synopsis: ["undo [--force]"], options: [force],
        exits: [
            .init(.ok), .init(.conflict, "a merge is in progress"), .init(.auth, "a read-only clone"),
            .init(.integrity),
            .init(.refused, "nothing to undo, the head has been pushed, or uncommitted work is in the way"),
            .init(.partial, "some files can not be stored on this file system"),
        ],
        examples: [
            .init("vaultctl undo", "Takes the last commit back."), .init("vaultctl undo -v", "And tells the files."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/undo/1",
            "old, new, stash (null), added[], modified[], deleted[], kept_dirty[], not_written[{path,reason}]"),
        changes: true,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            let result = try call.completing(vault) {
                try vault.undo(force: call.has(force), observer: call.observer())
            }
            return try call.answer(
                HeadMoveAnswer(words: "Back at", result: result), exit: result.notWritten.isEmpty ? .ok : .partial)
        })
}

/// The verb `vaultctl reflog`.
enum ReflogCommand {
    static let all = OptionSpec.flag("--all", help: "of every ref, not of this clone's branch alone")
    static let count = OptionSpec.value("-n", argument: "N", help: "at most N moves (20); 0 for all")

    static let verb = Verb(
        words: ["reflog"], group: .undo, summary: "where the branch of this clone has been",
        paragraph: """
            Lists the moves of the head in this clone, the newest first. @{1} names the commit before the last move, in \
            every verb that takes a revision. The newest 1000 moves are kept. A line of the log that does not read keeps \
            its number, and what it named can not be told.
            """,
        synopsis: ["reflog [--all] [-n N]"], options: [all, count],
        exits: [.init(.ok), .init(.integrity, "the log is none")],
        examples: [
            .init("vaultctl reflog -n 5", "The last five moves."), .init("vaultctl reflog --all", "Of every branch."),
        ],
        document: .init("vaultctl/reflog/1", "moves[{n,ref_id,branch,old,new,time_ms,subject}]"),
        action: .local { call in
            let limit = try call.number(count, least: 0) ?? 20
            let moves = try VaultPlace.open(call).reflog(all: call.has(all), limit: limit == 0 ? nil : limit)
            return try call.answer(ReflogAnswer(moves: moves, tellsBranch: call.has(all)))
        })
}

/// A head that moved, told.
private struct HeadMoveAnswer: Rendered {
    let words: String
    let result: HeadMove

    func writeText(to text: TextRenderer) throws {
        if let stash = result.stash {
            let count = text.counted(stash.changes.count, "file")
            try text.line("Stashed the edits to \(count); 'vaultctl stash pop' brings them back")
        }
        try text.line("\(words) \(text.short(result.new))\(result.old == result.new ? ", as before" : "")")
        if text.isVerbose { try text.changes(result.changes, indent: 1) }
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "old": .id(result.old), "new": .id(result.new), "stash": result.stash.map { .stash($0) } ?? .null,
            "added": .paths(result.changes.added), "modified": .paths(result.changes.modified),
            "deleted": .paths(result.changes.deleted), "kept_dirty": .paths(result.keptDirty),
            "not_written": .skipped(result.notWritten),
        ])
    }
}

/// Moves of branches, told.
private struct ReflogAnswer: Rendered {
    let moves: [ReflogMove]
    let tellsBranch: Bool

    func writeText(to text: TextRenderer) throws {
        for move in moves {
            guard let ref = move.refID, let new = move.new, let time = move.timeMs else {
                try text.line("\(tellsBranch ? "" : "@{\(move.number)} ")unreadable")
                continue
            }
            let branch = tellsBranch ? "\(TextSafety.line(move.branch ?? ref)) " : ""
            let id = try text.coloured(text.short(new), .id)
            try text.line(
                "\(branch)@{\(move.number)} \(id) \(text.time(time)) \(TextSafety.line(move.subject ?? ""))")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "moves": .array(
                moves.map {
                    .record([
                        "n": .count($0.number), "ref_id": .optional($0.refID), "branch": .optional($0.branch),
                        "old": .id($0.old), "new": .id($0.new),
                        "time_ms": $0.timeMs.map { .integer($0) } ?? .null,
                        "subject": .optional($0.subject),
                    ])
                })
        ])
    }
}
