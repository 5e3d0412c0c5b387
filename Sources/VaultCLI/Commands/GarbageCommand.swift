internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl gc`.
enum GarbageCommand {
    static let age = OptionSpec.value(
        "--prune-older", argument: "AGE", help: "how old unreachable objects must be: 14d (the default), 12h, '2 weeks'"
    )
    static let dryRun = OptionSpec.flag("--dry-run", help: "tell what would be removed, remove nothing")

    static let verb = Verb(
        words: ["gc"], group: .maintain, summary: "remove objects that nothing needs",
        paragraph: """
            Removes objects of this clone that nothing refers to and that are older than AGE, at least an hour. Spared \
            is what a branch, a tag, a head accepted from or seen at a remote, the reflog, a merge or a stash leads to, \
            and what a younger object leads to. The reflog forgets moves older than 90 days. Remotes keep everything. \
            In a clone of a part of a vault, what is not here counts as needed; nothing that is here and needed goes.
            """,
        synopsis: ["gc [--prune-older AGE] [--dry-run]"], options: [age, dryRun],
        exits: [
            .init(.ok), .init(.notFound), .init(.rejected, "another program moved a branch meanwhile"), .init(.auth),
            .init(.integrity, "damage keeps from telling what is needed"),
        ],
        examples: [
            .init("vaultctl gc --dry-run", "Tells what would be removed."),
            .init("vaultctl gc --prune-older 1d", "Removes what is unreachable for more than a day."),
        ],
        document: .init(
            "vaultctl/gc/1", "removed[], bytes, kept, reachable, reflog_expired, quarantined, partial, dry_run"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        var options = GarbageOptions(dryRun: call.has(dryRun))
        if let text = try call.text(age) {
            guard let length = TypedTime.length(text), length / 1000 >= GarbageOptions.leastAge else {
                throw Usage.error(
                    "option '--prune-older' takes an age of at least an hour, as 14d or 12h", about: [verb])
            }
            options.olderThanSeconds = length / 1000
        }
        let vault = try VaultPlace.open(call)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let report = try vault.collectGarbage(options, observer: observer)
        if report.isPartial {
            call.messages.note("this clone holds a part of the vault; what is not here counted as needed")
        }
        return try call.answer(GarbageAnswer(report: report, isPlan: options.dryRun))
    }
}

/// What was removed, told.
private struct GarbageAnswer: Rendered {
    let report: GarbageReport
    let isPlan: Bool

    func writeText(to text: TextRenderer) throws {
        let verb = isPlan ? "Would remove" : "Removed"
        try text.line("\(verb) \(text.counted(report.removed.count, "object")), \(text.size(report.bytes))")
        if text.isVerbose {
            for id in report.removed { try text.line("  \(id.text)") }
        }
        try text.line(
            "Kept \(text.counted(report.reachable, "object")) in use and \(report.kept) that nothing refers to and that "
                + "are young")
        if report.expiredMoves > 0 {
            let forgot = isPlan ? "would forget" : "forgot"
            try text.line("The reflog \(forgot) \(text.counted(report.expiredMoves, "move"))")
        }
        if report.quarantined > 0 {
            try text.line("\(verb) \(text.counted(report.quarantined, "damaged object")) set aside")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "removed": .array(report.removed.map { .id($0) }),
            "bytes": .integer(report.bytes),
            "kept": .count(report.kept),
            "reachable": .count(report.reachable),
            "reflog_expired": .count(report.expiredMoves),
            "quarantined": .count(report.quarantined),
            "partial": .bool(report.isPartial),
            "dry_run": .bool(isPlan),
        ])
    }
}
