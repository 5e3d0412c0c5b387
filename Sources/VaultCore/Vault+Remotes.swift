internal import VaultFormat
internal import VaultSystem

/// The recorded places of a vault, in the reference's own files `local/base_url` and `local/remotes.json`
/// (spec 03 §2), so that both tools talk to the same place.
extension Vault {
    private static let fileName = "remotes.json"
    private static let limit = 256
    /// The name of the server in `base_url`, which the file format gives none.
    static let originName = "origin"

    /// Where this vault is published: the default remote, else `base_url`; nil when none is recorded.
    public func recordedServer() throws(VaultError) -> String? {
        if let record = try defaultRemote() { return record.url }
        // A saved remote has the name already, and is not the default.
        return try baseURL()
    }

    /// The text of `local/base_url` or its legacy place.
    func baseURL() throws(VaultError) -> String? {
        var bytes = try files.read("base_url", limit: 8192)
        if bytes == nil {
            bytes = try attempt("cannot read base_url") { () throws(Errno) in
                try layout.vault.contents("base_url", limit: 8192)
            }
        }
        guard let bytes else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        let trimmed = text.unicodeScalars.drop { $0.properties.isWhitespace }
        let end = trimmed.lastIndex { !$0.properties.isWhitespace }
        guard let end else { return nil }
        return String(trimmed[...end])
    }

    /// Records where this vault is published.
    public func setServer(_ url: String) throws {
        let lock = try lock()
        if let stored = try storedRemotes().first(where: \.record.isDefault) {
            try change(lock.scratch) { records in
                guard let position = records.firstIndex(where: { $0.name == stored.record.name }) else { return }
                records[position].url = url
            }
        } else {
            try retarget(to: url, lock.scratch) {
                try files.write("base_url", url.bytes, scratch: lock.scratch)
            }
        }
    }

    /// The saved remotes, in file order.
    ///
    /// A server that is recorded without a name comes first, as `origin`; it is the default unless another one is.
    public func remotes() throws(VaultError) -> [RemoteRecord] {
        try savedRemotes().map { record in
            var record = record
            let seen = lastSeenMs(at: place(of: record.url))
            record.lastOkMs = [record.lastOkMs, seen].compactMap { $0 }.max()
            return record
        }
    }

    /// The same without the times at which this program last saw them answer.
    func savedRemotes() throws(VaultError) -> [RemoteRecord] {
        let stored = try storedRemotes().map(\.record)
        guard let url = try baseURL(), !stored.contains(where: { $0.name == Self.originName }) else { return stored }
        let origin = RemoteRecord(
            name: Self.originName, url: url, vaultID: vaultID.text, isDefault: !stored.contains(where: \.isDefault),
            verifiesTLS: true, createdAtMs: 0, lastOkMs: nil)
        return [origin] + stored
    }

    func defaultRemote() throws(VaultError) -> RemoteRecord? {
        try savedRemotes().first { $0.isDefault }
    }

    /// Saves a new remote; one added as default, and the first one of a vault that records no server, becomes the
    /// default.
    ///
    /// - Throws: `nameTaken`, `usage` for a name that is not `[A-Za-z0-9_-]{1,64}`.
    public func addRemote(name: String, url: String, isDefault: Bool) throws {
        try Self.checkRemoteName(name)
        let lock = try lock()
        let now = environment.clock.nowMs
        let id = vaultID.text
        let server = try baseURL()
        try change(lock.scratch) { records in
            guard !records.contains(where: { $0.name == name }), name != Self.originName || server == nil else {
                throw VaultError(.nameTaken, "there is a remote '\(name)' already", hint: "vaultctl remote set-url")
            }
            guard records.count < Self.limit else { throw VaultError(.refused, "too many remotes") }
            let becomesDefault = isDefault || (records.isEmpty && server == nil)
            if becomesDefault { for index in records.indices { records[index].isDefault = false } }
            records.append(
                RemoteRecord(
                    name: name, url: url, vaultID: id, isDefault: becomesDefault, verifiesTLS: true,
                    createdAtMs: now, lastOkMs: nil))
        }
    }

    private static func checkRemoteName(_ name: String) throws(VaultError) {
        guard (1...64).contains(name.utf8.count),
            name.utf8.allSatisfy({ byte in
                byte == 0x5F || byte == 0x2D || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte)
            })
        else { throw VaultError(.usage, "a remote's name has 1 to 64 letters, digits, '_' and '-'") }
    }

    /// Forgets a remote.
    public func removeRemote(name: String) throws {
        try edit(name) { records, position in records.remove(at: position) }
    }

    /// Renames a remote.
    public func renameRemote(_ name: String, to newName: String) throws {
        try Self.checkRemoteName(newName)
        try edit(name) { records, position in
            guard !records.contains(where: { $0.name == newName }) else {
                throw VaultError(.nameTaken, "there is a remote '\(newName)' already")
            }
            records[position].name = newName
        }
    }

    /// Changes a remote's address: it is the same remote, in another place.
    public func setRemoteURL(name: String, url: String) throws {
        try edit(name, isMove: true) { records, position in records[position].url = url }
    }

    /// Makes a remote the default one.
    public func setDefaultRemote(name: String) throws {
        try edit(name) { records, position in
            for index in records.indices { records[index].isDefault = index == position }
        }
    }

    private func edit(
        _ name: String, isMove: Bool = false, _ body: (inout [RemoteRecord], Int) throws -> Void
    ) throws {
        let lock = try lock()
        let isUnnamed = try name == Self.originName && !storedRemotes().contains { $0.record.name == name }
        if isUnnamed, let origin = try savedRemotes().first(where: { $0.name == name }) {
            return try editUnnamed(origin, isMove: isMove, lock.scratch, body)
        }
        let hasUnnamed = try baseURL() != nil
        try change(lock.scratch, isMove: isMove) { records in
            guard let position = records.firstIndex(where: { $0.name == name }) else {
                throw VaultError(.remoteNotFound, "there is no remote '\(name)'", hint: "vaultctl remote")
            }
            try body(&records, position)
            let isTaken = name != Self.originName && records.contains { $0.name == Self.originName } && hasUnnamed
            guard !isTaken else {
                throw VaultError(.nameTaken, "there is a remote '\(Self.originName)' already")
            }
        }
    }

    /// Edits the server in `base_url`: a new address stays in that file; a new name moves it into the list.
    private func editUnnamed(
        _ origin: RemoteRecord, isMove: Bool, _ scratch: ScratchArea,
        _ body: (inout [RemoteRecord], Int) throws -> Void
    ) throws {
        let stored = try storedRemotes()
        var marked = origin
        marked.createdAtMs = .min  // no saved remote has this time, so it is found again under any name
        var records = stored.map(\.record) + [marked]
        try body(&records, records.count - 1)
        let server = records.first(where: \.isDefault)?.url
        var kept: RemoteRecord?
        if let position = records.firstIndex(where: { $0.createdAtMs == .min }) {
            if records[position].name == origin.name {
                kept = records.remove(at: position)
            } else {
                records[position].createdAtMs = environment.clock.nowMs
            }
        }
        if isMove, let kept {
            try RemoteHeads.rename(place(of: origin.url), to: place(of: kept.url), files: files, scratch: scratch)
            let isRecorded = try recordedServer() == origin.url
            return try retarget(to: isRecorded ? kept.url : recordedServer(), isMove: true, scratch) {
                try files.write("base_url", kept.url.bytes, scratch: scratch)
            }
        }
        try retarget(to: server, scratch) {
            try write(records, stored, scratch)
            if kept != nil { return }
            try files.remove("base_url")
            try removeLegacyServer()
        }
    }

    private func removeLegacyServer() throws(VaultError) {
        try attempt("cannot remove base_url") { () throws(Errno) in
            do throws(Errno) {
                try layout.vault.removeFile("base_url".bytes)
            } catch .noSuchFile {}  // only clones of old versions have one there
            try layout.vault.sync()
        }
    }

    private func storedRemotes() throws(VaultError) -> [(record: RemoteRecord, json: JSONValue)] {
        guard let bytes = try files.read(Self.fileName) else { return [] }
        let damaged = VaultError(
            .objectCorrupt, "local/remotes.json does not read", hint: "vaultctl fsck --repair",
            path: "local/remotes.json")
        guard let value = try? JSONReader.parse(bytes.span), let items = value.items else { throw damaged }
        var result: [(record: RemoteRecord, json: JSONValue)] = []
        for item in items {
            guard let name = item["name"]?.text, let url = item["url"]?.text else { throw damaged }
            let record = RemoteRecord(
                name: name, url: url, vaultID: item["vault_id"]?.text,
                isDefault: item["is_default"]?.boolean ?? false, verifiesTLS: item["tls_verify"]?.boolean ?? true,
                createdAtMs: item["created_at"]?.int ?? 0, lastOkMs: item["last_health_at"]?.int)
            result.append((record, item))
        }
        return result
    }

    /// Makes another place the recorded one.
    ///
    /// Heads accepted from one place are no judgement on another: those of the old one are kept for it, and those of the
    /// new one, if any, become the recorded remote's. A remote that moved takes its heads along where the new place has
    /// none yet.
    private func retarget(
        to address: String?, isMove: Bool = false, _ scratch: ScratchArea, _ record: () throws -> Void
    ) throws {
        let old = try recordedPlace()
        let new = address.map { place(of: $0) }
        guard old != new else { return try record() }
        let state = try loadState()
        var config = state.config
        if let old {
            try RemoteHeads(files: files, config: config, tracked: state.namedBranch.headRefID)
                .keep(as: old, files: files, scratch: scratch)
        }
        let isKnown = try new.map { (place) throws(VaultError) in try RemoteHeads.hasHeads(of: place, files) } ?? false
        try record()
        // Where none was recorded, what the clone accepted may be of the place that now is.
        if !isKnown, isMove || old == nil { return }
        try RemoteHeads.adopt(new, files: files, config: &config, scratch: scratch)
    }

    private func change(
        _ scratch: ScratchArea, isMove: Bool = false, _ body: (inout [RemoteRecord]) throws -> Void
    ) throws {
        let stored = try storedRemotes()
        var records = stored.map(\.record)
        try body(&records)
        if isMove {
            for (old, new) in zip(stored.map(\.record), records) where old.url != new.url {
                try RemoteHeads.rename(place(of: old.url), to: place(of: new.url), files: files, scratch: scratch)
            }
        }
        let server = try records.first { $0.isDefault }?.url ?? baseURL()
        try retarget(to: server, isMove: isMove, scratch) { try write(records, stored, scratch) }
    }

    private func write(
        _ records: [RemoteRecord], _ stored: [(record: RemoteRecord, json: JSONValue)], _ scratch: ScratchArea
    ) throws(VaultError) {
        let items = records.map { record -> JSONValue in
            let old = stored.first { $0.record.createdAtMs == record.createdAtMs && $0.record.name == record.name }?
                .json
            return (old ?? .object([]))
                .setting("name", to: .string(record.name))
                .setting("url", to: .string(record.url))
                .setting("vault_id", to: .optional(record.vaultID))
                .setting("is_default", to: .bool(record.isDefault))
                .setting("tls_verify", to: .bool(record.verifiesTLS))
                .setting("created_at", to: .integer(record.createdAtMs))
                .setting("last_health_at", to: old?["last_health_at"] ?? .null)
                .setting("last_health_status", to: old?["last_health_status"] ?? .null)
        }
        try files.write(Self.fileName, .array(items), scratch: scratch)
    }
}
