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

    /// The token for the server of an origin; nil when there is none.
    ///
    /// What a clone or the user's own file keeps goes to the server it was kept for and to no other.
    func token(for origin: String) throws -> HTTPSecret? {
        if let given = try given() {
            call.messages.secrets.remember(given)
            return try secret(given, "the access token")
        }
        guard !call.has(GlobalOptions.save) else {
            throw Usage.error("option '--save' keeps a token that this run is given; none is", about: [call.verb])
        }
        if let vault, try isRecorded(origin, vault), let kept = try vault.accessToken() {
            call.messages.secrets.remember(kept)
            return try secret(kept, "the clone's token file")
        }
        guard let kept = try TokenStore(surroundings: call.surroundings).token(for: origin) else { return nil }
        call.messages.secrets.remember(kept)
        return try secret(kept, "the stored token")
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
            guard let descriptor = Int32(exactly: number) else {
                throw Usage.error("option '--token-fd' takes the number of an open descriptor")
            }
            return try input.read(descriptor, source: "descriptor \(number)")
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
    private func isRecorded(_ origin: String, _ vault: Vault) throws -> Bool {
        guard let recorded = try vault.recordedServer() else { return false }
        return WebURL(recorded)?.origin == origin
    }

    /// Has the token of this run kept with `--save` once the verb has done its work, where a request with it succeeded.
    ///
    /// * `worked`: Whether one did.
    func saveAfterwards(_ token: HTTPSecret?, for origin: String, where worked: @escaping @Sendable () -> Bool) throws {
        // With the option the token is always one that was given.
        guard call.has(GlobalOptions.save), let token else { return }
        let messages = call.messages
        let store = TokenStore(surroundings: call.surroundings)
        let vault = vault
        let isOwn = try vault.map { try isRecorded(origin, $0) } ?? false
        call.afterWork {
            guard worked() else { return messages.note("token not saved: nothing needed it") }
            if let vault, isOwn {
                try vault.setAccessToken(token.bytes)
            } else {
                try store.keep(token.bytes, for: origin)
            }
        }
    }
}
