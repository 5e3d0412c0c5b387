internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl write`.
enum WriteCommand {
    static let file = OptionSpec.value(
        "--file", argument: "F", help: "the content of PATH; otherwise standard input", completion: .file)
    static let also = OptionSpec.value(
        "--also", argument: "P=F", help: "also write local file F at vault path P, in the same commit",
        repeatable: true)
    static let message = OptionSpec.value(
        "-m", argument: "MSG", help: "the message; several make paragraphs", repeatable: true)
    static let ifBlob = OptionSpec.value(
        "--if-blob", argument: "ID", help: "only when PATH holds this blob now (exit 5 otherwise)")
    static let push = OptionSpec.flag("--push", help: "also push [net]")

    static let verb = Verb(
        words: ["write"], group: .work, summary: "commit content at a path, without a checkout",
        paragraph: """
            Commits standard input or a local file at PATH of the vault, on top of the head. A clone with a working \
            copy gets the file too. The message is 'write PATH' unless given.
            """,
        synopsis: ["write [--file F] [--also P=F]... [-m MSG]... [--if-blob ID] [--push] PATH"],
        options: [file, also, message, ifBlob, push],
        positionals: [Positional("PATH", help: "a path of the vault", required: true, completion: .vaultPath)],
        exits: [
            .init(.ok), .init(.notFound, "no server is known to push to"),
            .init(.rejected, "--if-blob does not hold, or the remote moved"), .init(.auth), .init(.network),
            .init(.integrity), .init(.refused),
            .init(.partial, "committed, but a file can not be stored on this file system"),
        ],
        examples: [
            .init("date | vaultctl write log/today.txt", "Commits standard input."),
            .init(
                "vaultctl write --file a.txt --also docs/b.txt=b.txt -m 'Two files' docs/a.txt",
                "Two files in one commit."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/write/1", "blob_id, commit_id, message, unchanged, paths{}, not_written[{path,reason}]"),
        changes: true,
        action: .choose { call in
            call.has(push) ? .network { call in try await runWithPush(call) } : .local { call in try run(call) }
        })

    private static func run(_ call: Call) throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        return try answer(call, try write(call, vault))
    }

    private static func runWithPush(_ call: Call) async throws -> ExitCode {
        let vault = try VaultPlace.open(call)
        let server = try ServerChoice.existing(call, vault)
        let result = try write(call, vault)
        let observer = call.observer()
        let ticker = Ticker(observer)
        defer { ticker.stop() }
        do {
            let remote = try RemoteOpener.open(server, vaultID: vault.vaultID, call: call, vault: vault)
            _ = try await vault.push(to: remote, PushOptions(), observer: observer)
        } catch let error as VaultError {
            guard let commit = result.commit else { throw error }
            throw error.following("committed as \(commit.id.text)", hint: "vaultctl push")
        }
        return try answer(call, result)
    }

    private static func answer(_ call: Call, _ result: WriteResult) throws -> ExitCode {
        try call.answer(WriteAnswer(result: result), exit: result.notWritten.isEmpty ? .ok : .partial)
    }

    private static func write(_ call: Call, _ vault: Vault) throws -> WriteResult {
        let typed = PathArgument(call: call, root: vault.rootPath)
        let path = try target(call.arguments.allPositionals[0], typed)
        var files: [(path: VaultPath, content: ContentSource)] = [
            (path, try call.arguments.last(file).map { try local($0, call) } ?? standardInput(call))
        ]
        for pair in call.arguments.all(also) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else {
                throw Usage.error("option '--also' takes a vault path, '=' and a local file", about: [call.verb])
            }
            files.append((try target(Array(pair[..<equals]), typed), try local(Array(pair[(equals + 1)...]), call)))
        }
        let parts = try call.arguments.all(message).map { try call.text($0, of: "the message") }
        let text = try CommitMessage.checked(parts.joined(separator: "\n\n"))
        let request = WriteRequest(
            files: files, message: CommitMessage.isBlank(text) ? nil : text,
            expectedBlob: try call.text(ifBlob).map { try blob($0, call) })
        return try vault.write(request, observer: call.observer())
    }

    /// A path that a file of the vault can have.
    private static func target(_ word: [UInt8], _ typed: PathArgument) throws -> VaultPath {
        guard word.last != UInt8(ascii: "/") else { throw Usage.error("\(TextSafety.quoted(word)) names a folder") }
        let path = try typed.file(word)
        guard UTF8Text.isValid(path.bytes.span) else {
            throw Usage.error("\(TextSafety.quoted(word)) is not UTF-8, and a vault holds no other names")
        }
        return path
    }

    private static func blob(_ text: String, _ call: Call) throws -> ObjectID {
        guard let id = try? ObjectID(text) else {
            throw Usage.error("option '--if-blob' takes the id of a blob, obj-cas-imm-...", about: [call.verb])
        }
        return id
    }

    private static func local(_ name: [UInt8], _ call: Call) throws -> ContentSource {
        let path = try call.place(name)
        guard let text = UTF8Text.validated(path.bytes.span) else {
            throw Usage.error("the name of a local file has to be UTF-8; give the content on standard input")
        }
        return .file(path: text)
    }

    private static func standardInput(_ call: Call) throws -> ContentSource {
        let input = call.surroundings.standardInput
        if let descriptor = input.streamDescriptor { return .descriptor(descriptor) }
        do throws(Errno) {
            return .bytes(try input.read(descriptor: 0, limit: .max - 1))
        } catch {
            throw VaultError.io(error, "cannot read standard input")
        }
    }
}

/// What was written, told.
private struct WriteAnswer: Rendered {
    let result: WriteResult

    func writeText(to text: TextRenderer) throws {
        guard let commit = result.commit else { return try text.line("Nothing has changed") }
        try text.line("[\(text.short(commit.id))] \(TextSafety.line(commit.subject))")
        for (path, blob) in result.blobs { try text.path(blob.text, path.bytes) }
        try text.notStored(result.notWritten)
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "blob_id": .id(result.blobs.first?.blob),
            "commit_id": .id(result.commit?.id),
            "message": .optional(result.commit?.message),
            "unchanged": .bool(result.unchanged),
            "paths": .object(
                result.blobs.map {
                    JSONMember(name: String(decoding: $0.path.bytes, as: UTF8.self), value: .id($0.blob))
                }),
            "not_written": .skipped(result.notWritten),
        ])
    }
}
