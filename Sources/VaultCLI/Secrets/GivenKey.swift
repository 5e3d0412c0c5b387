internal import VaultCore
internal import VaultCrypto
internal import VaultFormat

/// Checks a key that was given for a clone which holds its own (spec 10 B.5).
///
/// The options and the `VAULTCTL_KEY` variables stand before the clone's own file. A key from there has to be a key of the
/// same vault; it never changes what the clone may do.
struct GivenKey {
    let call: Call
    let vault: Vault

    /// Reads the source that comes first, if there is one, and compares.
    /// - Throws: `keyWrong`, and what reading the source throws.
    func check() throws {
        let input = SecretInput(call: call)
        guard let source = input.source, let text = try input.given() else { return }
        let fits = try text.withBytes { bytes -> Bool in try opens(SecretInput.accessKey(bytes, from: source)) }
        guard fits else {
            throw VaultError(
                .keyWrong, "the key of \(source) is not the key of the vault in \(call.shown(vault.rootPath))",
                hint: "this clone holds its key; run it without \(source)", path: vault.root)
        }
    }

    private func opens(_ access: consuming AccessKey) throws -> Bool {
        guard access.vaultID == vault.vaultID else { return false }
        switch access {
        case .read(let key, _): return try isReadKey(key)
        case .vault(let key):
            // Only a read-only clone has to derive: elsewhere the texts tell.
            guard let own = try vault.vaultKeyText() else { return try isReadKey(try key.deriveReadKey()) }
            let text = try key.text()
            return text.withBytes { text -> Bool in own.withBytes { own -> Bool in ConstantTime.equal(own, text) } }
        }
    }

    private func isReadKey(_ key: ReadKey) throws -> Bool {
        let hex = try key.hex()
        let own = try vault.readKeyText()
        return hex.withBytes { hex -> Bool in own.withBytes { own -> Bool in ConstantTime.equal(own, hex) } }
    }
}
