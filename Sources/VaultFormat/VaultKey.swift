public import VaultCrypto

/// The key of a vault that can be read and written: a passphrase and the vault's id (01-keys-and-crypto §1).
///
/// Deriving a read or write key costs 600,000 rounds of PBKDF2; do it once and keep the result.
public struct VaultKey: ~Copyable, Sendable {
    /// The vault the key belongs to.
    public let vaultID: VaultID
    private let passphrase: SecretBytes
    private let passphraseIsPrintable: Bool

    /// Reads a key text: `passphrase:vault-id`, with or without a prefix and white space around it.
    ///
    /// The passphrase is everything before the last colon, unchanged.
    ///
    /// - Throws: `.invalidKey` when the text is no vault key.
    public init(parsing text: Span<UInt8>) throws(FormatError) {
        guard text.count <= Limits.keyText else { throw .invalidKey("the key is too long") }
        let bare = text.extracting(KeyText.stripped(text))
        guard let colon = bare.lastIndex(of: 0x3A), colon > 0, colon + 1 < bare.count, UTF8Text.isValid(bare) else {
            throw .invalidKey("a vault key is a passphrase, a colon and a vault id")
        }
        let id = try VaultID(utf8: bare.extracting((colon + 1)...))
        try self.init(passphrase: bare.extracting(..<colon), vaultID: id)
    }

    private init(passphrase: Span<UInt8>, vaultID: VaultID) throws(FormatError) {
        var printable = true
        for index in passphrase.indices where !(0x20...0x7E).contains(passphrase[index]) { printable = false }
        passphraseIsPrintable = printable
        self.passphrase = try withCryptoErrors { () throws(CryptoError) in try SecretBytes(copying: passphrase) }
        self.vaultID = vaultID
    }

    /// A new key: 24 characters of passphrase and 8 of vault id, drawn from `a–z0–9`.
    public static func generate() throws(FormatError) -> VaultKey {
        try generate(using: SecureRandom())
    }

    /// A new key from another source of random bytes.
    package static func generate(using source: any RandomSource) throws(FormatError) -> VaultKey {
        var passphrase = try symbols(24, using: source)
        let idText = try symbols(8, using: source)
        let id = try VaultID(utf8: idText.span)
        defer { for index in passphrase.indices { passphrase[index] = 0 } }
        return try VaultKey(passphrase: passphrase.span, vaultID: id)
    }

    /// `count` symbols drawn uniformly: bytes of 252 and above are drawn again, because 36 does not divide 256.
    private static func symbols(_ count: Int, using source: any RandomSource) throws(FormatError) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(count)
        while result.count < count {
            for byte in try source.formatBytes(count) where byte < 252 && result.count < count {
                let value = byte % 36
                result.append(value < 26 ? 0x61 + value : 0x30 + value - 26)
            }
        }
        return result
    }

    /// The key as text, in the form the reference stores: `sgit_private_vault_…`.
    public borrowing func text() throws(FormatError) -> SecretBytes {
        let head = Array(KeyText.vaultPrefix.utf8)
        let tail = Array((":" + vaultID.text).utf8)
        return try withCryptoErrors { () throws(CryptoError) in
            try passphrase.withBytes { phrase throws(CryptoError) in
                try SecretBytes(count: head.count + phrase.count + tail.count) { target in
                    for index in head.indices { target[index] = head[index] }
                    for index in phrase.indices { target[head.count + index] = phrase[index] }
                    for index in tail.indices { target[head.count + phrase.count + index] = tail[index] }
                }
            }
        }
    }

    /// Whether the reference's commands accept the key: printable ASCII and not too long (01-keys-and-crypto §1.3).
    public var isUsableByReference: Bool {
        passphraseIsPrintable && passphrase.count + vaultID.text.utf8.count <= Limits.usableKeyLength
    }

    /// Derives the key that encrypts everything in the vault.
    public borrowing func deriveReadKey() throws(FormatError) -> ReadKey {
        ReadKey(verified: try derive(salt: "sg-vault-v1:" + vaultID.text))
    }

    /// Derives the secret that servers ask for on writes.
    public borrowing func deriveWriteKey() throws(FormatError) -> WriteKey {
        WriteKey(verified: try derive(salt: "sg-vault-v1:write:" + vaultID.text))
    }

    private borrowing func derive(salt: String) throws(FormatError) -> SecretBytes {
        let salt = Array(salt.utf8)
        return try withCryptoErrors { () throws(CryptoError) in
            try passphrase.withBytes { phrase throws(CryptoError) in
                try PBKDF2.sha256(password: phrase, salt: salt.span, iterations: 600_000, count: 32)
            }
        }
    }
}
