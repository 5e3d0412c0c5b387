internal import VaultCrypto
package import VaultFormat

/// The keys a clone is made with, derived once.
package final class CloneKey: Sendable {
    let holder: KeyHolder
    let mode: CloneMode
    let text: SecretBytes?
    let writeKey: WriteKey?

    /// Derives what the key gives; both keys at once when the clone is to write.
    package init(_ key: borrowing AccessKey, options: CloneOptions) throws {
        switch key {
        case .read(let readKey, let id):
            holder = KeyHolder(vaultID: id, readKey: readKey)
            mode = options.bare ? .bare : .readOnly
            text = nil
            writeKey = nil
        case .vault(let vaultKey):
            guard !options.readOnly else {
                let readKey = try decoding("deriving the read key") { () throws(FormatError) in
                    try vaultKey.deriveReadKey()
                }
                holder = KeyHolder(vaultID: vaultKey.vaultID, readKey: readKey)
                mode = options.bare ? .bare : .readOnly
                text = nil
                writeKey = nil
                return
            }
            let (readKey, derived) = try Vault.deriveBoth(vaultKey)
            holder = KeyHolder(vaultID: vaultKey.vaultID, readKey: readKey, writeKey: derived)
            writeKey = derived
            mode = options.bare ? .bare : .full
            text = try decoding("writing the vault key") { () throws(FormatError) in try vaultKey.text() }
        }
    }

    /// Runs `body` with the vault key's text, when there is one.
    func withText(_ body: (borrowing SecretBytes) throws(VaultError) -> Void) throws(VaultError) {
        switch text {
        case .some(let text): try body(text)
        case .none: break
        }
    }

    /// A read key gives no branch of its own.
    var canWrite: Bool { writeKey != nil }
}
