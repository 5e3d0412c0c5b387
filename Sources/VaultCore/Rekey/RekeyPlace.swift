internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// A vault folder beside that of a clone: the one a rekey makes, or the one it has replaced.
struct RekeyPlace {
    let layout: CloneLayout
    let files: LocalFiles
    private let environment: VaultEnvironment

    init(_ vault: Vault, _ folder: String) throws(VaultError) {
        layout = try CloneLayout(root: vault.layout.root, path: vault.rootPath, name: folder)
        files = LocalFiles(layout: layout)
        environment = vault.environment
    }

    /// The new vault of a rekey; nil when none was begun.
    static func open(_ vault: Vault) throws(VaultError) -> RekeyPlace? {
        let isThere = try attempt("cannot look for a rekey") { () throws(Errno) in
            try CloneLayout.holdsRekey(vault.layout.root)
        }
        return isThere ? try RekeyPlace(vault, CloneLayout.newText) : nil
    }

    /// The vault, with the key that lies in it.
    func vault(lockTimeout: Double) throws -> Vault {
        guard let text = try Vault.vaultKeyText(layout) else {
            throw VaultError(.keyMissing, "the key of the vault beside this one is lost", path: layout.rootPath.text)
        }
        let key = try decoding("the new vault key") { () throws(FormatError) in
            try text.withBytes { (bytes) throws(FormatError) in try VaultKey(parsing: bytes) }
        }
        let (read, write) = try Vault.deriveBoth(key)
        return try Vault(
            environment: environment, layout: layout,
            keys: KeyHolder(vaultID: key.vaultID, readKey: read, writeKey: write), mode: .full, readOnlyBranch: nil,
            lockTimeout: lockTimeout, verb: "rekey")
    }
}
