internal import VaultCore
internal import VaultFormat
internal import VaultSystem

/// One configuration file: a flat JSON object from setting names to values, with `"v":1`.
struct SettingsFile: Sendable {
    /// Where a value comes from.
    enum Origin: String, Sendable {
        case clone, user, system
        case builtIn = "built-in"
    }

    let origin: Origin
    let path: FilePath
    /// In file order, without `v`.
    var members: [JSONMember]

    private static let limit = 1 << 20

    /// Reads a file; nil when it is absent.
    /// - Throws: `refused` when it holds something that looks like a secret, `usage` when it does not read.
    static func read(_ origin: Origin, _ path: FilePath, fileSystem: any FileSystem) throws -> SettingsFile? {
        let bytes: [UInt8]
        do throws(Errno) {
            // Whoever fills a FIFO need never come, and a device need never end.
            switch try fileSystem.status(of: path, followLinks: true).kind {
            case .regular, .directory: break
            case .symbolicLink, .other, .unknown: throw .invalidArgument
            }
            bytes = try fileSystem.readFile(path, limit: limit)
        } catch .noSuchFile, .notADirectory {
            return nil
        } catch .invalidArgument {
            throw VaultError(.refused, "the configuration file \(path.text) is no regular file", path: path.text)
        } catch {
            throw VaultError.io(error, "cannot read the configuration file \(path.text)", path: path.text)
        }
        let parsed: JSONValue
        do throws(FormatError) {
            parsed = try JSONReader.parse(bytes.span)
        } catch {
            throw VaultError(.usage, "\(path.text) does not read as JSON: \(error.detail)", path: path.text)
        }
        guard case .object(let all) = parsed else {
            throw VaultError(.usage, "\(path.text) holds no JSON object", path: path.text)
        }
        if let version = parsed["v"]?.int, version > 1 {
            throw VaultError(.formatUnsupported, "\(path.text) was written by a newer vaultctl", path: path.text)
        }
        let file = SettingsFile(origin: origin, path: path, members: all.filter { $0.name != "v" })
        for member in file.members { try file.check(member) }
        return file
    }

    /// The names that no setting has.
    var unknownNames: [String] {
        members.map(\.name).filter { SettingKey.named($0) == nil }
    }

    /// The bytes of the file.
    var bytes: [UInt8] {
        let version = JSONMember(name: "v", value: .integer(1))
        return JSONWriter.bytes(.object([version] + members), .pythonIndented2) + [UInt8(ascii: "\n")]
    }

    private func check(_ member: JSONMember) throws {
        let texts = (member.value.items ?? [member.value]).compactMap(\.text)
        guard !texts.contains(where: Self.looksSecret) else {
            throw VaultError(
                .refused,
                "\(path.text) holds what looks like a secret under \(TextSafety.quoted(Array(member.name.utf8)))",
                hint: "remove it; keys belong in a key file", path: path.text)
        }
        guard let key = SettingKey.named(member.name), !key.accepts(member.value) else { return }
        throw VaultError(.usage, "\(path.text): \(key.name) has to be \(key.expectation)", path: path.text)
    }

    /// Whether a value looks like a key: a pattern of the redaction filter, or 64 hex digits.
    static func looksSecret(_ text: String) -> Bool {
        if Redaction.findsSecret(in: text) { return true }
        let bytes = Array(text.utf8)
        return bytes.count == 64 && Hex.decode(bytes.span) != nil
    }
}
