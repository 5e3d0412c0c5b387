internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl fetch`.
enum FetchCommand {
    static let verb = Verb(
        words: ["fetch"], group: .share, summary: "get the remote's commits, change nothing here",
        paragraph: """
            Reads the remote's branches and gets the objects they lead to. Neither the branch of this clone nor the \
            working copy changes; 'origin/BRANCH' then names what was found.
            """,
        synopsis: ["fetch"],
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
            "vaultctl/fetch/1", "refs[{branch,old,new,rewind}], objects, bytes, tags[{name,change,commit}]"),
        changes: true,
        action: .network { call in try await run(call) })

    private static func run(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        return try call.answer(FetchAnswer(result: try await vault.fetch(from: remote, observer: observer)))
    }
}

/// What was fetched, told.
private struct FetchAnswer: Rendered {
    let result: FetchResult

    func writeText(to text: TextRenderer) throws {
        let moved = result.refs.filter { $0.old != $0.new }
        try text.tagChanges(result.tags)
        guard !moved.isEmpty else { return result.tags.isEmpty ? try text.line("Nothing new") : () }
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
            "tags": .tagChanges(result.tags),
        ])
    }
}
