internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl attach`.
enum AttachCommand {
    static let verb = Verb(
        words: ["attach"], group: .maintain, summary: "give a bare clone its key and a working copy",
        paragraph: """
            Stores the key in a clone that holds none (made by 'clone --bare', or a store copied as .sg_vault/bare) and \
            writes the files of its head. Files that are there already are kept. With a read key the clone only reads. \
            The key comes from --key-file, --key-fd, --key-command, the environment or the terminal.
            """,
        synopsis: ["attach [DIR]"],
        positionals: [Positional("DIR", help: "the folder with .sg_vault in it (default: here)", completion: .folder)],
        exits: [
            .init(.ok), .init(.notFound), .init(.auth, "the key is not the one of this vault"), .init(.integrity),
            .init(.refused, "it has its key already"), .init(.partial, "this file system can not hold some files"),
            .init(.unsupported), .init(.inputNeeded),
        ],
        examples: [
            .init("vaultctl attach --key-file ../notes.key", "Makes an ordinary clone of a bare one."),
            .init("vaultctl attach --key-file notes.key notes", "The same for the folder 'notes'."),
        ],
        document: .init("vaultctl/attach/1", "directory, vault_id, mode, head, written[], kept[], not_stored[]"),
        changes: true,
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let root = try call.arguments.allPositionals.first.map { try call.place($0) } ?? VaultPlace.root(for: call)
        let key = try SecretInput(call: call).accessKey(for: "the vault in \(call.shown(root))")
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        let options = OpenOptions(lockTimeout: try VaultPlace.lockTimeout(call), verb: verb.name)
        let result = try Vault.attach(
            root: root, key: key, options: options, environment: call.surroundings.vault, observer: observer)
        return try call.answer(AttachAnswer(result: result), exit: result.notStored.isEmpty ? .ok : .partial)
    }
}

/// A clone that has its key, told.
private struct AttachAnswer: Rendered {
    let result: AttachResult

    func writeText(to text: TextRenderer) throws {
        try text.line(
            "\(TextSafety.line(result.directory)) is a clone of vault \(result.vaultID.text); "
                + "wrote \(text.counted(result.written.count, "file"))")
        if !result.kept.isEmpty {
            try text.line("Kept, because their content differs from the head's:")
            for path in result.kept { try text.path("M", path.bytes, as: .changed, indent: 2) }
        }
        try text.notStored(result.notStored)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "directory": .string(result.directory),
            "vault_id": .string(result.vaultID.text),
            "mode": .string(result.mode.rawValue),
            "head": .id(result.head),
            "written": .paths(result.written),
            "kept": .paths(result.kept),
            "not_stored": .array(result.notStored.map { .name($0.path) }),
        ])
    }
}
