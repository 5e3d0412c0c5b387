package import VaultCore
package import VaultCrypto
internal import VaultFormat
package import VaultSystem

/// Access tokens by name, as hashes: `NAME SHA256` on each line, `#` before a comment.
///
/// Tokens are random and long, so a plain hash at rest is as good as a slow one.
package struct TokenFile: Sendable {
    private let entries: [(name: String, hash: [UInt8])]

    /// Reads the lines.
    ///
    /// * `mayBeEmpty`: Take a file without a token, which lets nobody in: the last one may have been taken back.
    /// - Throws: `usage` for a line that is none, two lines of one name, or no line at all.
    package init(_ bytes: [UInt8], mayBeEmpty: Bool = false) throws(VaultError) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Self.malformed("it is not UTF-8") }
        var entries: [(name: String, hash: [UInt8])] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            let last = Array(words[words.count - 1].utf8)
            guard words.count == 2, Self.isName(String(first)), last.count == 64, let hash = Hex.decode(last.span)
            else { throw Self.malformed("line \(index + 1) is not 'NAME SHA256'") }
            guard !entries.contains(where: { $0.name == first }) else {
                throw Self.malformed("line \(index + 1) repeats a name")
            }
            entries.append((String(first), hash))
        }
        guard mayBeEmpty || !entries.isEmpty else { throw Self.malformed("it holds no token") }
        self.entries = entries
    }

    /// Reads a file, which others than its owner must not be able to change.
    package init(
        _ path: FilePath, fileSystem: any FileSystem, mayBeEmpty: Bool = false
    ) throws(VaultError) {
        let bytes: [UInt8]
        let mode: UInt32
        do throws(Errno) {
            bytes = try fileSystem.readFile(path, limit: ServerLimits.tokenFile)
            mode = try fileSystem.status(of: path, followLinks: true).mode
        } catch {
            throw .io(error, "cannot read the token file \(path)")
        }
        guard mode & 0o022 == 0 else {
            throw VaultError(
                .refused, "the token file \(path) can be written by other users", hint: "chmod go-w \(path)")
        }
        try self.init(bytes, mayBeEmpty: mayBeEmpty)
    }

    private static func malformed(_ what: String) -> VaultError {
        VaultError(.usage, "the token file is not usable: \(what)", hint: "vaultctl serve token NAME")
    }

    /// Whether a text can be a token's name.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x40: true
                default: false
                }
            }
    }

    /// The name of a token; nil when it is none of these.
    ///
    /// Every entry is compared, in constant time.
    func name(of token: String) throws(CryptoError) -> String? {
        let hash = try Self.hash(token)
        var found: String?
        for entry in entries where ConstantTime.equal(entry.hash.span, hash.span) { found = entry.name }
        return found
    }

    /// A new token and the line that a token file has for it.
    package static func make(
        name: String, random: any RandomSource
    ) throws -> (token: String, line: String) {
        let bytes = try random.bytes(32)
        let token = "vct_" + Hex.text(bytes.span)
        let hash = try hash(token)
        return (token, name + " " + Hex.text(hash.span))
    }

    private static func hash(_ token: String) throws(CryptoError) -> [UInt8] {
        let text = Array(token.utf8)
        return try SHA256.hash(text.span)
    }
}
