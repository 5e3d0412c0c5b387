import VaultCrypto

/// The places in a vault that follow from its key (01-keys-and-crypto §2).
///
/// All other ids are random.
package struct DerivedIDs: Sendable {
    /// The head of the branch `current`.
    package let headRef: RefID
    /// The branch index.
    package let index: IndexID
    /// The id of the branch `current` in a vault without an index.
    package let fallbackBranchID: BranchID
    private let hmac: HMACSHA256
    private let vaultID: VaultID

    package init(readKey: ReadKey, vaultID: VaultID) throws(FormatError) {
        let hmac = try withCryptoErrors { () throws(CryptoError) in
            try readKey.withBytes { bytes throws(CryptoError) in try HMACSHA256(key: bytes) }
        }
        self.hmac = hmac
        self.vaultID = vaultID
        let id = vaultID.text
        headRef = RefID(kind: .named, tail: try Self.tail("sg-vault-v1:file-id:ref:" + id, [], hmac))
        index = IndexID(tail: try Self.tail("sg-vault-v1:file-id:branch-index:" + id, [], hmac))
        fallbackBranchID = try BranchID("branch-named-" + Self.tail("branch:current:" + id, [], hmac).hex)
    }

    /// The head of the first clone's branch; `init` uses the name `local`.
    package func firstCloneRef(named name: String = "local") throws(FormatError) -> RefID {
        let tail = try Self.tail("sg-vault-v1:file-id:branch-ref:\(vaultID.text):\(name)", [], hmac)
        return RefID(kind: .clone, tail: tail)
    }

    /// The cache objects of a path, given byte for byte as in the vault.
    package func cacheIDs(
        path: [UInt8], mutability: CacheID.Mutability = .singleWriter
    ) throws(FormatError) -> (value: CacheID, pointer: CacheID) {
        let value = try Self.tail("sg-vault-v1:file-id:cache-value:\(vaultID.text):", path, hmac)
        let pointer = try Self.tail("sg-vault-v1:file-id:cache-pointer:\(vaultID.text):", path, hmac)
        return (CacheID(mutability: mutability, tail: value), CacheID(mutability: mutability, tail: pointer))
    }

    private static func tail(
        _ domain: String, _ rest: [UInt8], _ hmac: HMACSHA256
    ) throws(FormatError) -> IDTail {
        let message = Array(domain.utf8) + rest
        return IDTail(
            digest: try withCryptoErrors { () throws(CryptoError) in try hmac.authenticate(message.span) })
    }
}
