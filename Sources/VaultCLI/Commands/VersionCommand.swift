internal import VaultFormat

/// The verb `vaultctl version`.
enum VersionCommand {
    static let verb = Verb(
        words: ["version"], group: .tool, summary: "tell the version",
        paragraph: "Prints the version of vaultctl and the vault formats it reads and writes.",
        synopsis: ["version"], exits: [.init(.ok)],
        examples: [.init("vaultctl version", "Prints the version."), .init("vaultctl version --json", "For scripts.")],
        document: .init("vaultctl/version/1", "version, formats[], reference"),
        action: .local { call in try call.answer(VersionResult()) })
}

/// The version, told.
private struct VersionResult: Rendered {
    func writeText(to text: TextRenderer) throws {
        try text.line("vaultctl \(Version.number) (sgit format \(Version.formats))")
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "version": .string(Version.number),
            "formats": .array([.integer(1), .integer(2)]),
            "reference": .string(Version.reference),
        ])
    }
}
