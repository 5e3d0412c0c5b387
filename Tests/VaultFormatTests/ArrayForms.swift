import VaultCrypto
import VaultFormat

// The functions under test take spans, which test expectations cannot hold: the same functions for arrays.

extension Span<UInt8> {
    /// The bytes as an array.
    var copied: [UInt8] {
        var bytes: [UInt8] = []
        for index in indices { bytes.append(self[index]) }
        return bytes
    }
}

func hash(_ bytes: [UInt8]) throws -> [UInt8] { try SHA256.hash(bytes.span) }
func parseJSON(_ bytes: [UInt8]) throws(FormatError) -> JSONValue { try JSONReader.parse(bytes.span) }
func hexDecoded(_ text: [UInt8]) -> [UInt8]? { Hex.decode(text.span) }
func hexText(_ bytes: [UInt8]) -> String { Hex.text(bytes.span) }
func base64Decoded(_ text: [UInt8]) -> [UInt8]? { Base64.decode(text.span) }
func base64Encoded(_ bytes: [UInt8]) -> [UInt8] { Base64.encode(bytes.span) }
func deflated(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] { try Deflater.deflate(bytes.span) }
func inflated(_ bytes: [UInt8], limit: Int, raw: Bool = false) throws(FormatError) -> [UInt8] {
    try Inflater.inflate(bytes.span, limit: limit, raw: raw)
}
func vaultKey(_ text: [UInt8]) throws(FormatError) -> VaultKey { try VaultKey(parsing: text.span) }
func readKey(_ text: [UInt8]) throws(FormatError) -> ReadKey { try ReadKey(text: text.span) }
func readKey(bytes: [UInt8]) throws -> ReadKey { try ReadKey(bytes: try SecretBytes(copying: bytes.span)) }
func cipher(_ key: [UInt8]) throws -> VaultCipher { try VaultCipher(readKey: try readKey(bytes: key)) }
func publicKey(_ pem: [UInt8]) throws -> P256PublicKey { try P256PublicKey(pem: pem.span) }
func privateKey(_ pem: [UInt8]) throws -> P256PrivateKey { try P256PrivateKey(pem: pem.span) }
func keyKind(_ text: [UInt8]) -> KeyTextKind { KeyText.kind(of: text.span) }
func keyPrefix(_ text: [UInt8]) -> String? { KeyText.prefix(of: text.span) }
func objectID(_ text: [UInt8]) throws(FormatError) -> ObjectID { try ObjectID(utf8: text.span) }
func contentHash(_ text: [UInt8]) -> ContentHash? { ContentHash(parsing: text.span) }

/// The key as text.
func shown(_ key: borrowing VaultKey) throws -> String {
    let secret = try key.text()
    return text(secret.withBytes { $0.copied })
}

/// The key as hex digits.
func shown(_ key: ReadKey) throws -> String {
    let secret = try key.hex()
    return text(secret.withBytes { $0.copied })
}

/// The key as hex digits.
func shown(_ key: WriteKey) throws -> String {
    let secret = try key.hex()
    return text(secret.withBytes { $0.copied })
}

extension VaultCipher {
    func open(_ object: [UInt8], limit: Int) throws(FormatError) -> [UInt8] { try open(object.span, limit: limit) }
    func openText(_ base64: [UInt8]) throws(FormatError) -> [UInt8] { try openText(base64.span) }
    func sealRandom(_ bytes: [UInt8], random: any RandomSource) throws(FormatError) -> [UInt8] {
        try sealRandom(bytes.span, random: random)
    }
    func sealDeterministic(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] { try sealDeterministic(bytes.span) }
    func sealBlob(_ bytes: [UInt8], deflate: Bool, random: any RandomSource) throws(FormatError) -> [UInt8] {
        try sealBlob(bytes.span, deflate: deflate, random: random)
    }
    func sealText(_ bytes: [UInt8]) throws(FormatError) -> String { try sealText(bytes.span) }
    func sealTextRandom(_ bytes: [UInt8], random: any RandomSource) throws(FormatError) -> String {
        try sealTextRandom(bytes.span, random: random)
    }
}

extension TreeObject {
    static func decode(_ bytes: [UInt8], cipher: VaultCipher) throws(FormatError) -> TreeObject {
        try decode(bytes.span, cipher: cipher)
    }
    static func open(_ bytes: [UInt8], cipher: VaultCipher) throws(FormatError) -> TreeObject {
        try open(bytes.span, cipher: cipher)
    }
}

extension CommitObject {
    static func decode(_ bytes: [UInt8]) throws(FormatError) -> CommitObject { try decode(bytes.span) }
}

extension BranchIndex {
    static func decode(_ bytes: [UInt8], nowMs: Int64 = .max) throws(FormatError) -> BranchIndex {
        try decode(bytes.span, nowMs: nowMs)
    }
}

extension RefObject {
    static func decode(_ bytes: [UInt8]) throws(FormatError) -> ObjectID? { try decode(bytes.span) }
}

extension KeyObject {
    static func decode(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] { try decode(bytes.span) }
}

extension TagObject {
    static func decode(_ bytes: [UInt8]) throws(FormatError) -> TagObject { try decode(bytes.span) }
}

extension CacheObject {
    static func decode(_ bytes: [UInt8]) throws(FormatError) -> CacheObject { try decode(bytes.span) }
}

extension SecretScan {
    static func secretEntry(in bytes: [UInt8]) -> [UInt8]? { secretEntry(in: bytes.span) }
    static func looksLikeZip(_ bytes: [UInt8]) -> Bool { looksLikeZip(bytes.span) }
}
