internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl show`.
enum ShowCommand {
    static let stat = DiffCommand.stat
    static let patch = OptionSpec.flag("-p", "--patch", help: "the patch, which is told anyway without --stat")

    static let verb = Verb(
        words: ["show"], group: .work, summary: "show a commit, or a file as it was",
        paragraph: """
            Shows a commit (default: the head) with its signature and what it changed against its first parent, or with \
            REV:PATH the bytes of a file or the entries of a folder at that revision. A tag is shown with its commit.
            """,
        synopsis: ["show [--stat] [-p] [REV | REV:PATH | TAG]"], options: [stat, patch],
        positionals: [Positional("REV", help: "a revision, a revision and a path, or a tag", completion: .revision)],
        exits: [.init(.ok), .init(.notFound), .init(.auth), .init(.integrity)],
        examples: [
            .init("vaultctl show --stat HEAD~1", "The commit before the last, and how much it changed."),
            .init("vaultctl show HEAD~1:docs/plan.md", "A file as it was then."),
        ],
        network: .onDemand,
        document: .init(
            "vaultctl/show/1",
            "for a commit: the members of a log entry, files[\(DiffCommand.filesMembers)], "
                + "tag{name,id,message,time_ms,tagger{name,key_id},signature} (of a tag); for a file: path, "
                + "blob_id, size, content_type, sha256; for a folder: entries[] as ls"),
        pages: true, action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let spec = try call.arguments.allPositionals.first.map { try call.revision($0) } ?? "HEAD"
        let vault = try VaultPlace.open(call)
        switch try call.completing(vault, { try vault.show(spec, checkSignature: true) }) {
        case .commit(let entry): return try show(call, vault, entry, nil)
        case .tag(let tag, let entry): return try show(call, vault, entry, tag)
        case .file(let path, let commit):
            try call.completing(vault) { try vault.require([path], revision: commit.text) }
            if call.isJSON {
                let info = try vault.read(path, revision: commit.text) { _ in }
                return try call.answer(FileAnswer(info: info, data: nil))
            }
            _ = try vault.read(path, revision: commit.text) { bytes in try call.output.write(bytes: bytes) }
            return .ok
        case .folder(let path, let commit):
            let entries = try vault.list(path, recursive: false, revision: commit.text)
            return try call.answer(ListAnswer(entries: entries, base: path, style: .init(), typed: nil))
        }
    }

    private static func show(
        _ call: Call, _ vault: Vault, _ entry: LogEntry, _ tag: TagInfo?
    ) throws -> ExitCode {
        try call.completing(vault) { try entry.requireFiles() }
        let showsPatch = !call.has(stat) || call.has(patch)
        guard !call.isJSON else {
            var files: [JSONValue] = []
            try entry.files { file in
                try call.checkStop()
                files.append(file.jsonValue(withPatch: showsPatch))
                return true
            }
            let members = [JSONMember].logEntry(entry) + .record(["files": .array(files), "tag": json(of: tag)])
            try call.output.write(
                JSONDocument.result(schema: call.verb.document.schema, exit: .ok, members: members))
            return .ok
        }
        let text = TextRenderer(call: call)
        let lines = try Lines(text)
        for line in try (tag.map { try text.lines(of: $0) } ?? []) + text.lines(of: entry.commit) {
            try lines.line(line)
        }
        let style = DiffStyle(form: showsPatch ? .patch : nil, showsStat: call.has(stat))
        var isFirst = true
        try DiffTeller(text, lines, style).tell { body in
            try entry.files { file in
                if isFirst { try lines.line("") }
                isFirst = false
                return try body(file)
            }
        }
        return .ok
    }

    private static func json(of tag: TagInfo?) -> JSONValue {
        guard let tag else { return .null }
        return .record([
            "name": .string(tag.name), "id": .id(tag.id), "message": .string(tag.message),
            "time_ms": .optional(tag.timeMs),
            "tagger": .record(["name": .optional(tag.taggerName), "key_id": .optional(tag.taggerKeyID)]),
            "signature": .string(tag.signature.rawValue),
        ])
    }
}
