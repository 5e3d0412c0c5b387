internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl verify-commit`.
enum VerifyCommitCommand {
    static let all = OptionSpec.flag("--all", help: "also every commit that they reach; tells those that do not verify")

    static let verb = Verb(
        words: ["verify-commit"], group: .maintain, summary: "check the signatures of commits",
        paragraph: """
            Checks the signatures of commits (default: the head) with the public keys of the vault that are here. Exit 0 \
            only when all of them verify.
            """,
        synopsis: ["verify-commit [--all] [REV | A..B]..."], options: [all],
        positionals: [
            Positional("REV", help: "a commit, or a range of commits", repeatable: true, completion: .revision)
        ],
        exits: [
            .init(.ok, "all of them verify"), .init(.negative, "some are not signed, or with a key that is not known"),
            .init(.notFound), .init(.integrity, "a signature is bad, or a commit is missing"),
        ],
        examples: [
            .init("vaultctl verify-commit HEAD", "The last commit."),
            .init("vaultctl verify-commit --all", "All history."),
        ],
        document: .init(
            "vaultctl/verify-commit/1",
            "counts{verified,bad,unsigned,no_key}, bad[], commits[{id,status,author{name,key_id}}] (with --all those "
                + "that do not verify)"),
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let revisions = try call.arguments.allPositionals.map { try call.revision($0) }
        let tellsAll = !call.has(all)
        var told: [CommitInfo] = []
        let counts = try VaultPlace.open(call).verifyCommits(revisions, all: call.has(all)) { commit in
            try call.checkStop()
            if tellsAll || commit.signature != .verified { told.append(commit) }
        }
        let exit: ExitCode = counts.bad > 0 ? .integrity : counts.unsigned + counts.noKey > 0 ? .negative : .ok
        return try call.answer(VerifiedCommits(commits: told, counts: counts, tellsCounts: !tellsAll), exit: exit)
    }
}

/// Signatures, told.
private struct VerifiedCommits: Rendered {
    let commits: [CommitInfo]
    let counts: SignatureCounts
    let tellsCounts: Bool

    func writeText(to text: TextRenderer) throws {
        for commit in commits {
            let status = commit.signature ?? .unsigned
            let author = commit.authorName.map { " by \(TextSafety.line($0))" } ?? ""
            let key = commit.authorKeyID.map { " (\(TextSafety.line($0)))" } ?? ""
            try text.line("\(commit.id.text) \(try text.coloured(status, status.rawValue))\(author)\(key)")
        }
        guard tellsCounts else { return }
        try text.line(text.signatures("Signatures", counts))
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "counts": .record([
                "verified": .count(counts.verified), "bad": .count(counts.bad), "unsigned": .count(counts.unsigned),
                "no_key": .count(counts.noKey),
            ]),
            "bad": .array(commits.filter { $0.signature == .bad }.map { .id($0.id) }),
            "commits": .array(
                commits.map {
                    .record([
                        "id": .id($0.id), "status": .optional($0.signature?.rawValue),
                        "author": .record(["name": .optional($0.authorName), "key_id": .optional($0.authorKeyID)]),
                    ])
                }),
        ])
    }
}
