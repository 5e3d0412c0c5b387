internal import VaultFormat
internal import VaultSystem

extension Vault {
    /// Whether text that a clone records can be where a remote is: a URL or an absolute path, without control characters
    /// or bytes that were no UTF-8.
    ///
    /// What is cut short or overwritten would else be taken for a folder beside the user's own.
    public static func isAddress(_ text: String) -> Bool {
        let isPlain = text.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) && $0.value != 0xFFFD
        }
        return isPlain && (text.hasPrefix("/") || text.contains("://") || text.lowercased().hasPrefix("file:"))
    }

    static let lostServer = "where the vault is published has to be recorded again: vaultctl remote add origin URL"

    /// Refuses a text in `base_url` that is no address.
    ///
    /// - Throws: `objectCorrupt`.
    func checkServerAddress() throws(VaultError) {
        guard let url = try baseURL(), !Self.isAddress(url) else { return }
        throw VaultError(
            .objectCorrupt, "local/base_url holds neither a URL nor an absolute path",
            hint: "vaultctl remote set-url origin URL", path: "local/base_url")
    }

    /// Refuses saved remotes whose addresses are none.
    ///
    /// - Throws: `objectCorrupt`.
    func checkAddresses() throws(VaultError) {
        try checkServerAddress()
        for record in try savedRemotes() where !Self.isAddress(record.url) {
            throw VaultError(
                .objectCorrupt, "the address of the remote '\(record.name)' is neither a URL nor an absolute path",
                hint: "vaultctl remote set-url NAME URL", path: "local/remotes.json")
        }
    }
}
