internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl cat`.
enum CatCommand {
    static let revision = ListCommand.revision
    static let outputFile = OptionSpec.value(
        "-o", argument: "FILE", help: "write to FILE, complete or not at all; '-' is standard output", completion: .file
    )
    static let data = OptionSpec.flag("--data", help: "with --json: also the bytes, in base64")

    static let verb = Verb(
        words: ["cat"], group: .work, summary: "print files of the vault",
        paragraph: """
            Prints the exact bytes of files at the head or at a revision, decrypted from the store, whatever the \
            working copy holds. With --json it tells about one file instead. FILE keeps its mode when it exists; a link \
            is followed, and a device or FIFO is written into. Contents that a clone of a part of the vault lacks are \
            fetched, and kept.
            """,
        synopsis: ["cat [--rev REV] [-o FILE] [--data] PATH..."], options: [revision, outputFile, data],
        positionals: [
            Positional(
                "PATH", help: "a file of the vault", required: true, repeatable: true, completion: .vaultPath)
        ],
        exits: [.init(.ok), .init(.notFound), .init(.auth), .init(.integrity)],
        examples: [
            .init("vaultctl cat docs/plan.md", "Prints a file."),
            .init("vaultctl cat --rev HEAD~3 -o old.md docs/plan.md", "Writes an older version to a local file."),
        ],
        network: .onDemand,
        document: .init("vaultctl/cat/1", "path, blob_id, size, content_type, sha256, data_b64 (with --data)"),
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let typed = PathArgument(call: call, root: vault.rootPath)
        let paths = try call.arguments.allPositionals.map { try typed.file($0) }
        let revision = try call.arguments.last(revision).map { try call.revision($0) }
        let target = call.arguments.last(outputFile).flatMap { $0 == [UInt8(ascii: "-")] ? nil : $0 }
        if target != nil || call.isJSON, paths.count > 1 {
            throw Usage.error("option '\(call.isJSON ? "--json" : "-o")' takes one PATH", about: [call.verb])
        }
        if call.isJSON, target == nil, call.has(outputFile) {
            throw Usage.error("with '--json' standard output is taken, so '-o' needs a file", about: [call.verb])
        }
        if let target {
            let file = try call.outputFile(target)
            let info = try call.completing(vault) {
                try vault.export(paths[0], revision: revision, to: file, describes: call.isJSON)
            }
            return try info.map { try call.answer(FileAnswer(info: $0, data: nil)) } ?? .ok
        }
        if call.isJSON {
            var bytes: [UInt8] = []
            let keeps = call.has(data)
            let info = try call.completing(vault) {
                try vault.read(paths[0], revision: revision) { part in
                    if keeps { part.append(to: &bytes) }
                }
            }
            return try call.answer(FileAnswer(info: info, data: keeps ? bytes : nil))
        }
        try call.completing(vault) { try vault.require(paths, revision: revision) }
        for path in paths {
            try vault.copy(path, revision: revision) { part in
                try call.checkStop()
                try call.output.write(bytes: part)
            }
        }
        return .ok
    }
}

/// What is known of a file, told.
///
/// Text is the file itself, so only JSON tells anything here.
struct FileAnswer: Rendered {
    let info: FileInfo
    let data: [UInt8]?

    func writeText(to text: TextRenderer) throws {}

    func jsonMembers() -> [JSONMember] {
        let members: [JSONMember] = .record([
            "path": .path(info.path),
            "blob_id": .id(info.blobID),
            "size": .integer(info.size),
            "content_type": .string(info.contentType),
            "sha256": .string(info.sha256),
        ])
        return members + (data.map { .record(["data_b64": .string(Base64.text($0.span))]) } ?? [])
    }
}

extension Span<UInt8> {
    /// Adds the bytes to an array.
    func append(to array: inout [UInt8]) {
        array.reserveCapacity(array.count + count)
        for index in indices { array.append(self[index]) }
    }
}

extension Output {
    /// Adds bytes that lie elsewhere.
    func write(bytes: Span<UInt8>) throws {
        var copy: [UInt8] = []
        bytes.append(to: &copy)
        try write(copy)
    }
}
