import VaultCrypto

/// One folder of a vault (02-objects §4).
///
/// The bytes of a tree decide its id, so `encode` writes exactly what the reference writes.
package struct TreeObject: Equatable, Sendable {
    /// The folder's entries, which `encode` sorts.
    package var entries: [TreeEntry]

    package init(entries: [TreeEntry] = []) {
        self.entries = entries
    }

    /// Reads the plaintext of a tree object.
    ///
    /// Of two entries with one name the later stands. Names are not checked for safety: whoever makes a path of them does.
    ///
    /// - Throws: `.malformed` when the bytes are no tree, `.decryptFailed` when a member does not open.
    package static func decode(_ plaintext: Span<UInt8>, cipher: VaultCipher) throws(FormatError) -> TreeObject {
        var decoder = TreeDecoder(cipher: cipher)
        return TreeObject(entries: try decoder.entries(of: plaintext))
    }

    /// The plaintext of the tree object.
    ///
    /// - Throws: `.malformed` for a name that is empty, holds `/` or is not UTF-8, and for one that occurs twice;
    ///   `.limitExceeded` for one of more than 740 bytes.
    package func encode(cipher: VaultCipher) throws(FormatError) -> [UInt8] {
        var encoder = TreeEncoder(cipher: cipher)
        return try encoder.plaintext(of: entries)
    }

    /// Opens and reads a stored tree object.
    package static func open(_ object: Span<UInt8>, cipher: VaultCipher) throws(FormatError) -> TreeObject {
        guard object.count <= Limits.treeCiphertext else { throw .limit("the tree object is too large") }
        let plaintext = try cipher.open(object, limit: Limits.treeCiphertext)
        return try decode(plaintext.span, cipher: cipher)
    }

    /// Writes and seals the tree: the bytes to store and their id.
    package func seal(
        cipher: VaultCipher, width: IDWidth
    ) throws(FormatError) -> (id: ObjectID, ciphertext: [UInt8]) {
        let plaintext = try encode(cipher: cipher)
        let ciphertext = try cipher.sealDeterministic(plaintext.span)
        let digest = try withCryptoErrors { () throws(CryptoError) in try SHA256.hash(ciphertext.span) }
        return (ObjectID(digest: digest, width: width), ciphertext)
    }
}
