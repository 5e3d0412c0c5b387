internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultHTTP
internal import VaultSystem

/// Gets the access token for a server from the first source that is present (spec 10 B.5).
struct TokenInput {
    let call: Call
    /// The clone that asks, if there is one.
    let vault: Vault?

    /// Where the token for a server comes from.
    enum Source: String, Sendable {
        case option, environment, clone, user
    }

    /// The token for the server of an origin; nil when there is none.
    ///
    /// What a clone or the user's own file keeps goes to the server it was kept for and to no other.
    func token(for origin: String) throws -> HTTPSecret? {
        if let given = try given() {
            call.messages.secrets.remember(given)
            return try secret(given, "the access token")
        }
        guard !call.has(GlobalOptions.save) || canAsk else {
            throw Usage.error("option '--save' keeps a token that this run is given; none is", about: [call.verb])
        }
        if let vault, try Self.isRecorded(origin, vault), let kept = try vault.accessToken() {
            call.messages.secrets.remember(kept)
            return try secret(kept, "the clone's token file")
        }
        guard let kept = try TokenStore(surroundings: call.surroundings).token(for: origin) else { return nil }
        call.messages.secrets.remember(kept)
        return try secret(kept, "the stored token")
    }

    /// A token that is to be kept: given with this run, else asked for.
    ///
    /// - Throws: `inputNeeded` when there is no source and nobody to ask.
    func newToken(for origin: String) throws -> HTTPSecret {
        if let given = try given() {
            call.messages.secrets.remember(given)
            return try secret(given, "the access token")
        }
        guard canAsk else {
            throw VaultError(
                .inputNeeded, "the access token for \(origin) is needed",
                hint: "give it with --token-file, --token-fd or VAULTCTL_TOKEN_FILE")
        }
        return try asked(for: origin)
    }

    /// Whether somebody can be asked for a token.
    var canAsk: Bool { call.mayAsk && call.surroundings.terminal.isAvailable }

    /// Asks on the terminal.
    func asked(for origin: String) throws -> HTTPSecret {
        let answer = try call.messages.whileAsking {
            try SecretInput(call: call).asked("Access token for \(origin): ")
        }
        return try secret(answer, "the answer")
    }

    /// Where the token for a server would come from; nil when there is none.
    ///
    /// Nothing that can be read only once is read.
    func source(for origin: String) throws -> Source? {
        if let givenSource { return givenSource }
        if let vault, try Self.isRecorded(origin, vault), try vault.accessToken() != nil { return .clone }
        return try TokenStore(surroundings: call.surroundings).token(for: origin) == nil ? nil : .user
    }

    private var givenSource: Source? {
        if call.has(GlobalOptions.tokenDescriptor) || call.has(GlobalOptions.tokenFile) { return .option }
        let names = ["VAULTCTL_TOKEN_FILE", "VAULTCTL_TOKEN"]
        return names.contains { call.surroundings.environment[$0]?.isEmpty == false } ? .environment : nil
    }

    private func secret(_ token: borrowing SecretBytes, _ source: String) throws -> HTTPSecret {
        guard let secret = HTTPSecret(try token.copy()) else {
            throw Usage.error("\(source) holds what can be no access token")
        }
        return secret
    }

    /// The token that the options or the environment give.
    private func given() throws -> SecretBytes? {
        let input = SecretInput(call: call)
        if let number = try call.number(GlobalOptions.tokenDescriptor, least: 0) {
            return try input.descriptor(number, of: GlobalOptions.tokenDescriptor)
        }
        if let path = call.arguments.last(GlobalOptions.tokenFile) { return try input.file(path, "--token-file") }
        let environment = call.surroundings.environment
        if let path = environment["VAULTCTL_TOKEN_FILE"], !path.isEmpty {
            return try input.file(path, "VAULTCTL_TOKEN_FILE")
        }
        guard let value = environment["VAULTCTL_TOKEN"], !value.isEmpty else { return nil }
        return try SecretText.verbatim(value, from: "VAULTCTL_TOKEN")
    }

    /// Whether a clone's own server is at an origin.
    static func isRecorded(_ origin: String, _ vault: Vault) throws -> Bool {
        guard let recorded = try vault.recordedServer() else { return false }
        return WebURL(recorded)?.origin == origin
    }

    /// Keeps a token for a server: in a clone that records it, else in the user's own file.
    func keep(_ token: HTTPSecret, for origin: String) throws {
        try Self.keep(token, for: origin, vault, TokenStore(surroundings: call.surroundings))
    }

    /// Has the token of this run kept with `--save` once the verb has done its work, where a request with it succeeded.
    ///
    /// * `working`: Gives the token when one did.
    func saveAfterwards(for origin: String, _ working: @escaping @Sendable () -> HTTPSecret?) {
        guard call.has(GlobalOptions.save) else { return }
        // Not the call itself, which holds this closure.
        let messages = call.messages
        let vault = vault
        let store = TokenStore(surroundings: call.surroundings)
        call.afterWork {
            guard let token = working() else { return messages.note("token not saved: nothing needed it") }
            try Self.keep(token, for: origin, vault, store)
        }
    }

    private static func keep(_ token: HTTPSecret, for origin: String, _ vault: Vault?, _ store: TokenStore) throws {
        if let vault, try isRecorded(origin, vault) {
            try vault.setAccessToken(token.bytes)
        } else {
            try store.keep(token.bytes, for: origin)
        }
    }
}
