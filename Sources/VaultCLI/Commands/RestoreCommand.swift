internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl restore`.
enum RestoreCommand {
    static let source = OptionSpec.value(
        "--source", argument: "REV", help: "take the files from REV; from the head by default", completion: .revision)
    static let discard = OptionSpec.flag("--discard", help: "overwrite files with uncommitted edits too")

    static let verb = Verb(
        words: ["restore"], group: .undo, summary: "give files the content of a commit",
        paragraph: """
            Writes files as they are in the head, or in REV, into the working copy: deleted ones come back, and with \
            --discard edited ones go back. Files with uncommitted edits are kept otherwise, and told, and so is always \
            what is no plain file. A folder stands \
            for all files that the commit has in it; others in it stay. During a merge --ours and --theirs take the \
            file of one side, and the conflict stays to be resolved. The head does not move.
            """,
        synopsis: ["restore [--source REV] [--ours|--theirs] [--discard] PATH..."],
        options: [source, ResolveCommand.ours, ResolveCommand.theirs, discard],
        positionals: [
            Positional("PATH", help: "a file or folder", required: true, repeatable: true, completion: .vaultPath)
        ],
        exits: [
            .init(.ok), .init(.notFound, "no PATH, or no REV, is there"), .init(.auth, "a read-only clone"),
            .init(.integrity), .init(.refused, "all files were kept, or no merge is in progress"),
            .init(.partial, "some files were kept, missing or not storable"),
        ],
        examples: [
            .init("vaultctl restore notes/plan.md", "Brings a deleted file back."),
            .init("vaultctl restore --source HEAD~3 --discard notes", "A folder as it was three commits ago."),
        ],
        network: .onDemand,
        document: .init("vaultctl/restore/1", "written[], kept[], missing[], not_written[{path,reason}]"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let given = [call.has(source), call.has(ResolveCommand.ours), call.has(ResolveCommand.theirs)].count { $0 }
        guard given <= 1 else {
            throw Usage.error("'--source', '--ours' and '--theirs' exclude each other", about: [call.verb])
        }
        let vault = try VaultPlace.open(call)
        let paths = try PathArgument(call: call, root: vault.rootPath).paths(call.arguments.allPositionals) ?? []
        var from = RestoreSource.head
        if let revision = call.arguments.last(source) { from = .revision(try call.revision(revision)) }
        if call.has(ResolveCommand.ours) { from = .ours }
        if call.has(ResolveCommand.theirs) { from = .theirs }
        let result = try call.completing(vault) {
            try vault.restore(paths, from: from, discards: call.has(discard), observer: call.observer())
        }
        guard paths.isEmpty || result.missing.count < paths.count else {
            throw VaultError(
                .pathNotFound, "\(result.missing[0]) is not in the commit", path: result.missing[0].description)
        }
        let isWhole = result.kept.isEmpty && result.missing.isEmpty && result.notWritten.isEmpty
        let exit: ExitCode = isWhole ? .ok : result.written.isEmpty && !result.kept.isEmpty ? .refused : .partial
        return try call.answer(RestoreAnswer(result: result), exit: exit)
    }
}

/// What was restored, told.
private struct RestoreAnswer: Rendered {
    let result: RestoreResult

    func writeText(to text: TextRenderer) throws {
        try text.line("Restored \(text.counted(result.written.count, "file"))")
        if text.isVerbose { for path in result.written { try text.path("M", path.bytes, as: .changed, indent: 1) } }
        if !result.kept.isEmpty {
            let notFiles = Set(result.notFiles)
            let edited = result.kept.filter { !notFiles.contains($0) }
            if !edited.isEmpty { try text.line("Kept, because of uncommitted edits (--discard overwrites them):") }
            for path in edited { try text.path("M", path.bytes, as: .changed, indent: 1) }
            if !notFiles.isEmpty { try text.line("Kept, because no plain file stands there (move away what does):") }
            for path in result.notFiles { try text.path("M", path.bytes, as: .changed, indent: 1) }
        }
        if !result.missing.isEmpty {
            try text.line("Not in the commit:")
            for path in result.missing { try text.path("?", path.bytes, as: .bad, indent: 1) }
        }
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "written": .paths(result.written), "kept": .paths(result.kept), "missing": .paths(result.missing),
            "not_written": .skipped(result.notWritten),
        ])
    }
}
