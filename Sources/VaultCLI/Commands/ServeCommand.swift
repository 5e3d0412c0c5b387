internal import VaultCore
internal import VaultFormat
internal import VaultServer
internal import VaultSystem

/// The verb `vaultctl serve`, in its own words `serve run`.
enum ServeCommand {
    static let root = OptionSpec.value(
        "--root", argument: "DIR", help: "the folder that holds one folder per vault; made where it is absent",
        completion: .folder)
    static let published = OptionSpec.value(
        "--static", argument: "DIR", help: "give the files of this folder to everybody, read only",
        completion: .folder)
    static let readOnly = OptionSpec.flag("--read-only", help: "refuse every write (403)")
    static let port = OptionSpec.value("--port", argument: "P", help: "the port (8420); 0 takes a free one")
    static let bind = OptionSpec.value(
        "--bind", argument: "A", help: "the numeric address (127.0.0.1); another needs TLS and tokens")
    static let tokens = OptionSpec.value(
        "--tokens", argument: "F", help: "the file of access tokens, as 'serve token' prints its lines",
        completion: .file)
    static let certificate = OptionSpec.value(
        "--tls-cert", argument: "F", help: "the certificate chain (PEM)", completion: .file)
    static let privateKey = OptionSpec.value(
        "--tls-key", argument: "F", help: "the private key of the certificate (PEM)", secret: true, completion: .file)
    static let accessLog = OptionSpec.value(
        "--access-log", argument: "F", help: "append one JSON line per request to F", completion: .file)
    static let publicURL = OptionSpec.value(
        "--public-url", argument: "URL",
        help: "the base URL that clients use, where a proxy in front changes host or scheme")

    static let verbs: [Verb] = [run, ServeTokenCommand.verb, ServeBackupCommand.verb]

    private static let run = Verb(
        words: ["serve", "run"], group: .share, summary: "serve vaults to other clients over HTTP",
        paragraph: """
            Serves the vaults below the folder of --root, one folder for each vault id, to this program and to the \
            reference program; a served vault and a folder remote are the same files and can be used at once. Any \
            number of vaults is made by their first push. With --static the files of a published folder are given to \
            everybody, alone or beside the vaults. SIGTERM and SIGINT finish the requests under way and end with exit \
            0; SIGHUP reads the tokens and opens the log again. 'vaultctl serve' alone is the same.
            """,
        synopsis: [
            "serve --root DIR [--static DIR] [--read-only] [--port P] [--bind A] [--tokens F] "
                + "[--tls-cert F --tls-key F] [--access-log F] [--public-url URL]",
            "serve --static DIR [--port P] [--bind A] [--tls-cert F --tls-key F] [--access-log F]",
        ],
        options: [
            root, published, readOnly, port, bind, tokens, certificate, privateKey, accessLog, publicURL,
        ],
        exits: [
            .init(.ok, "a graceful stop"), .init(.refused, "another address than loopback without TLS and tokens"),
            .init(.io, "the port is in use, or a folder can not be opened"),
            .init(.unsupported, "libmicrohttpd is not installed"),
        ],
        examples: [
            .init("vaultctl serve --root ~/vaults", "Serves this machine on http://127.0.0.1:8420."),
            .init(
                "vaultctl serve --root v --bind 192.0.2.7 --tokens tokens --tls-cert c.pem --tls-key k.pem",
                "Serves other machines."),
        ],
        document: .init("vaultctl/serve/1", "url, root, static, vaults, read_only (printed once ready)"),
        isDefault: true, action: .local { call in try serve(call) })

    private static func serve(_ call: Call) throws -> ExitCode {
        let server = try VaultServer(try configuration(call))
        let signals = call.surroundings.cancellation as? Signals
        signals?.countHangups()
        do {
            _ = try call.answer(
                ServeAnswer(
                    url: server.url, root: path(root, call), published: path(published, call),
                    vaults: try server.vaults().count, isReadOnly: call.has(readOnly)))
            try call.output.flush()
        } catch {
            server.stop()
            throw error
        }
        watch(server, signals, call)
        server.stop()
        return .ok
    }

    /// Returns when a signal wants the server to end.
    private static func watch(_ server: VaultServer, _ signals: Signals?, _ call: Call) {
        let clock = call.surroundings.vault.clock
        var hangups = signals?.hangups ?? 0
        var rounds = 0
        while true {
            do { try call.checkStop() } catch { return }
            clock.sleep(milliseconds: 100)
            if let count = signals?.hangups, count != hangups {
                hangups = count
                server.reload()
            }
            rounds += 1
            if rounds % 10 == 0 { server.tick() }
        }
    }

    private static func path(_ option: OptionSpec, _ call: Call) -> FilePath? {
        call.arguments.last(option).map { call.workingDirectory.appending(relative: $0) }
    }

    private static func configuration(_ call: Call) throws -> ServerConfiguration {
        guard call.has(root) || call.has(published) else {
            throw Usage.error("'serve' needs --root DIR or --static DIR", hint: "vaultctl serve --root DIR")
        }
        var configuration = ServerConfiguration(environment: call.surroundings.vault)
        configuration.root = path(root, call)
        configuration.published = path(published, call)
        configuration.isReadOnly = call.has(readOnly)
        if let address = try call.text(bind) ?? call.settings().text(.serveBind) { configuration.address = address }
        if let number = try call.number(port, least: 0) {
            guard let port = UInt16(exactly: number) else { throw Usage.error("--port takes at most 65535") }
            configuration.port = port
        }
        configuration.tokens = path(tokens, call)
        configuration.certificate = path(certificate, call)
        configuration.privateKey = path(privateKey, call)
        configuration.accessLog = path(accessLog, call)
        configuration.publicURL = try publicAddress(call)
        let messages = call.messages
        configuration.report = { messages.warning($0) }
        return configuration
    }

    private static func publicAddress(_ call: Call) throws -> String? {
        guard var url = try call.text(publicURL)?[...] else { return nil }
        while url.hasSuffix("/") { url = url.dropLast() }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw Usage.error("--public-url takes a URL that begins with https:// or http://") }
        return String(url)
    }
}

/// What is served where, told once the server answers.
private struct ServeAnswer: Rendered {
    let url: String
    let root: FilePath?
    let published: FilePath?
    let vaults: Int
    let isReadOnly: Bool

    func writeText(to text: TextRenderer) throws {
        try text.line("Serving at \(url)")
        if let root {
            try text.line("Vaults: \(vaults) in \(root.text)\(isReadOnly ? ", read only" : "")")
        }
        if let published { try text.line("Files: \(published.text)") }
    }

    func jsonMembers() -> [JSONMember] {
        .record([
            "url": .string(url), "root": root.map { .name($0.bytes) } ?? .null,
            "static": published.map { .name($0.bytes) } ?? .null, "vaults": .count(vaults),
            "read_only": .bool(isReadOnly),
        ])
    }
}
