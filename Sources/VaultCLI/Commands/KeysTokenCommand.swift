internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultHTTP

/// The verb `vaultctl keys token`.
enum KeysTokenCommand {
    static let dryRun = OptionSpec.flag("--dry-run", help: "with rm: tell what would be forgotten, change nothing")

    static let verb = Verb(
        words: ["keys", "token"], group: .keys, summary: "keep, forget or look for the access token of a server",
        paragraph: """
            ACTION 'set' takes a token from --token-fd, --token-file, VAULTCTL_TOKEN_FILE, VAULTCTL_TOKEN or the terminal, \
            never from an argument, asks the server whether it takes it, and then keeps it: in this clone for the \
            server that it records, else for the user, by server. Nothing is written at the server. 'rm' forgets it, \
            and 'status' tells where the token for a server would come from and for which servers one is kept. No \
            token is ever printed.
            """,
        synopsis: ["keys token ACTION [--dry-run] [SERVER]"],
        options: [dryRun],
        positionals: [
            Positional(
                "ACTION", help: "set, rm or status", required: true, secret: true,
                completion: .choice(["set", "rm", "status"])),
            Positional(
                "SERVER", help: "its URL, for a token of the user's; otherwise the server of this clone", secret: true),
        ],
        exits: [
            .init(.ok), .init(.notFound, "no token is kept for the server, or none is known"),
            .init(.auth, "the server refuses the token"), .init(.network, "the server can not be asked"),
            .init(.inputNeeded, "no source gives a token"),
        ],
        examples: [
            .init("vaultctl keys token set --token-file ~/token", "Keeps the token for the server of this clone."),
            .init("vaultctl keys token set https://vault.example.org", "Asks for one and keeps it for the user."),
        ],
        network: .onRequest,
        document: .init(
            "vaultctl/keys-token/1",
            "action, server, place (clone or user), source (option, environment, clone or user), "
                + "tokens[{server,place}] (of status), dry_run"),
        changes: true,
        action: .choose { call in
            call.arguments.allPositionals.first == Array("set".utf8)
                ? .network { call in try await set(call) } : .local { call in try runLocal(call) }
        })

    private static func runLocal(_ call: Call) throws -> ExitCode {
        switch try call.textPositional(0) {
        case "rm": return try remove(call)
        case "status": return try status(call)
        default: throw Usage.error("'keys token' needs an action: set, rm or status", about: [call.verb])
        }
    }

    /// A server, and the clone that asks about its own.
    private struct Target {
        let address: ServerAddress
        let origin: String
        let vault: Vault?

        init(_ address: ServerAddress, _ vault: Vault?) throws {
            guard case .web = address.place, let url = WebURL(address.text) else {
                throw Usage.error("a folder takes no access token; name a server by its URL")
            }
            self.address = address
            self.vault = vault
            origin = url.origin
        }

        /// Whether the clone keeps the token.
        func isOwn() throws -> Bool {
            guard let vault else { return false }
            return try TokenInput.isRecorded(origin, vault)
        }

        func place() throws -> TokenInput.Source { try isOwn() ? .clone : .user }
    }

    private static func target(_ call: Call) throws -> Target {
        if let typed = try named(call) {
            // Nothing of it is repeated: somebody may take this for the place of the token.
            guard typed.contains("://") else {
                throw Usage.error(
                    "the server is no URL; a token is given with --token-file or --token-fd, never as an argument",
                    about: [call.verb])
            }
            return try Target(try ServerAddress.parse(typed, relativeTo: call.workingDirectory), nil)
        }
        let vault = try VaultPlace.open(call)
        return try Target(try ServerChoice.existing(call, vault), vault)
    }

    private static func named(_ call: Call) throws -> String? {
        let (argument, option) = (try call.textPositional(1), try call.text(GlobalOptions.server))
        guard argument == nil || (option == nil && !call.has(GlobalOptions.remote)) else {
            throw Usage.error("the server is named twice", about: [call.verb])
        }
        return argument ?? option
    }

    private static func set(_ call: Call) async throws -> ExitCode {
        let target = try target(call)
        _ = try RemoteOpener.checked(target.address, call)
        let input = TokenInput(call: call, vault: target.vault)
        let token = try input.newToken(for: target.origin)
        var vaultID = target.vault?.vaultID
        if vaultID?.isServable != true {
            // Any will do: without a write key the server looks at nothing behind the token.
            let bytes = try call.surroundings.vault.random.bytes(8)
            vaultID = try VaultID(Hex.text(bytes.span))
        }
        guard let vaultID else { throw VaultError(.internalError, "a vault id that is none") }
        let remote = try RemoteOpener.trying(
            token, at: target.address, vaultID: vaultID, call: call, vault: target.vault)
        try await remote.checkToken()
        try input.keep(token, for: target.origin)
        return try call.answer(
            TokenAnswer(action: .set, server: target.origin, place: try target.place(), isPlan: false))
    }

    private static func remove(_ call: Call) throws -> ExitCode {
        let target = try target(call)
        let store = TokenStore(surroundings: call.surroundings)
        let place = try target.place()
        let isKept =
            switch place {
            case .clone: try target.vault?.accessToken() != nil
            default: try store.origins().contains(target.origin)
            }
        guard isKept else {
            throw VaultError(
                .keyNotFound, "no token is kept for \(target.origin) \(place.words)", hint: "vaultctl keys token status"
            )
        }
        if !call.has(dryRun) {
            if place == .clone { _ = try target.vault?.removeAccessToken() } else { try store.remove(target.origin) }
        }
        return try call.answer(
            TokenAnswer(action: .rm, server: target.origin, place: place, isPlan: call.has(dryRun)))
    }

    private static func status(_ call: Call) throws -> ExitCode {
        var target: Target?
        do {
            target = try Self.target(call)
        } catch let error as VaultError {
            // What is kept for the user is told anywhere.
            let codes: [VaultError.Code] = [.notAVault, .remoteNotFound, .usage]
            guard try named(call) == nil, codes.contains(error.code) else { throw error }
        }
        var tokens: [TokenAnswer.Kept] = []
        if let target, let vault = target.vault, try target.isOwn(), try vault.accessToken() != nil {
            tokens.append(TokenAnswer.Kept(server: target.origin, place: .clone))
        }
        let origins = try TokenStore(surroundings: call.surroundings).origins()
        tokens += origins.map { TokenAnswer.Kept(server: $0, place: .user) }
        let source = try target.flatMap { try TokenInput(call: call, vault: $0.vault).source(for: $0.origin) }
        return try call.answer(
            TokenAnswer(
                action: .status, server: target?.origin, place: nil, source: source, tokens: tokens, isPlan: false))
    }
}

extension TokenInput.Source {
    /// For people.
    fileprivate var words: String {
        switch self {
        case .option: "by an option"
        case .environment: "by the environment"
        case .clone: "in this clone"
        case .user: "for this user"
        }
    }
}

/// What became of a token, or where tokens are, told.
private struct TokenAnswer: Rendered {
    enum Action: String {
        case set, rm, status
    }

    struct Kept {
        let server: String
        let place: TokenInput.Source
    }

    let action: Action
    let server: String?
    let place: TokenInput.Source?
    var source: TokenInput.Source?
    var tokens: [Kept] = []
    let isPlan: Bool

    func writeText(to text: TextRenderer) throws {
        let name = TextSafety.line(server ?? "")
        switch action {
        case .set: try text.line("Kept the token for \(name) \(place?.words ?? "")")
        case .rm: try text.line("\(isPlan ? "Would forget" : "Forgot") the token for \(name) \(place?.words ?? "")")
        case .status:
            if server != nil {
                try text.line(source.map { "\(name): a token is given \($0.words)" } ?? "\(name): there is no token")
            }
            for kept in tokens { try text.line("kept \(kept.place.words): \(TextSafety.line(kept.server))") }
            if server == nil, tokens.isEmpty { try text.line("no token is kept") }
        }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "action": .string(action.rawValue), "server": .optional(server), "place": .optional(place?.rawValue),
            "source": .optional(source?.rawValue),
            "tokens": .array(
                tokens.map { .record(["server": .string($0.server), "place": .string($0.place.rawValue)]) }),
            "dry_run": .bool(isPlan),
        ])
    }
}
