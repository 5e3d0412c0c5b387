internal import VaultCore

/// How `vaultctl` ends (spec 10 B.3).
///
/// Derived from an error's code in one table and nowhere else.
package enum ExitCode: Int32, Sendable, CaseIterable {
    case ok = 0
    case negative = 1
    case usage = 2
    case notFound = 3
    case conflict = 4
    case rejected = 5
    case auth = 6
    case network = 7
    case integrity = 8
    case refused = 9
    case partial = 10
    case locked = 11
    case io = 12
    case unsupported = 13
    case inputNeeded = 14
    case deferred = 15
    case internalError = 70
    case hangUp = 129
    case interrupted = 130
    case brokenPipe = 141
    case terminated = 143
}

extension ExitCode {
    /// The name that stands in `help --json`.
    var name: String {
        switch self {
        case .ok: "ok"
        case .negative: "negative"
        case .usage: "usage"
        case .notFound: "not_found"
        case .conflict: "conflict"
        case .rejected: "rejected"
        case .auth: "auth"
        case .network: "network"
        case .integrity: "integrity"
        case .refused: "refused"
        case .partial: "partial"
        case .locked: "locked"
        case .io: "io"
        case .unsupported: "unsupported"
        case .inputNeeded: "input_needed"
        case .deferred: "deferred"
        case .internalError: "internal"
        case .hangUp: "hang_up"
        case .interrupted: "interrupted"
        case .brokenPipe: "broken_pipe"
        case .terminated: "terminated"
        }
    }

    /// What it tells, in words.
    var meaning: String {
        switch self {
        case .ok: "what the verb names has been done"
        case .negative: "the answer is no: nothing to commit, differences found, declined"
        case .usage: "bad option, argument, value or combination"
        case .notFound: "not a vault, or no such revision, path, branch, remote or key"
        case .conflict: "a merge stopped with conflicts"
        case .rejected: "the remote moved: not a fast-forward, or the compare-and-swap was lost"
        case .auth: "no key, wrong key, refused by the server, or a read-only clone"
        case .network: "unreachable, time-out or server error"
        case .integrity: "damage found: hash, decryption, signature, rewound or unreadable ref"
        case .refused: "would lose or expose something"
        case .partial: "some items done, some not; --json lists both"
        case .locked: "another process holds the clone's lock"
        case .io: "local file system error: no space, permission, read-only"
        case .unsupported: "the format, feature or URL scheme is not supported"
        case .inputNeeded: "a confirmation or secret is needed and prompting is not possible"
        case .deferred: "the server asked to wait longer than allowed"
        case .internalError: "a bug in vaultctl"
        case .hangUp: "ended by SIGHUP after clean-up"
        case .interrupted: "ended by SIGINT after clean-up"
        case .brokenPipe: "the reader of standard output went away; silent"
        case .terminated: "ended by SIGTERM after clean-up"
        }
    }

    /// Whether running the same command again can help, perhaps after what the hint says.
    var isRetryable: Bool {
        switch self {
        case .conflict, .rejected, .network, .partial, .locked, .deferred: true
        default: false
        }
    }

    /// The table from error codes to exit codes.
    private static let table: [VaultError.Code: ExitCode] = {
        var table: [VaultError.Code: ExitCode] = [:]
        let rows: [(ExitCode, [VaultError.Code])] = [
            (.negative, [.cancelled]),
            (.usage, [.usage]),
            (
                .notFound,
                [.notAVault, .revisionNotFound, .pathNotFound, .branchNotFound, .remoteNotFound, .keyNotFound]
            ),
            (.conflict, [.conflicts, .mergeInProgress]),
            (.rejected, [.remoteMoved, .notFastForward, .leaseBroken, .nameTaken]),
            (
                .auth,
                [.keyMissing, .keyWrong, .tokenMissing, .tokenRefused, .readOnlyClone, .cleartextRefused]
            ),
            (.network, [.unreachable, .tlsFailed, .timeout, .serverError, .serverBusy, .redirectRefused]),
            (
                .integrity,
                [
                    .objectMissing, .objectCorrupt, .decryptFailed, .signatureBad, .refRewound, .refUnreadable,
                    .unsafePath,
                ]
            ),
            (
                .refused,
                [.dirtyTree, .directoryNotEmpty, .secretInCommit, .partialClone, .readOnlyRemote, .refused]
            ),
            (.partial, [.partialResult]),
            (.locked, [.locked]),
            (.io, [.noSpace, .permissionDenied, .readOnlyFilesystem, .ioError]),
            (.unsupported, [.formatUnsupported, .notSupported]),
            (.inputNeeded, [.inputNeeded]),
            (.deferred, [.deferred]),
            (.internalError, [.internalError]),
        ]
        for (exit, codes) in rows {
            for code in codes { table[code] = exit }
        }
        return table
    }()

    /// The exit code of an error; a code the table lacks is a bug and says so.
    init(_ code: VaultError.Code) {
        self = Self.table[code] ?? .internalError
    }

    /// Whether the table has a row for a code.
    static func isMapped(_ code: VaultError.Code) -> Bool {
        table[code] != nil
    }
}
