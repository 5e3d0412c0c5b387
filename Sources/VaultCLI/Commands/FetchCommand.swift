internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl fetch`.
enum FetchCommand {
    static let all = OptionSpec.flag("--all", help: "every branch of the vault")
    static let prune = OptionSpec.flag("--prune", help: "forget branches that the remote does not have any more")
    static let unshallow = OptionSpec.flag("--unshallow", help: "in a clone with --depth: all history")
    static let deepen = OptionSpec.value("--deepen", argument: "N", help: "in a clone with --depth: N more levels")
    static let verify = OptionSpec.flag("--verify", help: "check the signatures of the commits that are not merged yet")

    static let verb = Verb(
        words: ["fetch"], group: .share, summary: "get the remote's commits, change nothing here",
        paragraph: """
            Reads the remote's branches and gets the objects they lead to. Neither the branch of this clone nor the \
            working copy changes; 'origin/BRANCH' then names what was found. A branch that went back behind what was \
            seen of it before is told as such. With --all the others are fetched where one is refused or damaged, and \
            the exit code is that of the first one.
            """,
        synopsis: ["fetch [--all] [--prune] [--unshallow | --deepen N] [--verify]"],
        options: [all, prune, unshallow, deepen, verify],
        exits: [
            .init(.ok), .init(.notFound, "no server is known"), .init(.auth), .init(.network), .init(.integrity),
            .init(.deferred),
        ],
        examples: [
            .init("vaultctl fetch", "Gets what is new."),
            .init("vaultctl fetch --remote backup", "From another saved remote."),
        ],
        network: .always,
        document: .init(
            "vaultctl/fetch/1",
            "refs[{branch,old,new,rewind}], objects, bytes, pruned[], boundary[], tags[{name,change,commit}], "
                + "failed[{branch,code,message}]"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        guard !call.has(unshallow) || !call.has(deepen) else {
            throw Usage.error("options '--unshallow' and '--deepen' exclude each other", about: [call.verb])
        }
        let options = FetchOptions(
            all: call.has(all), prunes: call.has(prune), unshallow: call.has(unshallow),
            deepen: try call.number(deepen, least: 1), verifies: call.has(verify))
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        let result = try await vault.fetch(from: remote, options, observer: observer)
        for ref in result.refs where ref.isRewind {
            let branch = TextSafety.line(ref.branch)
            call.messages.warning(
                ref.new == nil
                    ? "the remote does not have the branch \(branch) any more"
                    : "the branch \(branch) of the remote went back; vaultctl pull --accept-rewind takes its new state")
        }
        let failures = result.failures.map {
            (branch: $0.branch, failure: Failure($0.error, secrets: call.messages.secrets))
        }
        for (branch, failure) in failures {
            call.messages.warning("the branch \(TextSafety.line(branch)) was not fetched: \(failure.message)")
        }
        return try call.answer(
            FetchAnswer(result: result, failures: failures), exit: failures.first?.failure.exit ?? .ok)
    }
}

/// What was fetched, told.
private struct FetchAnswer: Rendered {
    let result: FetchResult
    /// Branches that were not fetched.
    let failures: [(branch: String, failure: Failure)]

    func writeText(to text: TextRenderer) throws {
        let moved = result.refs.filter { $0.old != $0.new }
        for branch in result.pruned { try text.line("\(TextSafety.line(branch)): forgotten") }
        try text.tagChanges(result.tags)
        guard !moved.isEmpty || result.objects > 0 else {
            let isSilent = result.tags.isEmpty && result.pruned.isEmpty && failures.isEmpty
            return isSilent ? try text.line("Nothing new") : ()
        }
        for ref in moved {
            let range = "\(text.short(ref.old))..\(text.short(ref.new))"
            try text.line("\(TextSafety.line(ref.branch)): \(range)\(ref.isRewind ? " (went back)" : "")")
        }
        try text.line("\(text.counted(result.objects, "object")), \(text.size(result.bytes))")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "refs": .array(
                result.refs.map {
                    .record([
                        "branch": .string($0.branch), "old": .id($0.old), "new": .id($0.new),
                        "rewind": .bool($0.isRewind),
                    ])
                }),
            "objects": .count(result.objects),
            "bytes": .integer(result.bytes),
            "pruned": .strings(result.pruned),
            "boundary": .array(result.boundary.map { .id($0) }),
            "tags": .tagChanges(result.tags),
            "failed": .array(
                failures.map {
                    .record([
                        "branch": .string($0.branch), "code": .string($0.failure.code),
                        "message": .string($0.failure.message),
                    ])
                }),
        ])
    }
}
