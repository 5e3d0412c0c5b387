internal import VaultCore
internal import VaultCrypto

/// Checks a secret on its way in (spec 10 B.5).
enum SecretText {
    /// What a secret may be.
    enum Rule {
        /// A key or a token: some text on one line.
        case line
        /// A passphrase: any bytes, also none (spec 08 §4.3).
        case passphrase
    }

    /// The most bytes a secret may have.
    static let limit = 4096

    /// Takes bytes read from a file, a descriptor or a command, and overwrites them.
    ///
    /// One line end is removed; then too many bytes, and by the rule of a line an empty value and a control character,
    /// are refused by the name of the source.
    static func taken(_ bytes: inout [UInt8], from source: String, as rule: Rule = .line) throws -> SecretBytes {
        defer { wipe(&bytes) }
        var end = bytes.count
        if end > 0, bytes[end - 1] == UInt8(ascii: "\n") {
            end -= 1
            if end > 0, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        }
        guard end > 0 || rule == .passphrase else { throw Usage.error("\(source) is empty") }
        guard end <= limit else { throw Usage.error("\(source) holds more than \(limit) bytes") }
        for index in 0..<end where rule == .line && isControl(bytes, index) {
            throw Usage.error("\(source) holds a control character")
        }
        return try SecretBytes(copying: bytes.span.extracting(0..<end))
    }

    /// Takes a value of the environment, verbatim.
    static func verbatim(_ bytes: [UInt8], from source: String) throws -> SecretBytes {
        guard !bytes.isEmpty else { throw Usage.error("\(source) is empty") }
        guard bytes.count <= limit else { throw Usage.error("\(source) holds more than \(limit) bytes") }
        return try SecretBytes(copying: bytes.span)
    }

    /// Overwrites bytes that held a secret.
    static func wipe(_ bytes: inout [UInt8]) {
        bytes.wipe()
    }

    /// A control character of ASCII, or the first byte of one of U+0080 to U+009F.
    private static func isControl(_ bytes: [UInt8], _ index: Int) -> Bool {
        let byte = bytes[index]
        if byte < 0x20 || byte == 0x7f { return true }
        return byte == 0xc2 && index + 1 < bytes.count && (0x80...0x9f).contains(bytes[index + 1])
    }
}
