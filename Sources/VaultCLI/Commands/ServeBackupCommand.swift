internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl serve backup`.
enum ServeBackupCommand {
    static let root = OptionSpec.value(
        "--root", argument: "DIR", help: "the folder that holds one folder per vault", completion: .folder)

    static let verb = Verb(
        words: ["serve", "backup"], group: .share, summary: "copy served vaults while they are served",
        paragraph: """
            Copies every vault below the folder of --root as it is at one moment into a folder of its own below DEST. \
            Writers of a vault wait only while its files get a second name, not while they are copied. Each copy is a \
            folder remote, and DEST can be served; of a destroyed vault it holds the record that keeps its id unused. \
            Files without an owner are told and not copied. Nothing is decrypted; no key is needed.
            """,
        synopsis: ["serve backup --root DIR DEST"], options: [root],
        positionals: [
            Positional("DEST", help: "a folder without copies of these vaults", required: true, completion: .folder)
        ],
        exits: [
            .init(.ok), .init(.refused, "DEST lies in the folder of --root"),
            .init(.partial, "a vault was not copied: its place was taken, or it has no owner"), .init(.io),
        ],
        examples: [
            .init("vaultctl serve backup --root /srv/vaults /backup/monday", "Copies all vaults."),
            .init("vaultctl serve --root /backup/monday --read-only", "Serves the copies."),
        ],
        document: .init("vaultctl/serve-backup/1", "vaults[{vault_id,files,bytes}], failed[{vault_id,code,message}]"),
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        guard let root = call.arguments.last(root) else { throw Usage.error("'serve backup' needs --root DIR") }
        let source = call.workingDirectory.appending(relative: root)
        let destination = call.workingDirectory.appending(relative: call.arguments.allPositionals.first ?? [])
        let served = ServerPlace.real(source, call).components
        // Copies in there would be served, and copied by the next backup.
        guard !ServerPlace.real(destination, call).components.starts(with: served) else {
            throw VaultError(
                .refused, "\(destination.text) lies in the folder of --root", hint: "name a folder elsewhere",
                path: destination.text)
        }
        let environment = call.surroundings.vault
        let folder: any Directory
        let entries: [DirectoryEntry]
        do throws(Errno) {
            folder = try environment.fileSystem.openDirectory(source)
            entries = try folder.entries()
        } catch {
            throw VaultError.io(error, "cannot open the folder of vaults \(source)")
        }
        var answer = BackupAnswer()
        // A link is not served either, but whoever put it there believes that it is: it is told.
        let names = entries.filter { [.directory, .symbolicLink, .unknown].contains($0.kind) }
            .compactMap { String(validating: $0.name, as: UTF8.self) }.sorted()
        for name in names {
            guard let id = try? VaultID(name), id.isServable else { continue }
            try call.checkStop()
            let vault = ServedVault(
                path: source.appending(component: name), in: folder, vaultID: id, environment: environment)
            do {
                guard let copied = try vault.backup(to: destination.appending(component: name)) else { continue }
                answer.vaults.append((id, copied.files, copied.bytes))
            } catch let error as VaultError {
                // One vault that can not be copied must not keep the others from being safe.
                answer.failed.append((id, error))
            }
        }
        return try call.answer(answer, exit: answer.failed.isEmpty ? .ok : .partial)
    }
}

/// What was copied, told.
private struct BackupAnswer: Rendered {
    var vaults: [(id: VaultID, files: Int, bytes: Int64)] = []
    var failed: [(id: VaultID, error: VaultError)] = []

    func writeText(to text: TextRenderer) throws {
        for vault in vaults {
            try text.line("\(vault.id): \(text.counted(vault.files, "file")), \(text.size(vault.bytes))")
        }
        for failure in failed {
            try text.line(
                "\(try text.coloured("not copied", .bad)) \(failure.id): \(TextSafety.line(failure.error.message))")
        }
        try text.line("Copied \(text.counted(vaults.count, "vault"))")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "vaults": .array(
                vaults.map {
                    .record([
                        "vault_id": .string($0.id.text), "files": .count($0.files), "bytes": .integer($0.bytes),
                    ])
                }),
            "failed": .array(
                failed.map {
                    .record([
                        "vault_id": .string($0.id.text), "code": .string($0.error.code.name),
                        "message": .string($0.error.message),
                    ])
                }),
        ])
    }
}
