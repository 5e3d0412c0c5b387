internal import VaultFormat

/// What a member of a backup is, by its name: the list of what may come out of one (spec 05 §14, K31).
enum BackupMember: Hashable, Sendable {
    /// A file of the store.
    case stored(FileID)
    /// One of the four files of `local/`.
    case local(String)
    /// A private signing key.
    case signingKey(KeyID)
    /// The vault key.
    case vaultKey
    /// What the backup says of itself.
    case manifest

    static let vaultKeyName = "VAULT-KEY"
    static let manifestName = "manifest.json"
    static let localNames = ["config.json", "move-history.json", "migrations.json", "remote_heads.json"]

    /// Nil for whatever no backup writes: a server's address or a token would redirect the restored clone.
    init?(name: [UInt8]) {
        guard let text = UTF8Text.validated(name.span) else { return nil }
        if text == Self.vaultKeyName {
            self = .vaultKey
        } else if text == Self.manifestName {
            self = .manifest
        } else if let id = try? FileID(path: text), !id.isCache {
            self = .stored(id)
        } else if text.hasPrefix("local/") {
            let leaf = String(text.dropFirst(6))
            if Self.localNames.contains(leaf) {
                self = .local(leaf)
            } else if leaf.hasSuffix(".pem"), let id = try? KeyID(String(leaf.dropLast(4))) {
                self = .signingKey(id)
            } else {
                return nil
            }
        } else {
            return nil
        }
    }

    /// The most bytes it may have; objects are streamed.
    var limit: Int64 {
        switch self {
        case .stored(.object): .max
        case .stored(.index): Int64(Limits.indexPlaintext)
        case .stored(.key): Int64(Limits.keyPlaintext)
        case .stored: Int64(Limits.refPlaintext)
        case .local, .manifest: Int64(Limits.metadataPlaintext)
        case .signingKey: 8192
        case .vaultKey: 4096
        }
    }
}
