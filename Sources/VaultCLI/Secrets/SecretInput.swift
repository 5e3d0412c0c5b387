internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The text of the key that was given to a run, once it has been read.
final class GivenText: Sendable {
    private final class Value: Sendable {
        let bytes: SecretBytes

        init(_ bytes: consuming SecretBytes) {
            self.bytes = bytes
        }
    }

    private let value = Locked<Value?>(nil)

    /// Keeps a copy.
    func keep(_ text: borrowing SecretBytes) throws {
        let copy = Value(try text.copy())
        value.withLock { $0 = copy }
    }

    /// A copy of what is kept.
    func copy() throws -> SecretBytes? {
        guard let kept = value.withLock({ $0 }) else { return nil }
        return try kept.bytes.copy()
    }
}

/// Gets the vault or read key from the first source that is present (spec 10 B.5).
struct SecretInput {
    let call: Call

    /// The key for something, from any source; asks on the terminal as the last resort.
    func accessKey(for purpose: String) throws -> AccessKey {
        let source = source ?? "the answer"
        let text = try key(for: purpose)
        return try text.withBytes { bytes in try Self.accessKey(bytes, from: source) }
    }

    /// A text as a key.
    /// - Throws: `usage` when it has not the form of one, whatever its source.
    static func accessKey(_ text: Span<UInt8>, from source: String, readKey: Span<UInt8>? = nil) throws -> AccessKey {
        do throws(FormatError) {
            return try AccessKey.routing(argument: text, readKey: readKey)
        } catch {
            throw malformed(error, source)
        }
    }

    /// The error of a text that is no key.
    static func malformed(_ error: FormatError, _ source: String) -> VaultError {
        guard error.code == .invalidKey else { return .format(error, "reading the key") }
        return Usage.error(
            "\(source) holds no key: \(error.detail)", hint: "vaultctl keys classify tells what it holds")
    }

    /// The name of the source that `given` reads; nil when neither the options nor the environment name one.
    var source: String? {
        if let option = optionSource { return option }
        let names = ["VAULTCTL_KEY_FILE", "VAULTCTL_KEY_COMMAND", "VAULTCTL_KEY"]
        return names.first { variable($0) != nil }
    }

    /// A variable of the environment; an empty one counts as not set.
    func variable(_ name: String) -> [UInt8]? {
        call.surroundings.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The option that names a source.
    var optionSource: String? {
        [GlobalOptions.keyDescriptor, GlobalOptions.keyFile, GlobalOptions.keyCommand].first { call.has($0) }?.name
    }

    /// Refuses a key in an argument beside one in an option: one of them would go unused.
    func checkSingleSource(_ argument: String) throws {
        guard let option = optionSource else { return }
        throw Usage.error("the key is given twice, as \(argument) and with '\(option)'", about: [call.verb])
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
    ///
    /// The source is read once in a run: a descriptor gives its bytes only once.
    func given() throws -> SecretBytes? {
        if let kept = try call.givenKey.copy() { return kept }
        guard let text = try firstGiven() else { return nil }
        call.messages.secrets.remember(text)
        try call.givenKey.keep(text)
        return text
    }

    private func firstGiven() throws -> SecretBytes? {
        let arguments = call.arguments
        if let number = try call.number(GlobalOptions.keyDescriptor, least: 0) {
            return try descriptor(number, of: GlobalOptions.keyDescriptor)
        }
        if let path = arguments.last(GlobalOptions.keyFile) { return try file(path, "--key-file") }
        if let command = try call.text(GlobalOptions.keyCommand) { return try output(of: command, "--key-command") }
        if let path = variable("VAULTCTL_KEY_FILE") { return try file(path, "VAULTCTL_KEY_FILE") }
        if let command = variable("VAULTCTL_KEY_COMMAND") {
            return try output(of: try call.text(command, of: "VAULTCTL_KEY_COMMAND"), "VAULTCTL_KEY_COMMAND")
        }
        return try variable("VAULTCTL_KEY").map { try SecretText.verbatim($0, from: "VAULTCTL_KEY") }
    }

    /// The secret on standard input.
    func standardInput() throws -> SecretBytes {
        let text = try read(0, source: "standard input")
        call.messages.secrets.remember(text)
        return text
    }

    /// Refuses positionals that declare themselves private keys or look like a generated one, whatever the verb.
    ///
    /// A file whose name looks like a key can be named with `./` before it.
    func checkDeclaredKeys() throws {
        let words = call.arguments.allPositionals
        let kinds = words.map { KeyText.kind(of: $0.span) }
        if kinds.contains(where: { $0 == .vault || $0 == .readPrivate }) || words.contains(where: Redaction.isBareKey) {
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

    /// Asks for a secret on the terminal.
    func asked(_ question: String, as rule: SecretText.Rule = .line) throws -> SecretBytes {
        var answer: [UInt8]
        do throws(Errno) {
            answer = try call.surroundings.terminal.ask(question, hidden: true)
        } catch {
            try call.checkStop()
            throw VaultError(.inputNeeded, "the terminal did not answer", cause: error)
        }
        let text = try SecretText.taken(&answer, from: "the answer", as: rule)
        call.messages.secrets.remember(text)
        return text
    }

    /// The secret on the descriptor that an option names.
    func descriptor(_ number: Int, of option: OptionSpec, as rule: SecretText.Rule = .line) throws -> SecretBytes {
        guard let descriptor = Int32(exactly: number) else {
            throw Usage.error("option '\(option.name)' takes the number of an open descriptor")
        }
        return try read(descriptor, source: "descriptor \(number)", as: rule)
    }

    private func read(
        _ descriptor: Int32, source: String, as rule: SecretText.Rule = .line
    ) throws -> SecretBytes {
        var bytes: [UInt8]
        do throws(Errno) {
            bytes = try call.surroundings.standardInput.read(descriptor: descriptor, limit: Self.readLimit)
        } catch {
            throw unreadable(source, error)
        }
        return try SecretText.taken(&bytes, from: source, as: rule)
    }

    /// The secret in a file that an option or a variable names.
    func file(_ name: [UInt8], _ option: String, as rule: SecretText.Rule = .line) throws -> SecretBytes {
        guard !name.isEmpty else { throw Usage.error("the file name of \(option) is empty") }
        let path = try call.place(name)
        let fileSystem = call.surroundings.vault.fileSystem
        let source = "the file of \(option)"
        if let status = try? fileSystem.status(of: path, followLinks: true), status.kind == .regular,
            status.mode & 0o044 != 0
        {
            try exposed(FilePath(bytes: name), at: path)
        }
        var bytes: [UInt8]
        do throws(Errno) {
            bytes = try fileSystem.readFile(path, limit: Self.readLimit)
        } catch {
            throw unreadable(source, error)
        }
        return try SecretText.taken(&bytes, from: source, as: rule)
    }

    private func exposed(_ typed: FilePath, at path: FilePath) throws {
        guard call.has(GlobalOptions.strictPermissions) else {
            call.messages.warning("\(typed.text) can be read by other users; chmod 600 keeps it private")
            return
        }
        throw VaultError(
            .refused, "\(typed.text) can be read by other users", hint: "chmod 600 \(typed.text)", path: path.text)
    }

    /// The secret that a shell command prints.
    func output(of command: String, _ option: String, as rule: SecretText.Rule = .line) throws -> SecretBytes {
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
        return try SecretText.taken(&result.output, from: "the output of \(option)", as: rule)
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
