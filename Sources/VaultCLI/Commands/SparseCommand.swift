internal import VaultCore
internal import VaultFormat

/// The verbs `vaultctl sparse ACTION`.
enum SparseCommand {
    static let verbs: [Verb] = [list, set, add, disable]

    private static let paths = Positional(
        "PATH", help: "a folder or file of the vault", required: true, repeatable: true, completion: .vaultPath)
    private static let document = Verb.Document(
        "vaultctl/sparse/1",
        "paths[], whole, written[], removed[], not_written[{path,reason}], objects, bytes")
    private static let exits: [Verb.Exit] = [
        .init(.ok), .init(.notFound, "there is no such path, or no server is known"), .init(.conflict, "a merge waits"),
        .init(.auth), .init(.network), .init(.integrity),
        .init(.refused, "uncommitted work is in the way, or there is nothing to add to"),
        .init(.partial, "some files can not be stored on this file system"), .init(.deferred),
    ]

    private static let list = Verb(
        words: ["sparse", "list"], group: .work, summary: "which part of the vault this clone holds",
        paragraph: """
            Lists the folders and files that a clone with --path or --no-checkout holds and writes. 'vaultctl sparse' \
            does the same.
            """,
        synopsis: ["sparse [list]"], exits: [.init(.ok), .init(.integrity)],
        examples: [
            .init("vaultctl sparse", "What is held here."), .init("vaultctl sparse list --json", "For a script."),
        ],
        document: document, isDefault: true,
        action: .local { call in
            try call.answer(SparseAnswer(state: try VaultPlace.open(call).sparse(), result: nil))
        })

    private static let set = Verb(
        words: ["sparse", "set"], group: .work, summary: "hold and write these folders only",
        paragraph: """
            Fetches the folders, writes their files, and takes the files of all others out of the working copy. The \
            vault keeps them, and commits carry them on as they are. Files with uncommitted edits stop it before \
            anything has changed. In a clone of the whole vault the objects stay here.
            """,
        synopsis: ["sparse set PATH..."], positionals: [paths], exits: exits,
        examples: [
            .init("vaultctl sparse set docs", "Works on 'docs' alone."),
            .init("vaultctl sparse set docs src/api", "Or on two folders."),
        ],
        network: .always, document: document, changes: true,
        action: .network { call in try await run(call) { .set($0) } })

    private static let add = Verb(
        words: ["sparse", "add"], group: .work, summary: "hold and write more folders",
        paragraph: "Fetches the folders besides what is held, and writes their files. Nothing is overwritten.",
        synopsis: ["sparse add PATH..."], positionals: [paths], exits: exits,
        examples: [
            .init("vaultctl sparse add notes", "Brings the folder 'notes' here."),
            .init("vaultctl sparse add notes/plan.md", "Or one file."),
        ],
        network: .always, document: document, changes: true,
        action: .network { call in try await run(call) { .add($0) } })

    private static let disable = Verb(
        words: ["sparse", "disable"], group: .work, summary: "hold and write the whole vault",
        paragraph: "Fetches what is not here and writes all files. A history that --depth cut off stays so.",
        synopsis: ["sparse disable"], exits: exits,
        examples: [
            .init("vaultctl sparse disable", "Makes a whole clone of it."),
            .init("vaultctl sparse disable -q", "Without progress."),
        ],
        network: .always, document: document, changes: true,
        action: .network { call in try await run(call) { _ in .whole } })

    private static func run(
        _ call: Call, _ change: @Sendable ([VaultPath]) -> SparseChange
    ) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        let paths = try call.arguments.allPositionals.map { try typed.file($0) }
        let server = try ServerChoice.existing(call, vault)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
        let result = try await vault.changeSparse(change(paths), from: remote, observer: observer)
        return try call.answer(
            SparseAnswer(state: result.state, result: result), exit: result.notWritten.isEmpty ? .ok : .partial)
    }
}

/// What a clone holds, told.
private struct SparseAnswer: Rendered {
    let state: SparseState
    /// Nil where nothing was changed.
    let result: SparseResult?

    func writeText(to text: TextRenderer) throws {
        if state.isWhole {
            try text.line("The whole vault")
        } else if state.paths.isEmpty {
            try text.line("No file yet")
        }
        for path in state.paths { try text.path(" ", path.bytes, as: .changed) }
        guard let result else { return }
        try text.line(
            "Wrote \(text.counted(result.written.count, "file")), took \(text.counted(result.removed.count, "file")) out; "
                + "fetched \(text.counted(result.objects, "object")), \(text.size(result.bytes))")
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "paths": .paths(state.paths), "whole": .bool(state.isWhole), "written": .paths(result?.written ?? []),
            "removed": .paths(result?.removed ?? []), "not_written": .skipped(result?.notWritten ?? []),
            "objects": .count(result?.objects ?? 0), "bytes": .integer(result?.bytes ?? 0),
        ])
    }
}
