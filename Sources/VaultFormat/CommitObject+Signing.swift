package import VaultCrypto

extension CommitObject {
    /// What a signature covers: nine members sorted by name, compact JSON, UTF-8 (02-objects §5.2).
    package func signingBytes() -> [UInt8] {
        let members = members(signature: nil).filter { !$0.isNamed("signature") }
        return JSONWriter.bytes(.object(members), .canonical)
    }

    /// What signatures of old clients cover: all ten members in stored order with `signature` null.
    package func legacySigningBytes() -> [UInt8] {
        JSONWriter.bytes(.object(members(signature: nil)), .python)
    }

    /// Whether the commit is signed, by this key, over the content it has.
    ///
    /// The legacy form counts only for a commit that does not name its author's key.
    package func verify(with key: P256PublicKey) -> Bool {
        guard let signature, let bytes = Base64.decode(Array(signature.utf8).span), bytes.count == 64 else {
            return false
        }
        let canonical = signingBytes()
        if key.isValid(signature: bytes.span, for: canonical.span) { return true }
        guard authorKeyID == nil || authorKeyID?.isEmpty == true else { return false }
        let legacy = legacySigningBytes()
        return key.isValid(signature: bytes.span, for: legacy.span)
    }

    /// Signs the commit as it stands and names the key.
    package mutating func sign(with key: P256PrivateKey, keyID: KeyID) throws(FormatError) {
        authorKeyID = keyID.text
        let message = signingBytes()
        let bytes = try withCryptoErrors { () throws(CryptoError) in try key.sign(message.span) }
        signature = Base64.text(bytes.span)
    }
}
