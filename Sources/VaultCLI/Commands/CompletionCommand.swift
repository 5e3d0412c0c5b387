internal import VaultCore
internal import VaultFormat

/// The verb `vaultctl completion`.
enum CompletionCommand {
    static let verb = Verb(
        words: ["completion"], group: .tool, summary: "print the completion script of a shell",
        paragraph: """
            The script offers verbs, options, paths of the vault, revisions and remotes. It asks vaultctl itself, never \
            the network.
            """,
        synopsis: ["completion bash|zsh|fish"],
        positionals: [
            Positional(
                "SHELL", help: "bash, zsh or fish", required: true,
                completion: .choice(CompletionScript.allCases.map(\.rawValue)))
        ],
        exits: [.init(.ok)],
        examples: [
            .init("source <(vaultctl completion bash)", "Completes in this shell."),
            .init(
                "vaultctl completion fish > ~/.config/fish/completions/vaultctl.fish", "Completes in every new fish."),
        ],
        document: .init("vaultctl/completion/1", "shell, script"),
        action: .local { call in try run(call) })

    private static func run(_ call: Call) throws -> ExitCode {
        let name = try call.textPositional(0) ?? ""
        guard let script = CompletionScript(rawValue: name) else {
            throw Usage.error(
                "there is no completion for this shell; there are \(Usage.list(CompletionScript.allCases.map(\.rawValue)))",
                about: [call.verb])
        }
        return try call.answer(CompletionResult(script: script))
    }
}

/// A completion script, told.
private struct CompletionResult: Rendered {
    let script: CompletionScript

    func writeText(to text: TextRenderer) throws {
        try text.line(script.text)
    }

    func jsonMembers() -> [JSONMember] {
        .record(["shell": .string(script.rawValue), "script": .string(script.text)])
    }
}
