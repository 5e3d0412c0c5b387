internal import VaultFormat

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
    /// The objects that would have to be here, where that is what went wrong.
    private(set) var missing: [ObjectID] = []
    /// What a server said beside its refusal, when the error comes from one.
    public package(set) var answer: Answer?

    /// What an HTTP server says beside a refusal.
    public struct Answer: Sendable, Equatable {
        /// The status of its answer; nil when none was asked for.
        public let httpStatus: Int?
        /// How long it wants to be left alone, counted from the error, in milliseconds.
        public let retryAfterMs: Int64?
        /// Before when it wants no request where that was put off, in milliseconds since 1970.
        public let notBeforeMs: Int64?

        package init(httpStatus: Int?, retryAfterMs: Int64? = nil, notBeforeMs: Int64? = nil) {
            self.httpStatus = httpStatus
            self.retryAfterMs = retryAfterMs
            self.notBeforeMs = notBeforeMs
        }
    }

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

    /// The same failure, of a step that came after one which succeeded.
    ///
    /// * `done`: What stands in spite of it.
    package func following(_ done: String, hint: String) -> VaultError {
        VaultError(self, message: "\(done), but \(message)", hint: hint)
    }

    private init(_ other: VaultError, message: String, hint: String?) {
        code = other.code
        self.message = message
        self.hint = hint
        path = other.path
        object = other.object
        cause = other.cause
        location = other.location
        answer = other.answer
        missing = other.missing
    }

    /// The same failure, which goes away once some objects are here.
    func lacking(_ objects: [ObjectID]) -> VaultError {
        var error = self
        error.missing = objects
        return error
    }

    /// The same failure with what a server said beside it.
    package func answered(_ answer: Answer?) -> VaultError {
        var error = self
        error.answer = answer
        return error
    }

    public static func == (left: VaultError, right: VaultError) -> Bool {
        left.code == right.code
    }

    public var description: String {
        "\(code.name): \(message)" + (cause.map { " (\($0))" } ?? "")
    }
}

extension VaultError.Code {
    /// A bad option, argument, value or combination.
    public static let usage = Self(name: "usage")
    /// There is no vault at this place.
    public static let notAVault = Self(name: "not_a_vault")
    /// No commit has this name.
    public static let revisionNotFound = Self(name: "revision_not_found")
    /// The path is not in the vault.
    public static let pathNotFound = Self(name: "path_not_found")
    /// There is no such branch.
    public static let branchNotFound = Self(name: "branch_not_found")
    /// There is no such remote, or no vault there yet.
    public static let remoteNotFound = Self(name: "remote_not_found")
    /// There is no key of this name.
    public static let keyNotFound = Self(name: "key_not_found")
    /// Both sides changed the same paths differently.
    public static let conflicts = Self(name: "conflicts")
    /// A merge has to be finished or aborted first.
    public static let mergeInProgress = Self(name: "merge_in_progress")
    /// Another writer was first.
    public static let remoteMoved = Self(name: "remote_moved")
    /// Both sides have commits of their own.
    public static let notFastForward = Self(name: "not_fast_forward")
    /// The remote is not at the expected commit.
    public static let leaseBroken = Self(name: "lease_broken")
    /// The name is in use.
    public static let nameTaken = Self(name: "name_taken")
    /// No key is at hand.
    public static let keyMissing = Self(name: "key_missing")
    /// The key does not belong to this vault.
    public static let keyWrong = Self(name: "key_wrong")
    /// The server wants an access token.
    public static let tokenMissing = Self(name: "token_missing")
    /// The server refused the access token.
    public static let tokenRefused = Self(name: "token_refused")
    /// The clone holds the read key only.
    public static let readOnlyClone = Self(name: "read_only_clone")
    /// The remote can not be reached.
    public static let unreachable = Self(name: "unreachable")
    /// The connection is not secure.
    public static let tlsFailed = Self(name: "tls_failed")
    /// Nothing moved for too long.
    public static let timeout = Self(name: "timeout")
    /// The server failed.
    public static let serverError = Self(name: "server_error")
    /// The server asked to come back later.
    public static let serverBusy = Self(name: "server_busy")
    /// The server pointed elsewhere.
    public static let redirectRefused = Self(name: "redirect_refused")
    /// The address is not encrypted.
    public static let cleartextRefused = Self(name: "cleartext_refused")
    /// An object is not where it should be.
    public static let objectMissing = Self(name: "object_missing")
    /// Bytes are not what their id or format says.
    public static let objectCorrupt = Self(name: "object_corrupt")
    /// Bytes do not decrypt with this key.
    public static let decryptFailed = Self(name: "decrypt_failed")
    /// A signature that is needed does not verify.
    public static let signatureBad = Self(name: "signature_bad")
    /// A remote branch went back behind what was accepted.
    public static let refRewound = Self(name: "ref_rewound")
    /// A ref or the index is damaged.
    public static let refUnreadable = Self(name: "ref_unreadable")
    /// Uncommitted work is in the way.
    public static let dirtyTree = Self(name: "dirty_tree")
    /// The folder holds something already.
    public static let directoryNotEmpty = Self(name: "directory_not_empty")
    /// A file holds a vault's secrets.
    public static let secretInCommit = Self(name: "secret_in_commit")
    /// A path that must never be written.
    public static let unsafePath = Self(name: "unsafe_path")
    /// The clone holds a part of the vault only.
    public static let partialClone = Self(name: "partial_clone")
    /// Some items were done and some not.
    public static let partialResult = Self(name: "partial_result")
    /// Another process holds the lock.
    public static let locked = Self(name: "locked")
    /// The disk is full.
    public static let noSpace = Self(name: "no_space")
    /// The system does not allow it.
    public static let permissionDenied = Self(name: "permission_denied")
    /// The file system can not be written.
    public static let readOnlyFilesystem = Self(name: "read_only_filesystem")
    /// The file system failed.
    public static let ioError = Self(name: "io_error")
    /// A newer or unknown format.
    public static let formatUnsupported = Self(name: "format_unsupported")
    /// Something this version does not do.
    public static let notSupported = Self(name: "not_supported")
    /// An answer is needed and nobody can be asked.
    public static let inputNeeded = Self(name: "input_needed")
    /// The server asked for a longer delay.
    public static let deferred = Self(name: "deferred")
    /// Declined or interrupted.
    public static let cancelled = Self(name: "cancelled")
    /// A defect of this program.
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
