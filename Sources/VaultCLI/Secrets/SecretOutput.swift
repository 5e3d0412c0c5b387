internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Hands a secret out: the few printers of spec 10 B.5, the terminal, and files nobody else can read.
struct SecretOutput {
    let call: Call

    /// Refuses a standard output that other users could read, unless `-y` allows it.
    ///
    /// Called before anything is done.
    func checkOutput() throws {
        guard call.output.isExposedFile, !call.has(GlobalOptions.yes) else { return }
        throw VaultError(
            .refused, "standard output is a file that other users can read",
            hint: "umask 077 before the redirection, or -y")
    }

    /// A secret as text, for the printers only.
    static func text(_ secret: borrowing SecretBytes) -> String {
        secret.withBytes { UTF8Text.validated($0) ?? "" }
    }

    /// Shows text once on the terminal, if there is one.
    func show(_ lines: [String]) {
        guard !call.has(GlobalOptions.quiet), call.surroundings.terminal.isAvailable else { return }
        try? call.surroundings.terminal.show(lines.map { $0 + "\n" }.joined())
    }

    /// Refuses a place that `write` would refuse, before there is anything to write.
    func checkPlace(_ name: [UInt8]) throws {
        let path = try call.outputPlace(name)
        guard let last = path.lastComponent else { throw Usage.error("the key file needs a name") }
        let isTaken: Bool
        do throws(Errno) {
            let directory = try call.surroundings.vault.fileSystem.openDirectory(path.parent)
            isTaken = try directory.statusIfPresent(of: last) != nil
        } catch {
            throw VaultError.io(error, "cannot write \(path.text)", path: path.text)
        }
        if isTaken { throw VaultError(.refused, "\(path.text) exists already", path: path.text) }
    }

    /// Writes a secret and a line end to a file that must not exist: mode 0600, complete or not at all, durable.
    func write(_ secret: borrowing SecretBytes, to name: [UInt8]) throws {
        let path = try call.outputPlace(name)
        guard let last = path.lastComponent else { throw Usage.error("the key file needs a name") }
        let temporary = Array(".vaultctl-key-\(ProcessContext.processID)".utf8)
        var bytes = secret.withBytes { span in span.indices.map { span[$0] } } + [UInt8(ascii: "\n")]
        defer { SecretText.wipe(&bytes) }
        do throws(Errno) {
            let directory = try call.surroundings.vault.fileSystem.openDirectory(path.parent)
            try AtomicFile.writeNew(
                bytes.span, as: last, in: directory, temporaryName: temporary, mode: 0o600)
        } catch .fileExists {
            throw VaultError(.refused, "\(path.text) exists already", path: path.text)
        } catch {
            throw VaultError.io(error, "cannot write \(path.text)", path: path.text)
        }
    }

    /// Whether a file holds this secret already, as `write` leaves it.
    func holds(_ secret: borrowing SecretBytes, in name: [UInt8]) -> Bool {
        guard let path = try? call.outputPlace(name), let last = path.lastComponent,
            let directory = try? call.surroundings.vault.fileSystem.openDirectory(path.parent),
            let found = try? directory.readFileIfPresent(last, limit: SecretText.limit)
        else { return false }
        var bytes = found
        defer { SecretText.wipe(&bytes) }
        return secret.withBytes { span in
            bytes.count == span.count + 1 && bytes.last == UInt8(ascii: "\n")
                && span.indices.allSatisfy { span[$0] == bytes[$0] }
        }
    }

    /// Takes a written key file back after what it belongs to could not be made.
    func remove(_ name: [UInt8]) {
        guard let path = try? call.place(name), let last = path.lastComponent,
            let directory = try? call.surroundings.vault.fileSystem.openDirectory(path.parent)
        else { return }
        try? directory.removeFile(last)
    }
}
