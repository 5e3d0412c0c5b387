internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl rm`.
enum RemoveCommand {
    static let recursive = OptionSpec.flag("-r", help: "folders too, with all that is tracked in them")
    static let cached = OptionSpec.flag(
        "--cached", help: "leave the files on disk; commits leave them out from then on")

    static let verb = Verb(
        words: ["rm"], group: .work, summary: "take files out of the vault at the next commit",
        paragraph: """
            Deletes tracked files; the next commit records that, and until then vaultctl restore brings them back. Files \
            with uncommitted edits are refused. With --cached the files stay on disk: the next commit on this branch drops \
            them, and wherever they are not tracked commits leave them out until one names them (vaultctl commit PATH). \
            Earlier commits and other branches keep what they have: switching to a branch that tracks such a file and back \
            takes it away.
            """,
        synopsis: ["rm [-r] [--cached] PATH..."], options: [recursive, cached],
        positionals: [
            Positional(
                "PATH", help: "a tracked file or folder", required: true, repeatable: true, completion: .vaultPath)
        ],
        exits: [
            .init(.ok), .init(.notFound, "PATH is not tracked"), .init(.auth, "a read-only clone"), .init(.integrity),
            .init(.refused, "uncommitted edits would be lost, or a folder without -r"),
        ],
        examples: [
            .init("vaultctl rm -r drafts", "Deletes a folder."),
            .init("vaultctl rm --cached notes/private.md", "Keeps the file for you alone."),
        ],
        document: .init("vaultctl/rm/1", "removed[], cached"),
        changes: true,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            let typed = PathArgument(call: call, root: vault.rootPath)
            let paths = try call.arguments.allPositionals.map { try typed.file($0) }
            let removed = try vault.removeFiles(
                paths, recursive: call.has(recursive), cached: call.has(cached), observer: call.observer())
            return try call.answer(RemoveAnswer(removed: removed, isCached: call.has(cached)))
        })
}

/// The verb `vaultctl mv`.
enum MoveCommand {
    static let verb = Verb(
        words: ["mv"], group: .work, summary: "give files another place or name",
        paragraph: """
            Moves tracked files or folders of the working copy, uncommitted edits included; the next commit records it. \
            Nothing is ever replaced, and nothing is moved to where commits would leave it out (vaultctl check-ignore).
            """,
        synopsis: ["mv SRC... DST"],
        positionals: [
            Positional(
                "SRC", help: "what to move, and DST last", required: true, repeatable: true, completion: .vaultPath)
        ],
        exits: [
            .init(.ok), .init(.notFound, "SRC is not tracked or not on disk"), .init(.auth, "a read-only clone"),
            .init(.integrity),
            .init(.refused, "there is something at the destination, or commits leave files out there"),
        ],
        examples: [
            .init("vaultctl mv plan.md notes/plan-2.md", "Another name."),
            .init("vaultctl mv a.md b.md notes", "Two files into a folder."),
        ],
        document: .init("vaultctl/mv/1", "moved[{from,to}]"),
        changes: true,
        action: .local { call in
            let words = call.arguments.allPositionals
            guard words.count > 1, let last = words.last else {
                throw Usage.error("mv takes SRC and DST", about: [call.verb])
            }
            let vault = try VaultPlace.open(call)
            let typed = PathArgument(call: call, root: vault.rootPath)
            let sources = try words.dropLast().map { try typed.file($0) }
            let moved = try vault.moveFiles(sources, to: try typed.path(last))
            return try call.answer(MoveAnswer(moved: moved))
        })
}

/// Files that were removed, told.
private struct RemoveAnswer: Rendered {
    let removed: [VaultPath]
    let isCached: Bool

    func writeText(to text: TextRenderer) throws {
        for path in removed { try text.path("D", path.bytes, as: .bad) }
    }

    func jsonMembers() -> [JSONMember] { .record(["removed": .paths(removed), "cached": .bool(isCached)]) }
}

/// Files that were moved, told.
private struct MoveAnswer: Rendered {
    let moved: [(from: VaultPath, to: VaultPath)]

    func writeText(to text: TextRenderer) throws {
        for move in moved {
            try text.path("D", move.from.bytes, as: .bad)
            try text.path("A", move.to.bytes, as: .good)
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record(["moved": .array(moved.map { .record(["from": .path($0.from), "to": .path($0.to)]) })])
    }
}
