internal import VaultCore
internal import VaultFormat

/// The verbs `vaultctl stash ACTION`.
enum StashCommand {
    static let message = OptionSpec.value("-m", argument: "MSG", help: "what to call it")

    static let verbs: [Verb] = [push, list, show, pop, apply, drop]

    private static let number = Positional("N", help: "which one; 0 is the newest and the default")
    private static let document = Verb.Document(
        "vaultctl/stash/1", "stashes[{n,time_ms,base,branch,message,added[],modified[],deleted[],encrypted}]")
    private static let applied = Verb.Document(
        "vaultctl/stash/1",
        "stashes[{n,time_ms,base,branch,message,added[],modified[],deleted[],encrypted}], dropped, merged[], "
            + "not_written[{path,reason}]")

    private static let push = Verb(
        words: ["stash", "push"], group: .undo, summary: "put uncommitted work aside",
        paragraph: """
            Puts all uncommitted work aside, untracked files included, and gives the working copy the state of the head. \
            The work is encrypted with the read key and stays in this clone; sgit does not see it. 'vaultctl stash' does \
            the same.
            """,
        synopsis: ["stash [push] [-m MSG]"], options: [message],
        exits: [
            .init(.ok), .init(.negative, "there is nothing to put aside"), .init(.conflict, "a merge is in progress"),
            .init(.auth, "a read-only clone"), .init(.integrity), .init(.refused, "a file changed while this ran"),
        ],
        examples: [
            .init("vaultctl stash", "Puts all work aside."),
            .init("vaultctl stash push -m 'half a plan'", "And says what it is."),
        ],
        network: .onDemand, document: document, isDefault: true, changes: true,
        action: .local { call in
            let text = try call.arguments.last(message).map { try call.text($0, of: "the message") }
            let vault = try VaultPlace.open(call)
            let made = try call.completing(vault) { try vault.stash(message: text, observer: call.observer()) }
            let code = try call.answer(
                StashAnswer(words: "Stashed", stashes: made.map { [$0] } ?? [], none: "Nothing to stash"),
                exit: made == nil ? .negative : .ok)
            if made != nil { call.messages.advice("vaultctl stash pop") }
            return code
        })

    private static let list = Verb(
        words: ["stash", "list"], group: .undo, summary: "what was put aside",
        paragraph: """
            Lists the stashes of this clone, the newest first. Those of sgit, which lie on disk as plain text, are listed \
            too, and can be shown, applied and dropped.
            """,
        synopsis: ["stash list"], exits: [.init(.ok), .init(.integrity)],
        examples: [
            .init("vaultctl stash list", "All stashes."), .init("vaultctl stash list -v", "Also their files."),
        ],
        document: document,
        action: .local { call in
            try call.answer(StashAnswer(words: nil, stashes: try VaultPlace.open(call).stashes(), none: "No stash"))
        })

    private static let show = Verb(
        words: ["stash", "show"], group: .undo, summary: "the files of a stash",
        paragraph: "Tells the files of a stash and what had become of them.",
        synopsis: ["stash show [N]"], positionals: [number],
        exits: [.init(.ok), .init(.notFound, "there is no such stash"), .init(.integrity)],
        examples: [
            .init("vaultctl stash show", "The newest."), .init("vaultctl stash show 2", "The third from the top."),
        ],
        document: document,
        action: .local { call in
            let stashes = try VaultPlace.open(call).stashes()
            let chosen = try chosen(call)
            guard stashes.indices.contains(chosen) else {
                throw VaultError(.revisionNotFound, "there is no stash \(chosen)", hint: "vaultctl stash list")
            }
            return try call.answer(
                StashAnswer(words: nil, stashes: [stashes[chosen]], none: "", tellsFiles: true))
        })

    private static let appliedExits: [Verb.Exit] = [
        .init(.ok), .init(.notFound, "there is no such stash"),
        .init(.conflict, "commits changed the same since, or a merge is in progress"),
        .init(.auth, "a read-only clone"), .init(.integrity), .init(.refused, "uncommitted work is in the way"),
        .init(.partial, "some files can not be stored on this file system; the stash is kept"),
    ]

    private static let pop = Verb(
        words: ["stash", "pop"], group: .undo, summary: "bring stashed work back and drop the stash",
        paragraph: """
            Brings the work of a stash back into the working copy and drops the stash. Texts that commits changed since \
            are merged line by line. Where that can not be done, or where uncommitted work is in the way, nothing changes \
            and the stash is kept.
            """,
        synopsis: ["stash pop [N]"], positionals: [number], exits: appliedExits,
        examples: [
            .init("vaultctl stash pop", "Brings the newest back."), .init("vaultctl stash pop 1", "The one before."),
        ],
        network: .onDemand, document: applied, changes: true, action: .local { call in try apply(call, drop: true) })

    private static let apply = Verb(
        words: ["stash", "apply"], group: .undo, summary: "bring stashed work back and keep the stash",
        paragraph: "The same as vaultctl stash pop, but the stash is kept.",
        synopsis: ["stash apply [N]"], positionals: [number], exits: appliedExits,
        examples: [
            .init("vaultctl stash apply", "Applies the newest."), .init("vaultctl stash apply 1", "The one before."),
        ],
        network: .onDemand, document: applied, changes: true, action: .local { call in try apply(call, drop: false) })

    private static let drop = Verb(
        words: ["stash", "drop"], group: .undo, summary: "delete a stash",
        paragraph: "Deletes a stash for good; its work is nowhere else. Needs a yes, or -y.",
        synopsis: ["stash drop [N]"], positionals: [number],
        exits: [
            .init(.ok), .init(.negative, "declined"), .init(.notFound, "there is no such stash"),
            .init(.auth, "a read-only clone"), .init(.inputNeeded, "nobody can be asked"),
        ],
        examples: [
            .init("vaultctl stash drop", "Deletes the newest."), .init("vaultctl stash drop -y 1", "Without asking."),
        ],
        document: document, changes: true,
        action: .local { call in
            let vault = try VaultPlace.open(call)
            let number = try chosen(call)
            guard try vault.stashes().indices.contains(number) else {
                throw VaultError(.revisionNotFound, "there is no stash \(number)", hint: "vaultctl stash list")
            }
            try Confirmation.require("Delete stash \(number) for good?", call)
            return try call.answer(
                StashAnswer(words: "Dropped", stashes: [try vault.dropStash(number)], none: ""))
        })

    private static func chosen(_ call: Call) throws -> Int {
        guard let text = try call.textPositional(0) else { return 0 }
        guard let number = Int(text), number >= 0 else {
            throw Usage.error("N is the number of a stash, as vaultctl stash list tells it", about: [call.verb])
        }
        return number
    }

    private static func apply(_ call: Call, drop: Bool) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let number = try chosen(call)
        let result = try call.completing(vault) {
            try vault.applyStash(number, drop: drop, observer: call.observer())
        }
        return try call.answer(
            StashAnswer(
                words: result.isDropped ? "Brought back and dropped" : "Brought back", stashes: [result.stash],
                none: "", applied: result),
            exit: result.notWritten.isEmpty ? .ok : .partial)
    }
}

/// Stashes, told.
private struct StashAnswer: Rendered {
    /// What became of them; nil for a list.
    let words: String?
    let stashes: [StashInfo]
    let none: String
    var tellsFiles = false
    var applied: StashApplied?

    func writeText(to text: TextRenderer) throws {
        if stashes.isEmpty { return try text.line(none) }
        for stash in stashes {
            let name = stash.message ?? (stash.isEncrypted ? "" : "(made by sgit, not encrypted)")
            let place = stash.branch.map { " on \(TextSafety.line($0))" } ?? ""
            let begin = words.map { "\($0) " } ?? ""
            let count = text.counted(stash.changes.count, "file")
            let end = name.isEmpty ? "" : " \(TextSafety.line(name))"
            try text.line("\(begin)stash \(stash.number): \(text.time(stash.timeMs))\(place), \(count)\(end)")
            if tellsFiles || text.isVerbose { try text.changes(stash.changes, indent: 1) }
        }
        for path in applied?.merged ?? [] { try text.path("M", path.bytes, as: .changed, indent: 1) }
        try text.notStored(applied?.notWritten ?? [])
    }

    func jsonMembers() -> [JSONMember] {
        var members: [JSONMember] = .record(["stashes": .array(stashes.map { .stash($0) })])
        if let applied {
            members += .record([
                "dropped": .bool(applied.isDropped), "merged": .paths(applied.merged),
                "not_written": .skipped(applied.notWritten),
            ])
        }
        return members
    }
}

extension JSONValue {
    /// A stash.
    static func stash(_ stash: StashInfo) -> JSONValue {
        .record([
            "n": .count(stash.number), "time_ms": .integer(stash.timeMs), "base": .id(stash.base),
            "branch": .optional(stash.branch), "message": .optional(stash.message),
            "added": .paths(stash.changes.added), "modified": .paths(stash.changes.modified),
            "deleted": .paths(stash.changes.deleted), "encrypted": .bool(stash.isEncrypted),
        ])
    }
}
