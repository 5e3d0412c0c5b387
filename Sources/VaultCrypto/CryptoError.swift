/// Why a primitive of this module did not deliver.
///
/// The code is all that a caller may act on, and all that equality looks at; the number of the library behind it only
/// helps whoever has to find out what happened. Neither carries key material or plaintext.
package struct CryptoError: Error, Equatable, Sendable {
    /// The cases a caller can tell apart.
    package enum Code: Sendable {
        /// A tag or a signature does not belong to these bytes under this key.
        case authenticationFailed
        /// An input or a requested output has a length that the primitive does not take.
        case invalidLength
        /// The bytes given as a key are not one, or not one of the kind that is accepted here.
        case invalidKey
        /// A number or an order of calls outside of what is allowed.
        case invalidParameter
        /// The bytes ask for an algorithm that is not supported, or for more work than is allowed.
        case unsupported
        /// The key is encrypted and no passphrase was given.
        case passphraseMissing
        /// A passphrase was given and the key is not encrypted.
        case passphraseUnexpected
        /// Whoever watched the work wished it to end.
        case cancelled
        /// The library could not get memory.
        case outOfMemory
        /// Anything else that the library reports.
        case library
    }

    /// The case.
    package let code: Code
    /// OpenSSL's error number, 0 when it gave none.
    package let libraryCode: UInt

    package init(_ code: Code, libraryCode: UInt = 0) {
        self.code = code
        self.libraryCode = libraryCode
    }

    package static func == (left: CryptoError, right: CryptoError) -> Bool {
        left.code == right.code
    }
}
