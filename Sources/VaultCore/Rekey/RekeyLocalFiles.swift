internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// What a clone keeps of its own files when its vault gets another key (spec 05 §13).
///
/// Settings, signing keys, the access token and saved remotes go along. What names objects, or was accepted from a remote,
/// does not.
struct RekeyLocalFiles {
    let old: Vault
    let new: Vault
    let scratch: ScratchArea

    func copy(_ pending: PendingRekey) throws {
        try copyConfig(pending)
        try addMove(pending)
        try copyRemotes(pending)
        for name in ["migrations.json", "notices.json"] {
            if let bytes = try old.files.read(name) { try new.files.write(name, bytes, scratch: scratch) }
        }
        if let server = pending.newServer { try new.files.write("base_url", server.bytes, scratch: scratch) }
        for name in ["config.json", "hidden-branches.json", "unpushed-branches.json", "not-stored.json"] {
            guard let value = try old.files.readOwn(name) else { continue }
            try new.files.writeOwn(name, (value.members ?? []).filter { $0.name != "v" }, scratch: scratch)
        }
        let entries = try attempt("cannot list local/") { () throws(Errno) in try old.layout.local.entries() }
        for entry in entries where entry.name == "token".bytes || isSigningKey(entry.name) {
            try copySecret(entry.name)
        }
        let text = try Vault.vaultKeyText(new.layout)
        if let text, let write = new.keys.heldWriteKey {
            let digest = try text.withBytes { (bytes) throws(CryptoError) in try SHA256.hash(bytes) }
            KeyCache.store(
                read: new.readKey, write: write, vaultKeyDigest: digest, layout: new.layout, scratch: scratch)
        }
    }

    private func copyConfig(_ pending: PendingRekey) throws {
        guard let value = try old.files.readObject(CloneConfig.fileName) else { return }
        var config = try CloneConfig(reading: value)
        (config.lastRemoteHead, config.remoteHeadsFile) = (nil, false)
        let generation = value["key_generation"]?.int ?? 1
        let json = config.json.setting("vault_id", to: .string(new.vaultID.text))
            .setting("key_generation", to: .integer(generation + 1))
            .setting("api_url", to: .optional(pending.newServer))
        try new.files.write(CloneConfig.fileName, json, scratch: scratch)
    }

    private func addMove(_ pending: PendingRekey) throws {
        let known = try old.files.readObject("move-history.json")?["moves"]?.items ?? []
        let config = try old.files.readObject(CloneConfig.fileName)
        let move = JSONValue.record([
            "from_vault_id": .string(pending.oldVaultID.text),
            "to_vault_id": .string(pending.newVaultID.text),
            "from_api": .optional(pending.oldServer),
            "to_api": .optional(pending.newServer),
            "key_generation": .integer((config?["key_generation"]?.int ?? 1) + 1),
            "rotated_at": .integer(new.environment.clock.nowMs),
            "reason": .string("rekey"),
        ])
        try new.files.write("move-history.json", .record(["moves": .array(known + [move])]), scratch: scratch)
    }

    /// Saved remotes are of the new vault from now on; the default one is where it was published.
    private func copyRemotes(_ pending: PendingRekey) throws {
        guard let bytes = try old.files.read("remotes.json"), let value = try? JSONReader.parse(bytes.span),
            let items = value.items
        else { return }
        let changed = items.map { item -> JSONValue in
            let renamed = item.setting("vault_id", to: .string(new.vaultID.text))
            guard item["is_default"]?.boolean == true, let server = pending.newServer else { return renamed }
            return renamed.setting("url", to: .string(server))
        }
        try new.files.write("remotes.json", .array(changed), scratch: scratch)
    }

    private func isSigningKey(_ name: [UInt8]) -> Bool {
        if case .signingKey? = BackupMember(name: "local/".bytes + name) { true } else { false }
    }

    private func copySecret(_ name: [UInt8]) throws {
        let file = try attempt("cannot read local/\(PathQuoting.text(name))") { () throws(Errno) in
            try old.layout.local.openFile(name)
        }
        let status = try attempt("cannot read local/\(PathQuoting.text(name))") { () throws(Errno) in try file.status()
        }
        guard status.kind == .regular, status.size > 0, status.size <= 8192 else { return }
        let secret = try SecretBytes(reading: file, count: Int(status.size))
        try secret.withBytes { (bytes) throws(VaultError) in
            try attempt("cannot write local/\(PathQuoting.text(name))") { () throws(Errno) in
                try scratch.replace(name, in: new.layout.local, with: bytes, mode: 0o600)
            }
        }
    }
}
