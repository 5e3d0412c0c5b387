internal import VaultFormat
internal import VaultSystem

/// Reads and writes the small files below `.sg_vault/local` (spec 03 §2) and `local/vaultctl` (§13).
final class LocalFiles: Sendable {
    let layout: CloneLayout

    init(layout: CloneLayout) {
        self.layout = layout
    }

    /// A file of `local/`, or nil when absent.
    func read(_ name: String, limit: Int = Limits.metadataPlaintext) throws(VaultError) -> [UInt8]? {
        try attempt("cannot read local/\(name)", path: layout.rootPath.text) { () throws(Errno) in
            try layout.local.contents(name, limit: limit)
        }
    }

    /// A JSON object of `local/`, or nil when absent.
    func readObject(_ name: String) throws(VaultError) -> JSONValue? {
        guard let bytes = try read(name) else { return nil }
        return try Self.object(bytes, "local/\(name)")
    }

    /// Replaces a file of `local/` durably, readable by its owner only.
    func write(_ name: String, _ bytes: [UInt8], scratch: ScratchArea) throws(VaultError) {
        try attempt("cannot write local/\(name)", path: layout.rootPath.text) { () throws(Errno) in
            try scratch.replace(name.bytes, in: layout.local, with: bytes.span, mode: 0o600)
        }
    }

    func write(_ name: String, _ value: JSONValue, scratch: ScratchArea) throws(VaultError) {
        try write(name, JSONWriter.bytes(value, .pythonIndented2), scratch: scratch)
    }

    /// Removes a file of `local/` durably; absent is fine.
    ///
    /// * `syncsAbsent`: Sync the folder also when the file is gone already: a try before may have failed at just that.
    func remove(_ name: String, syncsAbsent: Bool = true) throws(VaultError) {
        try attempt("cannot remove local/\(name)", path: layout.rootPath.text) { () throws(Errno) in
            try Self.remove(name, from: layout.local, syncsAbsent: syncsAbsent)
        }
    }

    private static func remove(
        _ name: String, from folder: any Directory, syncsAbsent: Bool
    ) throws(Errno) {
        do throws(Errno) {
            try folder.removeFile(name.bytes)
        } catch {
            guard error == .noSuchFile else { throw error }
            if !syncsAbsent { return }
        }
        try folder.sync()
    }

    /// A JSON file of `local/vaultctl`, or nil when absent.
    ///
    /// A higher version is refused by name.
    func readOwn(_ name: String) throws(VaultError) -> JSONValue? {
        guard let own = try layout.ownFolder(create: false) else { return nil }
        let bytes = try attempt("cannot read local/vaultctl/\(name)") { () throws(Errno) in
            try own.contents(name, limit: Limits.metadataPlaintext)
        }
        guard let bytes else { return nil }
        let value = try Self.object(bytes, "local/vaultctl/\(name)")
        guard value["v"] == .integer(1) else {
            throw VaultError(
                .formatUnsupported, "local/vaultctl/\(name) was written by a newer vaultctl",
                hint: "use that version, or move the file away")
        }
        return value
    }

    /// Replaces a JSON file of `local/vaultctl`; one whose loss harms nothing need not be durable.
    func writeOwn(
        _ name: String, _ members: [JSONMember], scratch: ScratchArea, durable: Bool = true
    ) throws(VaultError) {
        guard let own = try layout.ownFolder(create: true) else { return }
        let value = JSONValue.object([JSONMember(name: "v", value: .integer(1))] + members)
        let bytes = JSONWriter.bytes(value, .compact)
        // One that could not be read again would stop every later command.
        guard bytes.count <= Limits.metadataPlaintext else {
            throw VaultError(
                .refused, "local/vaultctl/\(name) would hold more than \(Limits.metadataPlaintext >> 20) MiB",
                hint: "do it in several steps, a folder at a time")
        }
        try attempt("cannot write local/vaultctl/\(name)") { () throws(Errno) in
            try scratch.replace(name.bytes, in: own, with: bytes.span, mode: 0o600, durable: durable)
        }
    }

    /// Removes a file of `local/vaultctl` durably; absent is fine.
    ///
    /// * `syncsAbsent`: As of `remove`.
    func removeOwn(_ name: String, syncsAbsent: Bool = true) throws(VaultError) {
        guard let own = try layout.ownFolder(create: false) else { return }
        try attempt("cannot remove local/vaultctl/\(name)") { () throws(Errno) in
            try Self.remove(name, from: own, syncsAbsent: syncsAbsent)
        }
    }

    /// Parses a state file that must hold a JSON object.
    static func object(_ bytes: [UInt8], _ name: String) throws(VaultError) -> JSONValue {
        do throws(FormatError) {
            let value = try JSONReader.parse(bytes.span)
            guard case .object = value else { throw FormatError.malformed("not a JSON object") }
            return value
        } catch {
            throw VaultError(
                .objectCorrupt, "\(name) does not read: \(error.detail)", hint: "vaultctl fsck --repair", path: name,
                cause: error)
        }
    }
}

extension JSONValue {
    /// The object with one member replaced in place, or added at the end.
    func setting(_ name: String, to value: JSONValue) -> JSONValue {
        guard case .object(var members) = self else { return self }
        if let position = members.lastIndex(where: { $0.name == name }) {
            members[position] = JSONMember(name: name, value: value)
        } else {
            members.append(JSONMember(name: name, value: value))
        }
        return .object(members)
    }

    var textValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var integerValue: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    var boolValue: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    var arrayValue: [JSONValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    var objectValue: [JSONMember]? {
        if case .object(let members) = self { members } else { nil }
    }
}
