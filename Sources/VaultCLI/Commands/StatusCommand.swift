internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl status`.
enum StatusCommand {
    static let porcelain = OptionSpec.flag("-s", "--porcelain", help: "one mark and path per line, nothing else")
    static let zero = OptionSpec.flag("-z", help: "the same with NUL after each path and no quoting")
    static let fetch = OptionSpec.flag("--fetch", help: "ask the remote first [net]")
    static let ignored = OptionSpec.flag("--ignored", help: "also list what is ignored")
    static let exitCode = OptionSpec.flag("--exit-code", help: "exit 1 when there is something to commit")

    static let verb = Verb(
        words: ["status"], group: .work, summary: "show what has changed since the last commit",
        paragraph: """
            Compares the working copy with the head and tells how the head relates to what is known of the remote, with \
            the age of that knowledge. Nothing is asked of the remote without --fetch. Marks: A added, M modified, D \
            deleted, U conflict, ! ignored, ? not committed because it can not be. Paths are told from the current \
            directory; with -s, -z and --json from the vault's root, as ':/PATH' takes them.
            """,
        synopsis: ["status [-s | -z] [--fetch] [--ignored] [--exit-code] [PATH]..."],
        options: [porcelain, zero, fetch, ignored, exitCode],
        positionals: [Positional("PATH", help: "only what is at or below PATH", repeatable: true, completion: .file)],
        exits: [
            .init(.ok), .init(.negative, "with --exit-code: there is something to commit"), .init(.notFound),
            .init(.auth), .init(.network, "with --fetch"), .init(.integrity),
        ],
        examples: [
            .init("vaultctl status", "Shows branch, remote and changes."),
            .init("vaultctl status -z docs", "Changes below 'docs' for a script."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/status/1",
            "directory, vault_id, mode, branch, head, "
                + "remote{name,url,head,seen_ms,state,ahead,behind,behind_lower_bound,accepted}, merge{in_progress,conflicts[]}, "
                + "changes{added[],modified[],deleted[]}, unreadable[{path,reason}], skipped[{path,reason}], "
                + "stash_count, outbox_count, clean, ignored[], interrupted, rekey{new_vault_id,phase}"),
        action: .choose { call in
            call.has(fetch)
                ? .network { call in try await runWithFetch(call) }
                : .local { call in try report(call, try VaultPlace.open(call)) }
        })

    private static func runWithFetch(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        _ = try await vault.fetch(from: remote, observer: observer)
        return try report(call, vault, asked: server.text)
    }

    /// * `asked`: The address of the remote that was asked.
    private static func report(_ call: Call, _ vault: Vault, asked: String? = nil) throws -> ExitCode {
        let typed = PathArgument(call: call, root: vault.rootPath)
        let paths = try typed.paths(call.arguments.allPositionals) ?? []
        var report = try vault.status(StatusOptions(paths: paths, includeIgnored: call.has(ignored), remoteURL: asked))
        report.restrictLeftOut(to: paths)
        if let lost = report.overwrittenHead {
            call.messages.warning("another program moved the head; commit \(lost.text) is no longer part of the branch")
        }
        if let interrupted = report.interrupted {
            call.messages.note("an interrupted \(interrupted) is finished or undone by the next command that writes")
        }
        if let rekey = report.rekey {
            call.messages.note(
                "a rekey is pending, which makes the vault \(rekey.newVaultID.text); vaultctl rekey --resume goes on, "
                    + "--abandon gives it up")
        }
        let style: StatusAnswer.Style = call.has(zero) ? .zero : call.has(porcelain) ? .porcelain : .long
        let exit: ExitCode = call.has(exitCode) && !report.isClean ? .negative : .ok
        return try call.answer(
            StatusAnswer(
                report: report, root: vault.rootPath, typed: typed, style: style, showsIgnored: call.has(ignored)),
            exit: exit)
    }
}

extension StatusReport {
    /// Keeps of what is left out of commits, or ignored, only what lies at or below one of some paths, or what one of
    /// them lies in; without paths everything.
    fileprivate mutating func restrictLeftOut(to paths: [VaultPath]) {
        guard !paths.isEmpty else { return }
        let wanted = paths.map { FilePath(bytes: $0.bytes).components }
        func concerns(_ path: [UInt8]) -> Bool {
            let components = FilePath(bytes: path).components
            return wanted.contains { components.starts(with: $0) || $0.starts(with: components) }
        }
        unreadable.removeAll { !concerns($0.path) }
        skipped.removeAll { !concerns($0.path) }
        ignored.removeAll { !concerns($0) }
    }
}

/// A status, told.
private struct StatusAnswer: Rendered {
    enum Style { case long, porcelain, zero }

    let report: StatusReport
    let root: FilePath
    /// Where the long form tells paths from.
    let typed: PathArgument
    let style: Style
    let showsIgnored: Bool

    func writeText(to text: TextRenderer) throws {
        switch style {
        case .long: try writeLong(to: text)
        case .porcelain:
            for (mark, path, tone) in marked { try text.path(mark, path, as: tone) }
        case .zero:
            for (mark, path, _) in marked { try text.call.output.write(Array(mark.utf8) + [0x20] + path + [0]) }
        }
    }

    /// Every path with its mark, conflicts first.
    private var marked: [(mark: String, path: [UInt8], tone: Colour.Tone)] {
        report.conflicts.map { ("U", $0.bytes, .bad) }
            + report.changes.added.map { ("A", $0.bytes, .good) }
            + report.changes.modified.map { ("M", $0.bytes, .changed) }
            + report.changes.deleted.map { ("D", $0.bytes, .bad) }
            + (report.unreadable + report.skipped).map { ("?", $0.path, .bad) }
            + report.ignored.map { ("!", $0, .faint) }
    }

    private func writeLong(to text: TextRenderer) throws {
        let mode = report.mode == .full ? "" : ", \(report.mode.rawValue) clone"
        try text.line("Vault \(report.vaultID.text), branch \(report.branch)\(mode)")
        try text.line("Head \(text.short(report.head))")
        try text.line(remoteLine(text))
        if report.mergeInProgress {
            try text.line("A merge is under way")
            for path in report.conflicts { try text.path("U", typed.typed(path.bytes), as: .bad, indent: 2) }
        }
        if !report.changes.isEmpty {
            try text.line("Changes:")
            try text.changes(report.changes, indent: 2, typed: typed)
        }
        try left(report.unreadable, "Can not be read:", text)
        try left(report.skipped, "Left out of commits:", text)
        if showsIgnored, !report.ignored.isEmpty {
            try text.line("Ignored:")
            for path in report.ignored { try text.path("!", typed.typed(path), as: .faint, indent: 2) }
        }
        if report.stashCount > 0 { try text.line("Stashes: \(report.stashCount)") }
        if report.isClean { try text.line("Nothing to commit") }
    }

    private func left(_ entries: [SkippedEntry], _ title: String, _ text: TextRenderer) throws {
        guard !entries.isEmpty else { return }
        try text.line(title)
        for entry in entries { try text.path("?", typed.typed(entry.path), as: .bad, indent: 2) }
    }

    private func remoteLine(_ text: TextRenderer) -> String {
        let remote = report.remote
        guard let url = remote.url else { return "Remote: none recorded" }
        let place = "Remote \(TextSafety.line(remote.name)) (\(Redaction.redacted(TextSafety.line(url))))"
        let age = remote.seenMs.map { ", as of \(text.age(ofMs: $0))" } ?? ""
        return "\(place): \(relation(remote, text))\(age)"
    }

    private func relation(_ remote: RemoteState, _ text: TextRenderer) -> String {
        let ahead = remote.ahead.map { "ahead by \(text.counted($0, "commit"))" } ?? "ahead"
        let least = remote.behindIsLowerBound ? "at least " : ""
        let behind = remote.behind.map { "behind by \(least)\(text.counted($0, "commit"))" } ?? "behind"
        switch remote.relation {
        case .unknown: return "unknown"
        case .neverRead: return "never read"
        case .absent where remote.accepted != nil: return "no longer has the branch that this clone got from it"
        case .absent: return "does not have this vault or branch yet"
        case .upToDate: return "the same commit"
        case .ahead: return ahead
        case .behind: return behind
        case .diverged: return "diverged: \(ahead), \(behind)"
        case .rewound: return "rewound to an older commit"
        }
    }

    func jsonMembers() -> [JSONMember] {
        let remote = report.remote
        return .record([
            "directory": .name(root.bytes),
            "vault_id": .string(report.vaultID.text),
            "mode": .string(report.mode.rawValue),
            "branch": .string(report.branch),
            "head": .id(report.head),
            "remote": .record([
                "name": .string(remote.name),
                "url": .optional(remote.url),
                "head": .id(remote.head),
                "seen_ms": .optional(remote.seenMs),
                "state": .string(remote.relation.rawValue),
                "ahead": .optional(remote.ahead),
                "behind": .optional(remote.behind),
                "behind_lower_bound": .bool(remote.behindIsLowerBound),
                "accepted": .id(remote.accepted),
            ]),
            "merge": .record(["in_progress": .bool(report.mergeInProgress), "conflicts": .paths(report.conflicts)]),
            "changes": .changes(report.changes),
            "unreadable": .skipped(report.unreadable),
            "skipped": .skipped(report.skipped),
            "stash_count": .count(report.stashCount),
            "outbox_count": .count(0),
            "clean": .bool(report.isClean),
            "ignored": .array(report.ignored.map { .name($0) }),
            "interrupted": .optional(report.interrupted),
            "rekey": report.rekey.map { rekey in
                .record(["new_vault_id": .string(rekey.newVaultID.text), "phase": .string(rekey.phase.rawValue)])
            } ?? .null,
        ])
    }
}
