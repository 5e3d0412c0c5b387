internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// Where the message of a commit comes from: `-m`, `-F`, or an editor.
struct CommitMessage {
    let call: Call

    /// Longer than any message may be; the exact bound is the library's to check.
    private static let readLimit = 1 << 20

    /// The message that the options give; nil when they give none.
    func given() throws -> String? {
        let parts = call.arguments.all(CommitCommand.message)
        guard let file = call.arguments.last(CommitCommand.messageFile) else {
            guard !parts.isEmpty else { return nil }
            return try Self.checked(parts.map { try call.text($0, of: "the message") }.joined(separator: "\n\n"))
        }
        guard parts.isEmpty else { throw Usage.error("options '-m' and '-F' exclude each other", about: [call.verb]) }
        let text = try call.text(try read(file), of: "the message")
        return try Self.checked(TextLayout.withoutSuffix(text) { $0.isNewline })
    }

    /// Whether a message says nothing.
    static func isBlank(_ message: String) -> Bool {
        message.allSatisfy(\.isWhitespace)
    }

    /// Refuses a message with a private key in it, of whatever vault: everybody who can read this one would have it.
    static func checked(_ message: String) throws -> String {
        guard !Redaction.findsPrivateKey(in: message) else {
            throw VaultError(
                .secretInCommit, "the message holds a private key, so nothing was committed",
                hint: "write the message without the key")
        }
        return message
    }

    /// The message written in an editor; nil when there is nothing to commit.
    /// - Throws: `inputNeeded` without a terminal, `cancelled` when the message stays empty.
    func edited(_ vault: Vault, _ options: CommitOptions) throws -> String? {
        guard call.mayAsk, call.surroundings.terminal.isAvailable else {
            throw VaultError(.inputNeeded, "the commit needs a message", hint: "vaultctl commit -m MSG")
        }
        let status = try vault.status(StatusOptions(paths: options.paths))
        guard !status.changes.isEmpty || options.allowEmpty || status.mergeInProgress else { return nil }
        let text = try edit(template(status), in: vault.rootPath)
        let message = Self.withoutTemplate(text)
        let trimmed = TextLayout.withoutSuffix(message) { $0.isWhitespace }.trimmingPrefix { $0.isNewline }
        guard !trimmed.isEmpty else { throw VaultError(.cancelled, "the message is empty, so nothing was committed") }
        return try Self.checked(String(trimmed))
    }

    /// The lines that do not begin with `#`, ended by LF whatever the editor ends them with.
    ///
    /// By bytes, because CR LF is one character of a text.
    static func withoutTemplate(_ text: String) -> String {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let kept = lines.filter { $0.first != UInt8(ascii: "#") }
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        return kept.map { String(Substring($0)) }.joined(separator: "\n")
    }

    private func read(_ file: [UInt8]) throws -> [UInt8] {
        let path = try call.place(file)
        do throws(Errno) {
            if file == [UInt8(ascii: "-")] {
                return try call.surroundings.standardInput.read(descriptor: 0, limit: Self.readLimit)
            }
            return try call.surroundings.vault.fileSystem.readFile(path, limit: Self.readLimit)
        } catch {
            throw VaultError.io(error, "cannot read the message from \(TextSafety.quoted(file))")
        }
    }

    private func template(_ status: StatusReport) -> String {
        let marked =
            status.changes.added.map { ("A", $0) } + status.changes.modified.map { ("M", $0) }
            + status.changes.deleted.map { ("D", $0) }
        let lines = marked.map { "#   \($0.0) \(String(decoding: TextSafety.path($0.1.bytes), as: UTF8.self))\n" }
        return "\n# Write the message above. Lines that begin with '#' are left out; an empty message stops.\n"
            + "# Branch \(status.branch), changes:\n" + lines.joined()
    }

    /// Lets the user's editor work on a file inside the clone, so that nothing of it reaches a shared folder.
    private func edit(_ text: String, in root: FilePath) throws -> String {
        let fileSystem = call.surroundings.vault.fileSystem
        let folder = root.appending(".sg_vault/local/vaultctl/tmp")
        let name = Array("message-\(ProcessContext.processID)".utf8)
        let path = folder.appending(component: name)
        do throws(Errno) {
            for part in [root.appending(".sg_vault/local/vaultctl"), folder] {
                do throws(Errno) {
                    try fileSystem.createDirectory(part, mode: 0o700)
                } catch .fileExists {
                    continue
                }
            }
            let directory = try fileSystem.openDirectory(folder)
            try? directory.removeFile(name)
            try directory.createFile(name, mode: 0o600).write(Array(text.utf8).span)
            defer { try? directory.removeFile(name) }
            let exit = try call.surroundings.processes.interact(
                "\(editor) \(ShellWord.quoted(String(decoding: path.bytes, as: UTF8.self)))",
                in: call.workingDirectory)
            guard exit == 0 else { throw .interrupted }
            let bytes = try fileSystem.readFile(path, limit: Self.readLimit)
            return String(decoding: bytes, as: UTF8.self)
        } catch .interrupted {
            throw VaultError(.cancelled, "the editor ended with an error, so nothing was committed")
        } catch {
            throw VaultError.io(error, "the editor could not be used")
        }
    }

    private var editor: String {
        for name in ["VAULTCTL_EDITOR", "VISUAL", "EDITOR"] {
            if let command = call.surroundings.filled(name) { return command }
        }
        return "vi"
    }
}
