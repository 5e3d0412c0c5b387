internal import VaultCore
internal import VaultFormat
internal import VaultHTTP
internal import VaultSystem

/// The one place that turns an address into a remote.
enum RemoteOpener {
    /// Opens the remote of a vault.
    ///
    /// * `vault`: The clone that asks, if there is one: it may hold a token for its server, and keeps what the server
    ///   asked for.
    ///
    /// - Throws: `unreachable` with `--offline` where a connection would be opened, `cleartextRefused` before anything
    ///   is sent where it would not be encrypted.
    static func open(
        _ address: ServerAddress, vaultID: VaultID, call: Call, vault: Vault? = nil
    ) throws -> any Remote {
        switch address.place {
        case .folder(let path):
            return FolderRemote(
                path: path, vaultID: vaultID, environment: call.surroundings.vault,
                lockTimeout: try VaultPlace.lockTimeout(call))
        case .web: return try web(address, vaultID, call, vault)
        }
    }

    private static func web(
        _ address: ServerAddress, _ vaultID: VaultID, _ call: Call, _ vault: Vault?
    ) throws -> HTTPRemote {
        let input = TokenInput(call: call, vault: vault)
        let origin = try checked(address, call).origin
        var options = try options(call, vault)
        options.token = try input.token(for: origin)
        if options.token == nil, input.canAsk { options.askForToken = { try input.asked(for: origin) } }
        let remote = try HTTPRemote(
            address.text, vaultID: vaultID, options: options, environment: call.surroundings.vault)
        input.saveAfterwards(for: origin) { remote.workingToken }
        return remote
    }

    /// Opens a server with a token that is to be tried.
    ///
    /// * `address`: One that is no folder.
    static func trying(
        _ token: HTTPSecret, at address: ServerAddress, vaultID: VaultID, call: Call, vault: Vault?
    ) throws -> HTTPRemote {
        var options = try options(call, vault)
        options.token = token
        return try HTTPRemote(address.text, vaultID: vaultID, options: options, environment: call.surroundings.vault)
    }

    /// The URL of an address that may be spoken to.
    static func checked(_ address: ServerAddress, _ call: Call) throws -> WebURL {
        guard !call.has(GlobalOptions.offline) else {
            throw VaultError(.unreachable, "--offline forbids a connection to \(address.text)")
        }
        return try HTTPRemote.checked(address.text, allowing: try call.settings().list(.allowCleartext))
    }

    private static func options(_ call: Call, _ vault: Vault?) throws -> HTTPRemote.Options {
        let settings = try call.settings()
        var options = HTTPRemote.Options()
        options.cleartextOrigins = settings.list(.allowCleartext)
        options.retry.attempts = max(1, settings.number(.retries) ?? options.retry.attempts)
        if let wait = try seconds(GlobalOptions.maxWait, call) ?? settings.number(.maxWait).map(Double.init) {
            options.retry.maxWaitMs = Int64(min(wait, longestWait) * 1000)
        }
        options.retry.ignoresBackoff = call.has(GlobalOptions.ignoreBackoff)
        if let vault {
            options.backoff = NotBeforeFile(
                folder: vault.rootPath.appending(".sg_vault/local/vaultctl"),
                fileSystem: call.surroundings.vault.fileSystem, clock: call.surroundings.vault.clock)
        }
        options.client = try client(settings, call)
        return options
    }

    private static func client(_ settings: Settings, _ call: Call) throws -> HTTPClient.Options {
        let surroundings = call.surroundings
        var options = HTTPClient.Options()
        options.parallel = min(64, max(1, settings.number(.parallel) ?? options.parallel))
        if let timeout = try seconds(GlobalOptions.timeout, call) { options.stallMs = max(1, Int64(timeout * 1000)) }
        options.userAgent = "vaultctl/\(Version.number)"
        options.proxies = ProxyRules { surroundings.filled($0) }
        options.certificateFile = surroundings.filled("SSL_CERT_FILE")
        options.certificateFolder = surroundings.filled("SSL_CERT_DIR")
        if call.has(GlobalOptions.insecureTLS) {
            options.verifiesTLS = false
            call.messages.warning(
                "--insecure-tls: whoever is between here and the server can read and change everything")
        }
        let messages = call.verbosity > 1 ? call.messages : nil
        let trace = call.trace
        if messages != nil || trace != nil {
            options.trace = { request in
                messages?.note(request.line)
                trace?.request(request)
            }
        }
        return options
    }

    /// A year; more is no wait that anybody means.
    private static let longestWait = 31_536_000.0

    /// An option that takes a number of seconds.
    static func seconds(_ option: OptionSpec, _ call: Call) throws -> Double? {
        guard let text = try call.text(option) else { return nil }
        guard let seconds = Double(text), seconds >= 0, seconds <= 1_000_000_000 else {
            throw Usage.error("option '\(option.name)' takes a number of seconds")
        }
        return seconds
    }
}
