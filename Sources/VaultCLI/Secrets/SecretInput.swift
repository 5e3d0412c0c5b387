internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Gets the vault or read key from the first source that is present (spec 10 B.5).
struct SecretInput {
    let call: Call

    /// The key for something, from any source; asks on the terminal as the last resort.
    func accessKey(for purpose: String) throws -> AccessKey {
        let text = try key(for: purpose)
        return try text.withBytes { bytes in try AccessKey.routing(argument: bytes, readKey: nil) }
    }

    /// The text of a key, from any source; asks on the terminal as the last resort.
    /// - Throws: `inputNeeded` when there is no source and nobody to ask.
    func key(for purpose: String) throws -> SecretBytes {
        if let given = try given() { return given }
        guard call.mayAsk, call.surroundings.terminal.isAvailable else {
            throw VaultError(
                .inputNeeded, "the key of \(purpose) is needed",
                hint: "give it with --key-file, --key-fd, --key-command or VAULTCTL_KEY_FILE")
        }
        return try asked("Key of \(purpose): ")
    }

    /// The text of a key from the options or the environment; nil when neither names a source.
    func given() throws -> SecretBytes? {
        guard let text = try firstGiven() else { return nil }
        call.messages.secrets.remember(text)
        return text
    }

    private func firstGiven() throws -> SecretBytes? {
        let arguments = call.arguments
        if let number = try call.number(GlobalOptions.keyDescriptor, least: 0) { return try descriptor(number) }
        if let path = arguments.last(GlobalOptions.keyFile) { return try file(path, "--key-file") }
        if let command = try call.text(GlobalOptions.keyCommand) { return try output(of: command, "--key-command") }
        let environment = call.surroundings.environment
        if let path = environment["VAULTCTL_KEY_FILE"] { return try file(path, "VAULTCTL_KEY_FILE") }
        if let command = environment["VAULTCTL_KEY_COMMAND"] {
            return try output(of: try call.text(command, of: "VAULTCTL_KEY_COMMAND"), "VAULTCTL_KEY_COMMAND")
        }
        return try environment["VAULTCTL_KEY"].map { try SecretText.verbatim($0, from: "VAULTCTL_KEY") }
    }

    /// The secret on standard input.
    func standardInput() throws -> SecretBytes {
        let text = try read(0, source: "standard input")
        call.messages.secrets.remember(text)
        return text
    }

    /// Refuses positionals that declare themselves private keys, whatever the verb.
    func checkDeclaredKeys() throws {
        let kinds = call.arguments.allPositionals.map { KeyText.kind(of: $0.span) }
        if kinds.contains(where: { $0 == .vault || $0 == .readPrivate }) {
            try checkArgument("a private key as an argument")
        }
    }

    /// Refuses a private key among the arguments, where every user of the machine can see it.
    func checkArgument(_ what: String) throws {
        guard !call.has(GlobalOptions.insecureArgv) else {
            call.messages.warning("\(what) is visible to other users of this machine")
            return
        }
        throw VaultError(
            .usage,
            "\(what) would be visible to other users; pass '-' and give it on standard input, "
                + "or use --key-file F, or --key-fd N",
            hint: "--insecure-argv accepts it all the same")
    }

    private func asked(_ question: String) throws -> SecretBytes {
        var answer: [UInt8]
        do throws(Errno) {
            answer = try call.surroundings.terminal.ask(question, hidden: true)
        } catch {
            try call.checkStop()
            throw VaultError(.inputNeeded, "the terminal did not answer", cause: error)
        }
        let text = try SecretText.taken(&answer, from: "the answer")
        call.messages.secrets.remember(text)
        return text
    }

    private func descriptor(_ number: Int) throws -> SecretBytes {
        guard let descriptor = Int32(exactly: number) else {
            throw Usage.error("option '--key-fd' takes the number of an open descriptor")
        }
        return try read(descriptor, source: "descriptor \(number)")
    }

    private func read(_ descriptor: Int32, source: String) throws -> SecretBytes {
        var bytes: [UInt8]
        do throws(Errno) {
            bytes = try call.surroundings.standardInput.read(descriptor: descriptor, limit: Self.readLimit)
        } catch {
            throw unreadable(source, error)
        }
        return try SecretText.taken(&bytes, from: source)
    }

    private func file(_ name: [UInt8], _ option: String) throws -> SecretBytes {
        guard !name.isEmpty else { throw Usage.error("the file name of \(option) is empty") }
        let path = call.workingDirectory.appending(relative: name)
        let fileSystem = call.surroundings.vault.fileSystem
        let source = "the file of \(option)"
        if let status = try? fileSystem.status(of: path, followLinks: true), status.kind == .regular,
            status.mode & 0o044 != 0
        {
            try exposed(path)
        }
        var bytes: [UInt8]
        do throws(Errno) {
            bytes = try fileSystem.readFile(path, limit: Self.readLimit)
        } catch {
            throw unreadable(source, error)
        }
        return try SecretText.taken(&bytes, from: source)
    }

    private func exposed(_ path: FilePath) throws {
        guard call.has(GlobalOptions.strictPermissions) else {
            call.messages.warning("\(path.text) can be read by other users; chmod 600 keeps it private")
            return
        }
        throw VaultError(
            .refused, "\(path.text) can be read by other users", hint: "chmod 600 \(path.text)", path: path.text)
    }

    private func output(of command: String, _ option: String) throws -> SecretBytes {
        var result: (output: [UInt8], exit: Int32)
        do throws(Errno) {
            result = try call.surroundings.processes.capture(
                command, in: call.workingDirectory, limit: Self.readLimit)
        } catch {
            throw unreadable("the output of \(option)", error)
        }
        guard result.exit == 0 else {
            SecretText.wipe(&result.output)
            throw VaultError(.keyMissing, "the command of \(option) ended with exit code \(result.exit)")
        }
        return try SecretText.taken(&result.output, from: "the output of \(option)")
    }

    private func unreadable(_ source: String, _ errno: Errno) -> VaultError {
        switch errno {
        case .fileTooLarge: Usage.error("\(source) holds more than \(SecretText.limit) bytes")
        case .badDescriptor: Usage.error("\(source) is not open")
        default: VaultError.io(errno, "cannot read \(source)")
        }
    }

    /// A secret of the largest size with its line end.
    private static let readLimit = SecretText.limit + 2
}
