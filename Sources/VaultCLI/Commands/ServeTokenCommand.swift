internal import VaultCore
internal import VaultFormat
internal import VaultServer
internal import VaultSystem

/// The verb `vaultctl serve token`.
enum ServeTokenCommand {
    static let verb = Verb(
        words: ["serve", "token"], group: .share, summary: "make an access token for a server",
        paragraph: """
            Makes a new random access token and prints it once, with the line for the file of --tokens below it: the \
            token's name and hash. Nothing is stored. Whoever writes to the server gives the token; to take it back, \
            remove the line and send the server SIGHUP.
            """,
        synopsis: ["serve token NAME"],
        positionals: [Positional("NAME", help: "whose token it is, as the access log tells it", required: true)],
        exits: [.init(.ok), .init(.refused, "standard output is a file that other users can read")],
        examples: [
            .init("vaultctl serve token laptop", "Prints a token and its line."),
            .init(
                "vaultctl serve token ci --json",
                "The same for a script, which keeps the token and adds the line to the file."),
        ],
        document: .init("vaultctl/serve-token/1", "name, token, line"),
        action: .local { call in
            let name = try call.textPositional(0) ?? ""
            guard TokenFile.isName(name) else {
                throw Usage.error("a token's name is 1 to 64 letters, digits and . _ - @")
            }
            try SecretOutput(call: call).checkOutput()
            let made = try TokenFile.make(name: name, random: call.surroundings.vault.random)
            return try call.answer(TokenAnswer(name: name, token: made.token, line: made.line))
        })
}

/// A new token, told because it was asked for.
private struct TokenAnswer: Rendered {
    let name: String
    let token: String
    let line: String

    func writeText(to text: TextRenderer) throws {
        try text.line("token: \(token)")
        try text.line("line for the file of --tokens:")
        try text.line(line)
    }

    func jsonMembers() -> [JSONMember] {
        .record(["name": .string(name), "token": .string(token), "line": .string(line)])
    }
}
