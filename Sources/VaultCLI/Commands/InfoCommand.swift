internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// The verb `vaultctl info`.
enum InfoCommand {
    static let verb = Verb(
        words: ["info"], group: .maintain, summary: "tell what this vault is",
        paragraph: "Tells the vault's id, server, mode, format, features and size. Nothing of it is secret.",
        synopsis: ["info"], exits: [.init(.ok), .init(.notFound), .init(.auth), .init(.integrity)],
        examples: [
            .init("vaultctl info", "For people."), .init("vaultctl info --json", "For scripts."),
        ],
        document: .init(
            "vaultctl/info/1",
            "vault_id, directory, mode, server, transport, branch, head, format, min_client, features[], objects, bytes"
        ),
        action: .local { call in
            let vault = try VaultPlace.open(call)
            let info = try vault.info()
            let server = try info.server.map { try ServerAddress.recorded($0) }
            return try call.answer(InfoAnswer(info: info, root: vault.rootPath, server: server))
        })
}

/// What a vault is, told.
private struct InfoAnswer: Rendered {
    let info: VaultInfo
    let root: FilePath
    let server: ServerAddress?

    private var transport: String? {
        server.map { $0.place == .web ? "api" : "folder" }
    }

    func writeText(to text: TextRenderer) throws {
        let rows: [(String, String)] = [
            ("Vault", info.vaultID.text), ("Directory", root.text), ("Mode", info.mode.rawValue),
            ("Server", server.map { Redaction.redacted(TextSafety.line($0.text)) } ?? "none recorded"),
            ("Branch", TextSafety.line(info.branch)), ("Head", info.head?.text ?? "none"),
            ("Format", "\(info.format)"), ("Minimum client", info.minClient.map(TextSafety.line) ?? "none"),
            ("Features", info.features.isEmpty ? "none" : info.features.map(TextSafety.line).joined(separator: ", ")),
            ("Objects", "\(info.objects), \(text.size(info.bytes))"),
        ]
        for (name, value) in rows { try text.line(TextLayout.padded("\(name):", to: 16) + value) }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "vault_id": .string(info.vaultID.text),
            "directory": .name(root.bytes),
            "mode": .string(info.mode.rawValue),
            "server": .optional(info.server),
            "transport": .optional(transport),
            "branch": .string(info.branch),
            "head": .id(info.head),
            "format": .count(info.format),
            "min_client": .optional(info.minClient),
            "features": .strings(info.features),
            "objects": .count(info.objects),
            "bytes": .integer(info.bytes),
        ])
    }
}
