/// The error of every public operation of VaultCore: a stable code, a sentence with its remedy, and where it came from.
///
/// Two errors are equal when their codes are.
public struct VaultError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Stable names of what went wrong; they are the `error.code` of the command line's JSON.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name as it stands in JSON, for example `remote_moved`.
        public let name: String

        public var description: String { name }
    }

    /// What went wrong.
    public let code: Code
    /// One sentence for a person: what happened and, where it helps, why.
    ///
    /// Never holds a secret.
    public let message: String
    /// One command or action that mends it, when there is one.
    public let hint: String?
    /// The vault path or local path concerned, when there is one, quoted for printing.
    public let path: String?
    /// The object or file id concerned, when there is one.
    public let object: String?
    /// The error of a lower layer in words, when there is one.
    public let cause: String?
    /// `File.swift:line` where the error was made.
    public let location: String

    package init(
        _ code: Code, _ message: String, hint: String? = nil, path: String? = nil, object: String? = nil,
        cause: (any Error)? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.path = path
        self.object = object
        self.cause = cause.map { "\($0)" }
        self.location = "\(file):\(line)"
    }

    public static func == (left: VaultError, right: VaultError) -> Bool {
        left.code == right.code
    }

    public var description: String {
        "\(code.name): \(message)" + (cause.map { " (\($0))" } ?? "")
    }
}

extension VaultError.Code {
    public static let usage = Self(name: "usage")
    public static let notAVault = Self(name: "not_a_vault")
    public static let revisionNotFound = Self(name: "revision_not_found")
    public static let pathNotFound = Self(name: "path_not_found")
    public static let branchNotFound = Self(name: "branch_not_found")
    public static let remoteNotFound = Self(name: "remote_not_found")
    public static let keyNotFound = Self(name: "key_not_found")
    public static let conflicts = Self(name: "conflicts")
    public static let mergeInProgress = Self(name: "merge_in_progress")
    public static let remoteMoved = Self(name: "remote_moved")
    public static let notFastForward = Self(name: "not_fast_forward")
    public static let leaseBroken = Self(name: "lease_broken")
    public static let nameTaken = Self(name: "name_taken")
    public static let keyMissing = Self(name: "key_missing")
    public static let keyWrong = Self(name: "key_wrong")
    public static let tokenMissing = Self(name: "token_missing")
    public static let tokenRefused = Self(name: "token_refused")
    public static let readOnlyClone = Self(name: "read_only_clone")
    public static let unreachable = Self(name: "unreachable")
    public static let tlsFailed = Self(name: "tls_failed")
    public static let timeout = Self(name: "timeout")
    public static let serverError = Self(name: "server_error")
    public static let serverBusy = Self(name: "server_busy")
    public static let redirectRefused = Self(name: "redirect_refused")
    public static let cleartextRefused = Self(name: "cleartext_refused")
    public static let objectMissing = Self(name: "object_missing")
    public static let objectCorrupt = Self(name: "object_corrupt")
    public static let decryptFailed = Self(name: "decrypt_failed")
    public static let signatureBad = Self(name: "signature_bad")
    public static let refRewound = Self(name: "ref_rewound")
    public static let refUnreadable = Self(name: "ref_unreadable")
    public static let dirtyTree = Self(name: "dirty_tree")
    public static let directoryNotEmpty = Self(name: "directory_not_empty")
    public static let secretInCommit = Self(name: "secret_in_commit")
    public static let unsafePath = Self(name: "unsafe_path")
    public static let partialClone = Self(name: "partial_clone")
    public static let partialResult = Self(name: "partial_result")
    public static let locked = Self(name: "locked")
    public static let noSpace = Self(name: "no_space")
    public static let permissionDenied = Self(name: "permission_denied")
    public static let readOnlyFilesystem = Self(name: "read_only_filesystem")
    public static let ioError = Self(name: "io_error")
    public static let formatUnsupported = Self(name: "format_unsupported")
    public static let notSupported = Self(name: "not_supported")
    public static let inputNeeded = Self(name: "input_needed")
    public static let deferred = Self(name: "deferred")
    public static let cancelled = Self(name: "cancelled")
    public static let internalError = Self(name: "internal")
    /// A write to a remote that can only be read (a published folder, a working clone).
    public static let readOnlyRemote = Self(name: "read_only_remote")
    /// The operation would lose or expose something and was not started.
    public static let refused = Self(name: "refused")

    /// Every code, in the order of the command-line contract.
    public static let all: [Self] = [
        .usage, .notAVault, .revisionNotFound, .pathNotFound, .branchNotFound, .remoteNotFound, .keyNotFound,
        .conflicts, .mergeInProgress, .remoteMoved, .notFastForward, .leaseBroken, .nameTaken, .keyMissing, .keyWrong,
        .tokenMissing, .tokenRefused, .readOnlyClone, .unreachable, .tlsFailed, .timeout, .serverError, .serverBusy,
        .redirectRefused, .cleartextRefused, .objectMissing, .objectCorrupt, .decryptFailed, .signatureBad,
        .refRewound, .refUnreadable, .dirtyTree, .directoryNotEmpty, .secretInCommit, .unsafePath, .partialClone,
        .partialResult, .locked, .noSpace, .permissionDenied, .readOnlyFilesystem, .ioError, .formatUnsupported,
        .notSupported, .inputNeeded, .deferred, .cancelled, .internalError, .readOnlyRemote, .refused,
    ]
}
