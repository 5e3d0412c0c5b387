internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The user's access tokens by origin: `$XDG_DATA_HOME/vaultctl/tokens.json` (spec 10 B.7), mode 0600.
struct TokenStore: Sendable {
    let surroundings: Surroundings

    private static let limit = 1 << 20

    /// The token kept for an origin.
    func token(for origin: String) throws -> SecretBytes? {
        guard let path, let text = try entries(path).last(where: { $0.name == origin })?.value.text else { return nil }
        return try SecretText.verbatim(Array(text.utf8), from: "the stored token")
    }

    /// The origins that a token is kept for.
    func origins() throws -> [String] {
        guard let path else { return [] }
        return try entries(path).map(\.name)
    }

    /// Keeps a token, in place of another one for the same origin.
    func keep(_ token: borrowing SecretBytes, for origin: String) throws {
        try change(origin, to: .string(SecretOutput.text(token)))
    }

    /// Forgets the token of an origin.
    func remove(_ origin: String) throws {
        try change(origin, to: nil)
    }

    /// The file; nil where nothing says where the user's data lies.
    var path: FilePath? {
        func folder(_ name: String) -> FilePath? {
            surroundings.environment[name].flatMap { $0.isEmpty ? nil : FilePath(bytes: $0) }
        }
        if let base = folder("XDG_DATA_HOME"), base.isAbsolute { return base.appending("vaultctl/tokens.json") }
        return folder("HOME")?.appending(".local/share/vaultctl/tokens.json")
    }

    private func entries(_ path: FilePath) throws -> [JSONMember] {
        var bytes: [UInt8]
        do throws(Errno) {
            bytes = try surroundings.vault.fileSystem.readFile(path, limit: Self.limit)
        } catch .noSuchFile, .notADirectory {
            return []
        } catch {
            throw VaultError.io(error, "cannot read \(path.text)", path: path.text)
        }
        defer { SecretText.wipe(&bytes) }
        guard let value = try? JSONReader.parse(bytes.span), value["v"] == .integer(1),
            let members = value["tokens"]?.members
        else { throw VaultError(.usage, "\(path.text) does not read as a list of tokens", path: path.text) }
        return members
    }

    private func change(_ origin: String, to value: JSONValue?) throws {
        guard let path, let name = path.lastComponent else {
            throw VaultError(.usage, "the user's tokens need HOME or XDG_DATA_HOME")
        }
        var tokens = try entries(path).filter { $0.name != origin }
        if let value { tokens.append(JSONMember(name: origin, value: value)) }
        var bytes = JSONWriter.bytes(.record(["v": .integer(1), "tokens": .object(tokens)]), .pythonIndented2)
        defer { SecretText.wipe(&bytes) }
        let fileSystem = surroundings.vault.fileSystem
        do throws(Errno) {
            try fileSystem.createDirectories(path.parent, mode: 0o700)
            let folder = try fileSystem.openDirectory(path.parent)
            try AtomicFile.write(
                bytes.span, as: name, in: folder, staging: folder,
                temporaryName: Array(".tokens-\(ProcessContext.processID)".utf8), mode: 0o600,
                durability: .contentAndName)
        } catch {
            throw VaultError.io(error, "cannot write \(path.text)", path: path.text)
        }
    }
}
