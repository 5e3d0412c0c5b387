internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl show`.
enum ShowCommand {
    static let verb = Verb(
        words: ["show"], group: .work, summary: "show a commit, or a file as it was",
        paragraph: """
            Shows a commit (default: the head) with its signature and the paths it changed, or with REV:PATH the bytes \
            of a file or the entries of a folder at that revision.
            """,
        synopsis: ["show [REV | REV:PATH]"],
        positionals: [Positional("REV", help: "a revision, or a revision and a path", completion: .revision)],
        exits: [.init(.ok), .init(.notFound), .init(.auth), .init(.integrity)],
        examples: [
            .init("vaultctl show HEAD~1", "The commit before the last."),
            .init("vaultctl show HEAD~1:docs/plan.md", "A file as it was then."),
        ],
        document: .init(
            "vaultctl/show/1",
            "for a commit: the members of a log entry, files[{path,status,size_before,size_after}]; for a file: path, "
                + "blob_id, size, content_type, sha256; for a folder: entries[] as ls"),
        pages: true, action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let spec = try call.arguments.allPositionals.first.map { try call.revision($0) } ?? "HEAD"
        let vault = try VaultPlace.open(call)
        switch try vault.show(spec, checkSignature: true) {
        case .commit(let entry, let files):
            return try call.answer(ShowAnswer(entry: entry, files: files))
        case .file(let path, let commit):
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
}

/// A commit with the paths it changed, told.
private struct ShowAnswer: Rendered {
    let entry: LogEntry
    let files: [ChangedFile]

    func writeText(to text: TextRenderer) throws {
        try text.commit(entry.commit)
        if !files.isEmpty { try text.line("") }
        for file in files {
            switch file.status {
            case .added: try text.path("A", file.path.bytes, as: .good)
            case .modified: try text.path("M", file.path.bytes, as: .changed)
            case .deleted: try text.path("D", file.path.bytes, as: .bad)
            }
        }
    }

    func jsonMembers() -> [JSONMember] {
        .logEntry(entry)
            + .record([
                "files": .array(
                    files.map {
                        .record([
                            "path": .path($0.path),
                            "status": .string($0.status.rawValue),
                            "size_before": .optional($0.sizeBefore),
                            "size_after": .optional($0.sizeAfter),
                        ])
                    })
            ])
    }
}
