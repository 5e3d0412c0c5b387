/// The error of every public operation of PKICore: a stable code, a sentence with its remedy, and where it came from.
///
/// Two errors are equal when their codes are. Neither message nor cause holds a secret.
public struct PKIError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Stable names of what went wrong; they are the `error.code` of the command line's JSON.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name as it stands in JSON, for example `key_not_found`.
        public let name: String
        /// How a command ends that fails with this code (spec 10 B.3).
        public let exitCode: Int32

        public var description: String { name }
    }

    /// What went wrong.
    public let code: Code
    /// One sentence for a person: what happened and, where it helps, why.
    public let message: String
    /// One command or action that mends it, when there is one.
    public let hint: String?
    /// The local path concerned, when there is one, quoted for printing.
    public let path: String?
    /// The error of a lower layer in words, when there is one.
    public let cause: String?
    /// `File.swift:line` where the error was made.
    public let location: String

    /// How a command ends that fails with this error (spec 10 B.3).
    public var exitCode: Int32 { code.exitCode }

    package init(
        _ code: Code, _ message: String, hint: String? = nil, path: String? = nil, cause: (any Error)? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.path = path
        self.cause = cause.map { "\($0)" }
        self.location = "\(file):\(line)"
    }

    public static func == (left: PKIError, right: PKIError) -> Bool {
        left.code == right.code
    }

    public var description: String {
        "\(code.name): \(message)" + (cause.map { " (\($0))" } ?? "")
    }
}

extension PKIError.Code {
    /// A bad argument, for example an empty passphrase for a new key.
    public static let usage = Self(name: "usage", exitCode: 2)
    /// No key, or more than one, has this name.
    public static let keyNotFound = Self(name: "key_not_found", exitCode: 3)
    /// There is no such file or folder.
    public static let pathNotFound = Self(name: "path_not_found", exitCode: 3)
    /// The name is in use.
    public static let nameTaken = Self(name: "name_taken", exitCode: 5)
    /// The key is encrypted and no passphrase was given.
    public static let keyMissing = Self(name: "key_missing", exitCode: 6)
    /// The passphrase is wrong, or one was given for a key that has none.
    public static let keyWrong = Self(name: "key_wrong", exitCode: 6)
    /// Bytes are not the key, bundle, signature, envelope or manifest that they should be.
    public static let objectCorrupt = Self(name: "object_corrupt", exitCode: 8)
    /// An envelope does not open with this key.
    public static let decryptFailed = Self(name: "decrypt_failed", exitCode: 8)
    /// A signature by a known key does not verify.
    public static let signatureBad = Self(name: "signature_bad", exitCode: 8)
    /// The operation would lose or expose something and was not started.
    public static let refused = Self(name: "refused", exitCode: 9)
    /// The disk is full.
    public static let noSpace = Self(name: "no_space", exitCode: 12)
    /// The system does not allow it.
    public static let permissionDenied = Self(name: "permission_denied", exitCode: 12)
    /// The file system can not be written.
    public static let readOnlyFilesystem = Self(name: "read_only_filesystem", exitCode: 12)
    /// The file system failed.
    public static let ioError = Self(name: "io_error", exitCode: 12)
    /// A newer or unknown version, or an encryption that is not supported.
    public static let formatUnsupported = Self(name: "format_unsupported", exitCode: 13)
    /// Interrupted.
    public static let cancelled = Self(name: "cancelled", exitCode: 1)
    /// A defect of this program.
    public static let internalError = Self(name: "internal", exitCode: 70)

    /// Every code, in the order of the exit codes.
    public static let all: [Self] = [
        .cancelled, .usage, .keyNotFound, .pathNotFound, .nameTaken, .keyMissing, .keyWrong, .objectCorrupt,
        .decryptFailed, .signatureBad, .refused, .noSpace, .permissionDenied, .readOnlyFilesystem, .ioError,
        .formatUnsupported, .internalError,
    ]
}
