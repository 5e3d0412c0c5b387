package import VaultFormat

/// The settings of one clone, `local/vaultctl/config.json` (spec 10 B.7).
///
/// Values are kept as JSON; what is not known here is kept as it is.
public struct CloneSettings: Sendable {
    private var values: JSONValue

    static let fileName = "config.json"

    /// - Throws: `usage` when the file does not read: it is people who edit it.
    init(files: LocalFiles) throws(VaultError) {
        do throws(VaultError) { values = try files.readOwn(Self.fileName) ?? .object([]) } catch {
            guard error.code == .objectCorrupt else { throw error }
            throw VaultError(
                .usage, error.message, hint: "mend the file, or remove it for the defaults",
                path: "local/vaultctl/\(Self.fileName)")
        }
    }

    /// The value of a setting as JSON, or nil when this clone does not set it.
    package subscript(_ name: String) -> JSONValue? { name == "v" ? nil : values[name: name] }

    /// The names that are set here, in file order.
    package var names: [String] { (values.objectValue ?? []).map(\.name).filter { $0 != "v" } }

    /// `core.cacheKeys`, default true.
    var cachesKeys: Bool { values["core.cacheKeys"]?.boolValue ?? true }

    /// `commit.sign`, default true.
    var signsCommits: Bool { values["commit.sign"]?.boolValue ?? true }

    /// `secret.scan`, default true.
    var scansForSecrets: Bool { values["secret.scan"]?.boolValue ?? true }

    mutating func set(_ name: String, _ value: JSONValue?) {
        guard case .object(let members) = values else { return }
        let rest = members.filter { $0.name != name }
        values = .object(rest + (value.map { [JSONMember(name: name, value: $0)] } ?? []))
    }

    var members: [JSONMember] { (values.objectValue ?? []).filter { $0.name != "v" } }
}

extension Vault {
    /// The settings stored in this clone.
    public func settings() throws -> CloneSettings {
        try CloneSettings(files: files)
    }

    /// Stores (or, with nil, removes) one setting of this clone.
    package func setSetting(_ name: String, to value: JSONValue?) throws {
        let lock = try lock()
        var settings = try CloneSettings(files: files)
        settings.set(name, value)
        try files.writeOwn(CloneSettings.fileName, settings.members, scratch: lock.scratch)
        if !settings.cachesKeys { try KeyCache.remove(layout: layout) }
    }
}
