internal import PKICore
internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

/// Gets the passphrase of an identity from the first source that is present (spec 10 B.5).
struct PassphraseInput {
    let call: Call

    private static let names = [
        "VAULTCTL_PASSPHRASE_FILE", "VAULTCTL_PASSPHRASE_COMMAND", "VAULTCTL_PASSPHRASE", "SG_SEND_PASSPHRASE",
    ]

    /// The passphrase that opens a key, from any source; asks on the terminal as the last resort.
    ///
    /// * `isEncrypted`: A key that is not needs none, and nobody is asked; one that was given all the same is handed on,
    ///   for the library to refuse.
    /// - Throws: `inputNeeded` when there is no source and nobody to ask.
    func passphrase(of what: String, isEncrypted: Bool) throws -> Passphrase {
        if let given = try given() { return Passphrase(given) }
        guard isEncrypted else { return try Passphrase.none() }
        try checkTerminal("the passphrase of \(what) is needed")
        return Passphrase(try asked("Passphrase of \(what): "))
    }

    /// The passphrase that a key is to be kept under; on the terminal it is asked for twice.
    ///
    /// - Throws: `usage` for an empty one (spec 08 §4.3).
    func newPassphrase(for what: String) throws -> Passphrase {
        let passphrase = try given() ?? chosen(for: what)
        guard passphrase.count > 0 else {
            throw Usage.error("a key is kept under a passphrase, and it is empty", about: [call.verb])
        }
        return Passphrase(passphrase)
    }

    /// Refuses a passphrase on the standard input that a verb reads its content from.
    func checkStandardInput(isTaken: Bool) throws {
        guard isTaken, try call.number(GlobalOptions.passphraseDescriptor, least: 0) == 0 else { return }
        throw Usage.error("standard input can not give both the content and the passphrase", about: [call.verb])
    }

    private func chosen(for what: String) throws -> SecretBytes {
        try checkTerminal("a passphrase for \(what) is needed")
        let first = try asked("New passphrase of \(what): ")
        guard first.count > 0 else { return first }
        let second = try asked("Again: ")
        guard first.isEqual(to: second) else { throw Usage.error("the two passphrases differ; nothing was made") }
        return first
    }

    private func asked(_ question: String) throws -> SecretBytes {
        try call.messages.whileAsking { try SecretInput(call: call).asked(question, as: .passphrase) }
    }

    private func checkTerminal(_ need: String) throws {
        guard call.mayAsk, call.surroundings.terminal.isAvailable else {
            throw VaultError(
                .inputNeeded, need,
                hint:
                    "give it with --passphrase-file, --passphrase-fd, --passphrase-command or VAULTCTL_PASSPHRASE_FILE"
            )
        }
    }

    /// The passphrase that the options or the environment give; nil when neither names a source.
    private func given() throws -> SecretBytes? {
        guard let passphrase = try firstGiven() else { return nil }
        call.messages.secrets.remember(passphrase)
        return passphrase
    }

    private func firstGiven() throws -> SecretBytes? {
        let input = SecretInput(call: call)
        if let number = try call.number(GlobalOptions.passphraseDescriptor, least: 0) {
            return try input.descriptor(number, of: GlobalOptions.passphraseDescriptor, as: .passphrase)
        }
        if let path = call.arguments.last(GlobalOptions.passphraseFile) {
            return try input.file(path, GlobalOptions.passphraseFile.name, as: .passphrase)
        }
        if let command = try call.text(GlobalOptions.passphraseCommand) {
            return try input.output(of: command, GlobalOptions.passphraseCommand.name, as: .passphrase)
        }
        guard let name = Self.names.first(where: { input.variable($0) != nil }), let value = input.variable(name) else {
            return nil
        }
        if name == Self.names[0] { return try input.file(value, name, as: .passphrase) }
        if name == Self.names[1] {
            return try input.output(of: try call.text(value, of: name), name, as: .passphrase)
        }
        return try SecretText.verbatim(value, from: name)
    }
}
