public import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// What this clone is: identity, server, branch, format, sizes.
    ///
    /// No secrets, no request.
    public func info() throws -> VaultInfo {
        let state = try loadState()
        var objects = 0
        var bytes: Int64 = 0
        for id in try store.allIDs() {
            objects += 1
            bytes += try store.size(id) ?? 0
        }
        return VaultInfo(
            vaultID: vaultID, directory: root, mode: mode, server: try recordedServer(),
            branch: state.namedBranch.name, head: state.head, format: state.index.format ?? 1,
            minClient: state.index.minClient, features: state.index.features, objects: objects, bytes: bytes)
    }

    /// The vault key's text, with its prefix; nil when this clone holds none.
    public func vaultKeyText() throws -> SecretBytes? {
        guard mode == .full, let stored = try Self.vaultKeyText(layout) else { return nil }
        return try decoding("reading the vault key") { () throws(FormatError) in
            try stored.withBytes { (bytes) throws(FormatError) in try VaultKey(parsing: bytes).text() }
        }
    }

    /// The read key as 64 hex digits.
    public func readKeyText() throws -> SecretBytes {
        try decoding("writing the read key") { () throws(FormatError) in try readKey.hex() }
    }
}
