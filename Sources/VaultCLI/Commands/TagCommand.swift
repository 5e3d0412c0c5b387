internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl tag`.
enum TagCommand {
    static let list = OptionSpec.flag(
        "-l", "--list", help: "tell the tags, with PATTERN those whose whole name matches; '*' stands for '/' too")
    static let porcelain = OptionSpec.flag("--porcelain", help: "name, commit and signature, separated by tabs")
    static let message = OptionSpec.value(
        "-m", argument: "MSG", help: "what the tag says; several are paragraphs", repeatable: true)
    static let force = OptionSpec.flag("-f", "--force", help: "also when there is a tag NAME, which then moves")
    static let delete = OptionSpec.flag("-d", help: "delete the tag NAME")
    static let verify = OptionSpec.flag("--verify", help: "check the signature of the tag NAME and show it")

    static let verb = Verb(
        words: ["tag"], group: .branches, summary: "name commits, with a signature",
        paragraph: """
            Tells the tags of the vault, or makes one for the head or for REV, signed with this clone's key. A tag works \
            wherever a revision does, but only while its signature verifies. Making and deleting tags is for others with \
            the next push; a tag goes as soon as its commit has gone. One that was deleted does not come back from \
            clones that still have it. Without --verify no signature changes the exit code.
            """,
        synopsis: [
            "tag [-l [PATTERN]] [--porcelain]", "tag [-f] [-m MSG]... NAME [REV]", "tag -d NAME", "tag --verify NAME",
        ],
        options: [list, porcelain, message, force, delete, verify],
        positionals: [
            Positional("NAME", help: "the tag, or with -l a pattern", completion: .revision),
            Positional("REV", help: "the commit it names", completion: .revision),
        ],
        exits: [
            .init(.ok), .init(.negative, "with --verify: not signed, or with a key that is not known"),
            .init(.notFound, "there is no such tag or revision"), .init(.rejected, "there is a tag of this name"),
            .init(.auth, "a read-only clone, or this clone's signing key is not here"),
            .init(.integrity, "with --verify: the signature is bad, or the tag was not fetched"),
            .init(.refused, "a partial clone, or a private key in the message"),
        ],
        examples: [
            .init("vaultctl tag -m 'as sent to print' v1.0", "Names the last commit."),
            .init("vaultctl tag --verify v1.0", "Who named it, and whether that can be believed."),
        ],
        document: .init(
            "vaultctl/tag/1",
            "tags[{name,commit,time_ms,tagger_key_id,message,status,id,pushed}]; when one is made also old; "
                + "with -d: name, result, commit"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let names = try call.arguments.allPositionals.map { try call.text($0, of: "the tag name") }
        let modes = [call.has(list), call.has(delete), call.has(verify)].count { $0 }
        let isMaking = modes == 0 && !names.isEmpty
        guard modes <= 1 else { throw Usage.error("tag does one thing at a time", about: [call.verb]) }
        guard isMaking || (!call.has(message) && !call.has(force)) else {
            throw Usage.error("'-m' and '-f' go with the NAME of a new tag", about: [call.verb])
        }
        let isListing = modes == 0 ? names.isEmpty : call.has(list)
        guard isListing || !call.has(porcelain) else {
            throw Usage.error("'--porcelain' goes with a list of tags", about: [call.verb])
        }
        guard isMaking || names.count == 1 || (isListing && names.isEmpty) else {
            throw Usage.error(
                isListing ? "'-l' takes one PATTERN" : "'-d' and '--verify' take one NAME", about: [call.verb])
        }
        if isMaking { return try make(names[0], at: names.count > 1 ? names[1] : nil, call) }
        let vault = try VaultPlace.open(call)
        guard let name = names.first, !isListing else {
            let tags = try vault.tags(matching: names.first)
            return try call.answer(TagList(tags: tags, form: call.has(porcelain) ? .porcelain : .list))
        }
        guard call.has(verify) else { return try call.answer(TagDeleted(deletion: try vault.deleteTag(name))) }
        let tag = try vault.tag(named: name)
        let code = try call.answer(TagList(tags: [tag], form: .whole), exit: exit(of: tag.signature))
        if tag.signature == .missing || tag.signature == .noKey { call.messages.advice("vaultctl fetch") }
        return code
    }

    private static func make(_ name: String, at revision: String?, _ call: Call) throws -> ExitCode {
        let message = try call.arguments.all(message).map { try call.text($0, of: "the message") }
            .joined(separator: "\n\n")
        if let revision, revision.isEmpty { throw Usage.error("the revision is empty", about: [call.verb]) }
        let creation = try VaultPlace.open(call).createTag(
            name, at: revision, message: try CommitMessage.checked(message), force: call.has(force))
        let code = try call.answer(TagMade(creation: creation))
        call.messages.advice("vaultctl push")
        return code
    }

    /// What a signature means for a verb that was asked for it.
    static func exit(of status: SignatureStatus) -> ExitCode {
        switch status {
        case .verified: .ok
        case .unsigned, .noKey: .negative
        case .bad, .missing: .integrity
        }
    }
}

/// Tags, told.
private struct TagList: Rendered {
    enum Form { case list, porcelain, whole }

    let tags: [TagInfo]
    let form: Form

    func writeText(to text: TextRenderer) throws {
        let width = tags.map(\.name.utf8.count).max() ?? 0
        for tag in tags {
            switch form {
            case .porcelain:
                try text.line("\(TextSafety.line(tag.name))\t\(tag.target?.text ?? "")\t\(tag.signature.rawValue)")
            case .whole:
                var lines = try text.lines(of: tag, withCommit: true)
                while lines.last?.isEmpty == true { lines.removeLast() }
                for line in lines { try text.line(line) }
            case .list:
                let name = TextSafety.line(tag.name)
                let gap = String(repeating: " ", count: max(0, width - name.utf8.count))
                let subject = TextSafety.line(String(tag.message.prefix { !$0.isNewline }))
                let state = try words(of: tag, text).map { " (\($0))" } ?? ""
                let target = tag.target.map { text.short($0) } ?? "(not here)"
                try text.line("\(name)\(gap) \(target)\(state)\(subject.isEmpty ? "" : " ")\(subject)")
            }
        }
    }

    private func words(of tag: TagInfo, _ text: TextRenderer) throws -> String? {
        var words: [String] = []
        if !tag.isPushed { words.append("not pushed") }
        switch tag.signature {
        case .verified: break
        case .bad: words.append(try text.coloured("bad signature", .bad))
        case .unsigned: words.append(try text.coloured("not signed", .changed))
        case .noKey: words.append(try text.coloured("signed with an unknown key", .changed))
        case .missing: words.append("not fetched")
        }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    func jsonMembers() -> [JSONMember] {
        .record(["tags": .array(tags.map { .tag($0) })])
    }
}

/// A tag that was made, told.
private struct TagMade: Rendered {
    let creation: TagCreation

    func writeText(to text: TextRenderer) throws {
        let tag = creation.tag
        let old = creation.oldTarget.map { " (was \(text.short($0)))" } ?? ""
        try text.line("Tagged \(text.short(tag.target)) as \(TextSafety.line(tag.name))\(old)")
    }

    func jsonMembers() -> [JSONMember] {
        .record(["tags": .array([.tag(creation.tag)]), "old": .id(creation.oldTarget)])
    }
}

/// A tag that was deleted, told.
private struct TagDeleted: Rendered {
    let deletion: TagDeletion

    func writeText(to text: TextRenderer) throws {
        let name = TextSafety.line(deletion.name)
        let old = deletion.target.map { " (was \(text.short($0)))" } ?? ""
        switch deletion.outcome {
        case .removed, .deleted: try text.line("Deleted \(name)\(old)")
        case .restored: try text.line("Dropped your change of \(name)\(old); the vault's tag stands")
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "name": .string(deletion.name), "result": .string(deletion.outcome.rawValue),
            "commit": .id(deletion.target),
        ])
    }
}

extension JSONValue {
    fileprivate static func tag(_ tag: TagInfo) -> JSONValue {
        .record([
            "name": .string(tag.name), "commit": .id(tag.target), "time_ms": .optional(tag.timeMs),
            "tagger_key_id": .optional(tag.taggerKeyID), "message": .string(tag.message),
            "status": .string(tag.signature.rawValue), "id": .id(tag.id), "pushed": .bool(tag.isPushed),
        ])
    }

    /// What happened to tags.
    static func tagChanges(_ changes: [TagChange]) -> JSONValue {
        .array(
            changes.map {
                .record([
                    "name": .string($0.name), "change": .string($0.kind.rawValue), "commit": .id($0.target),
                ])
            })
    }
}

extension TextRenderer {
    /// What happened to tags, a line for each.
    func tagChanges(_ changes: [TagChange]) throws {
        for change in changes {
            let target = change.target.map { ": \(short($0))" } ?? ""
            try line("Tag \(TextSafety.line(change.name)) \(change.kind.rawValue)\(target)")
        }
    }
}
