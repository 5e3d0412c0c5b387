/// The public name of a vault: 4–24 characters of `a–z0–9` (01-keys-and-crypto §1.2).
public struct VaultID: Hashable, Sendable, CustomStringConvertible {
    /// The id as text.
    public let text: String

    /// Checks `text`; throws `.invalidKey` when it is no vault id.
    public init(_ text: String) throws(FormatError) {
        try self.init(utf8: Array(text.utf8).span)
    }

    package init(utf8: Span<UInt8>) throws(FormatError) {
        guard (4...24).contains(utf8.count) else { throw Self.refused() }
        for index in utf8.indices {
            switch utf8[index] {
            case 0x61...0x7A, 0x30...0x39: continue
            default: throw Self.refused()
            }
        }
        guard let text = UTF8Text.validated(utf8) else { throw Self.refused() }
        self.text = text
    }

    private static func refused() -> FormatError {
        .invalidKey("a vault id is 4 to 24 characters of a-z and 0-9")
    }

    /// Whether servers accept the id: they want at least 8 characters (04-remote-api §2.1).
    public var isServable: Bool { text.utf8.count >= 8 }

    /// The id as text.
    public var description: String { text }
}
