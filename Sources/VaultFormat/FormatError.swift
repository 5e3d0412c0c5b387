/// Why bytes or text could not be read or written as part of a vault.
///
/// Two errors are equal when their codes are equal; `detail` explains the case to a person and never holds key material.
public struct FormatError: Error, Equatable, Sendable {
    /// The kind of failure, stable across versions.
    public enum Code: String, Sendable {
        /// The bytes do not have the shape the format asks for.
        case malformed
        /// A bound of `Limits` was passed.
        case limitExceeded
        /// Well-formed, but needs a client that can do more than this one.
        case unsupported
        /// The envelope does not open: wrong key or damaged bytes.
        case decryptFailed
        /// The bytes do not have the identifier they were asked for by.
        case idMismatch
        /// A path that must not be used for a file.
        case unsafePath
        /// Text that is not a key of the kind that is needed.
        case invalidKey
        /// A signature that does not verify.
        case signatureInvalid
        /// The cryptographic library failed.
        case crypto
    }

    /// The kind of failure.
    public let code: Code
    /// What was wrong, for a person.
    public let detail: String

    /// Makes an error.
    public init(code: Code, detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Compares the codes only.
    public static func == (lhs: FormatError, rhs: FormatError) -> Bool {
        lhs.code == rhs.code
    }

    package static func malformed(_ detail: String) -> FormatError { FormatError(code: .malformed, detail: detail) }
    package static func limit(_ detail: String) -> FormatError { FormatError(code: .limitExceeded, detail: detail) }
    package static func unsupported(_ detail: String) -> FormatError { FormatError(code: .unsupported, detail: detail) }
    package static func unsafePath(_ detail: String) -> FormatError { FormatError(code: .unsafePath, detail: detail) }
    package static func invalidKey(_ detail: String) -> FormatError { FormatError(code: .invalidKey, detail: detail) }
}
