internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl branch`.
enum BranchCommand {
    static let list = OptionSpec.flag("--list", help: "tell the branches; the default without NAME")
    static let rename = OptionSpec.value(
        "-m", argument: "OLD", help: "give the branch OLD the name NAME; only before its first push",
        completion: .revision)
    static let delete = OptionSpec.flag("-d", help: "delete the branch NAME in this clone")
    static let forceDelete = OptionSpec.flag("-D", help: "the same, also with commits that no other branch has")

    static let verb = Verb(
        words: ["branch"], group: .branches, summary: "list, make, rename or delete branches",
        paragraph: """
            Tells the named branches of the vault as this clone knows them, or makes one at the head or at REV. A new \
            branch is known to others after its first push; work on it begins with vaultctl switch. The format can not \
            delete a branch for others: one that was pushed is no longer shown here, and the vault keeps it. The commits \
            of a deleted branch are found by the id that is told then, until vaultctl gc removes them.
            """,
        synopsis: ["branch [--list]", "branch NAME [REV]", "branch -m OLD NAME", "branch -d NAME", "branch -D NAME"],
        options: [list, rename, delete, forceDelete],
        positionals: [
            Positional("NAME", help: "the branch", completion: .revision),
            Positional("REV", help: "where it begins", completion: .revision),
        ],
        exits: [
            .init(.ok), .init(.notFound), .init(.rejected, "there is a branch of this name"),
            .init(.auth, "a read-only clone"), .init(.integrity),
            .init(.refused, "the branch is worked on, was pushed, or has commits that no other has"),
        ],
        examples: [
            .init("vaultctl branch", "Tells the branches."),
            .init("vaultctl branch drafts HEAD~2", "Makes a branch two commits back."),
        ],
        document: .init(
            "vaultctl/branch/1",
            "branches[{name,id,current,head,upstream_head,ahead,behind,pushed}]; with NAME: name, head; with -m: name; "
                + "with -d and -D: name, head or null, result"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let names = try call.arguments.allPositionals.map { try call.text($0, of: "the branch name") }
        let modes = [call.has(rename), call.has(delete), call.has(forceDelete), call.has(list)].count { $0 }
        guard modes <= 1 else { throw Usage.error("branch does one thing at a time", about: [call.verb]) }
        let vault = try VaultPlace.open(call)
        if let old = try call.arguments.last(rename).map({ try call.text($0, of: "the branch name") }) {
            guard names.count == 1 else { throw Usage.error("'-m' takes OLD and NAME", about: [call.verb]) }
            try vault.renameBranch(old, to: names[0])
            return try call.answer(BranchChange(text: "Renamed \(old) to \(names[0])", name: names[0]))
        }
        if call.has(delete) || call.has(forceDelete) {
            guard names.count == 1 else { throw Usage.error("'-d' takes one NAME", about: [call.verb]) }
            let end = try vault.deleteBranch(names[0], force: call.has(forceDelete))
            let words =
                end.end == .removed ? "Deleted \(names[0])" : "\(names[0]) is hidden here; the vault keeps it"
            return try call.answer(
                BranchChange(text: words, name: names[0], head: end.head, result: end.end.rawValue))
        }
        guard let name = names.first else {
            return try call.answer(BranchList(branches: try vault.branches()))
        }
        guard !call.has(list) else { throw Usage.error("'--list' takes no NAME", about: [call.verb]) }
        let head = try vault.createBranch(name, at: names.count > 1 ? names[1] : nil)
        return try call.answer(BranchChange(text: "Made \(name)", name: name, head: head))
    }
}

/// Branches, told.
private struct BranchList: Rendered {
    let branches: [BranchInfo]

    func writeText(to text: TextRenderer) throws {
        for branch in branches {
            let name = TextSafety.line(branch.name)
            var words: [String] = []
            if !branch.isPushed { words.append("not pushed") }
            if let ahead = branch.ahead, ahead > 0 { words.append("ahead \(ahead)") }
            if let behind = branch.behind, behind > 0 { words.append("behind \(behind)") }
            let state = words.isEmpty ? "" : " (\(words.joined(separator: ", ")))"
            let head = branch.head.map { text.short($0) } ?? "(never fetched)"
            try text.line("\(branch.isCurrent ? "*" : " ") \(name) \(head)\(state)")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "branches": .array(
                branches.map {
                    .record([
                        "name": .string($0.name), "id": .string($0.id), "current": .bool($0.isCurrent),
                        "head": .id($0.head), "upstream_head": .id($0.upstreamHead),
                        "ahead": $0.ahead.map { .count($0) } ?? .null, "behind": $0.behind.map { .count($0) } ?? .null,
                        "pushed": .bool($0.isPushed),
                    ])
                })
        ])
    }
}

/// A branch that was made, renamed or deleted, told.
private struct BranchChange: Rendered {
    let text: String
    let name: String
    var head: ObjectID?
    var result: String?

    func writeText(to renderer: TextRenderer) throws {
        let was = result == nil ? nil : head.map { " (was \(renderer.short($0)))" }
        try renderer.line(text + (was ?? ""))
    }

    func jsonMembers() -> [JSONMember] {
        var members: [JSONMember] = .record(["name": .string(name)])
        if head != nil || result != nil { members += .record(["head": .id(head)]) }
        if let result { members += .record(["result": .string(result)]) }
        return members
    }
}
