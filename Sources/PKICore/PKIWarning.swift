internal import VaultSystem

/// Something that was gone on with and that a person should know.
public struct PKIWarning: Sendable, Equatable {
    /// A stable name, for example `unreadable_key_pair`.
    public let code: String
    /// One sentence; control characters in it are quoted.
    public let message: String

    init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension String {
    /// The text as it may be printed: labels are text from a stranger (08-pki §5).
    package var quotedForDisplay: String { QuotedName.text(Array(utf8)) }

    /// A label as it may be printed: one that spells a fingerprint stands in quotes, so that it is not taken for the
    /// fingerprint that follows it.
    package var labelForDisplay: String {
        let text = quotedForDisplay
        return text.utf8.first != UInt8(ascii: "\"") && utf8.contains("sha256:") ? "\"\(text)\"" : text
    }
}
