package import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The access token that a clone keeps, in the reference's own file (spec 03 §2).
extension Vault {
    private static let tokenName = "token"
    private static let tokenLimit = 8192

    /// The stored token without white space around it; nil when there is none.
    package func accessToken() throws -> SecretBytes? {
        guard var bytes = try storedToken() else { return nil }
        defer { for index in bytes.indices { bytes[index] = 0 } }
        let blanks: Set<UInt8> = [0x09, 0x0A, 0x0D, 0x20]
        guard let first = bytes.firstIndex(where: { !blanks.contains($0) }),
            let last = bytes.lastIndex(where: { !blanks.contains($0) })
        else { return nil }
        return try crypto("the access token") { () throws(CryptoError) in
            try SecretBytes(copying: bytes.span.extracting(first...last))
        }
    }

    private func storedToken() throws(VaultError) -> [UInt8]? {
        if let bytes = try files.read(Self.tokenName, limit: Self.tokenLimit) { return bytes }
        return try attempt("cannot read the access token") { () throws(Errno) in
            try layout.vault.contents(Self.tokenName, limit: Self.tokenLimit)
        }
    }

    /// What proves to a remote that this clone may write.
    package func writeAuthorization() throws -> WriteAuthorization { try keys.authorization() }

    /// Forgets the stored token, also in its older place; false when there was none.
    package func removeAccessToken() throws -> Bool {
        let lock = try lock()
        let isThere = try accessToken() != nil
        try files.remove(Self.tokenName)
        try attempt("cannot remove the access token") { () throws(Errno) in
            do throws(Errno) { try layout.vault.removeFile(Array(Self.tokenName.utf8)) } catch .noSuchFile {}
            try layout.vault.sync()
        }
        // Held up to here.
        _ = consume lock
        return isThere
    }

    /// Stores a token, readable by its owner only.
    package func setAccessToken(_ token: borrowing SecretBytes) throws {
        let lock = try lock()
        var bytes = token.withBytes { [UInt8](copying: $0) }
        defer { for index in bytes.indices { bytes[index] = 0 } }
        try files.write(Self.tokenName, bytes, scratch: lock.scratch)
    }
}
