internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl push`.
enum PushCommand {
    static let branchOnly = OptionSpec.flag(
        "--branch-only", help: "publish this clone's own branch, not the shared one")
    static let lease = OptionSpec.optionalValue(
        "--force-with-lease", argument: "REV",
        help: "replace the remote's head only when it is REV, or without REV the head last accepted here",
        completion: .revision)
    static let force = OptionSpec.flag("--force", help: "replace whatever head the remote has at this moment")
    static let setDefault = OptionSpec.flag("--set-default", help: "record the server of this run as the vault's")
    static let pull = OptionSpec.flag("--pull", help: "when the remote moved, merge and try again")
    static let requireClean = OptionSpec.flag("--require-clean", help: "refuse when there is something to commit")
    static let repair = OptionSpec.flag(
        "--repair", help: "first ask what the remote's branches reach and it lost, and put that back")
    static let dryRun = OptionSpec.flag("--dry-run", help: "tell what would be sent, send nothing")

    static let verb = Verb(
        words: ["push"], group: .share, summary: "publish commits",
        paragraph: """
            Sends the objects of new commits and then moves the remote's branch by compare-and-swap. The first push \
            makes the vault at its server, also an empty one. A remote that moved is exit 5: pull, then push again. \
            Work that is not committed stays here.
            """,
        synopsis: [
            "push [--branch-only] [--force-with-lease[=REV]] [--force] [--set-default] [--pull] [--require-clean] "
                + "[--repair] [--dry-run]"
        ],
        options: [branchOnly, lease, force, setDefault, pull, requireClean, repair, dryRun],
        exits: [
            .init(.ok), .init(.notFound, "no server is known"), .init(.conflict, "with --pull"),
            .init(.rejected, "the remote moved"), .init(.auth), .init(.network), .init(.integrity), .init(.refused),
            .init(.partial, "--repair, and this clone of a part lacks something too"), .init(.unsupported),
            .init(.deferred),
        ],
        examples: [
            .init("vaultctl push", "Publishes what was committed."),
            .init("vaultctl push --server /srv/vaults/notes --set-default", "Publishes to a folder and records it."),
        ],
        network: .always,
        document: .init(
            "vaultctl/push/1",
            "result, branch, old, new, commits, objects, bytes, retries, dry_run, repaired[], "
                + "repair_missing[]"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        if call.has(force), call.has(lease) {
            throw Usage.error("options '--force' and '--force-with-lease' exclude each other", about: [call.verb])
        }
        if call.has(repair), call.has(dryRun) {
            throw Usage.error("options '--repair' and '--dry-run' exclude each other", about: [call.verb])
        }
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        var options = PushOptions(
            force: call.has(force), branchOnly: call.has(branchOnly), requireClean: call.has(requireClean),
            dryRun: call.has(dryRun))
        let settings = try call.settings()
        options.pullFirst = call.has(pull) || settings.flag(.autoPull)
        options.mergesTexts = settings.flag(.mergeText)
        options.lease = try leased(call, vault)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        let repaired = call.has(repair) ? try await vault.repairRemote(remote, observer: observer) : RemoteRepair()
        let result = try await vault.push(to: remote, options, observer: observer)
        if call.has(setDefault), !options.dryRun { try record(server, call, vault) }
        // What a clone of a part of the vault does not hold either, it can not put back.
        return try call.answer(
            PushAnswer(result: result, server: server, isPlan: options.dryRun, repaired: repaired),
            exit: repaired.missing.isEmpty ? .ok : .partial)
    }

    /// The head that the remote has to have, if one was named.
    private static func leased(_ call: Call, _ vault: Vault) throws -> ObjectID?? {
        guard let text = try call.text(lease) else { return nil }
        guard !text.isEmpty else { return .some(nil) }
        switch try vault.show(text) {
        case .commit(let entry), .tag(_, let entry): return entry.commit.id
        case .file, .folder:
            throw Usage.error("option '--force-with-lease' takes a revision without a path", about: [call.verb])
        }
    }

    private static func record(_ server: ServerAddress, _ call: Call, _ vault: Vault) throws {
        if let name = try call.text(GlobalOptions.remote), !call.has(GlobalOptions.server) {
            try vault.setDefaultRemote(name: name)
        } else {
            try vault.setServer(server.text)
        }
    }
}

/// What was published, told.
private struct PushAnswer: Rendered {
    let result: PushResult
    let server: ServerAddress
    let isPlan: Bool
    let repaired: RemoteRepair

    func writeText(to text: TextRenderer) throws {
        let place = Redaction.redacted(TextSafety.line(server.text))
        if !repaired.restored.isEmpty {
            try text.line(
                "Put back \(text.counted(repaired.restored.count, "object")) that \(place) had lost, "
                    + text.size(repaired.bytes))
        }
        for id in repaired.missing { try text.line("\(try text.coloured("missing", .bad)) \(id.text), here as well") }
        let sizes =
            "\(text.counted(result.commits, "commit")), \(text.counted(result.objects, "object")), "
            + text.size(result.bytes)
        let head = isPlan ? "Would publish" : "Published"
        switch result.outcome {
        case .upToDate: try text.line("\(place) has everything already (\(result.branch) at \(text.short(result.new)))")
        case .created: try text.line("\(head) a new vault at \(place): \(result.branch), \(sizes)")
        case .pushed:
            try text.line(
                "\(head) \(result.branch) to \(place): \(text.short(result.old))..\(text.short(result.new)), \(sizes)")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "result": .string(result.outcome.rawValue),
            "branch": .string(result.branch),
            "old": .id(result.old),
            "new": .id(result.new),
            "commits": .count(result.commits),
            "objects": .count(result.objects),
            "bytes": .integer(result.bytes),
            "retries": .count(result.retries),
            "dry_run": .bool(isPlan),
            "repaired": .strings(repaired.restored),
            "repair_missing": .array(repaired.missing.map { .id($0) }),
        ])
    }
}
