internal import VaultCore
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// An error as both renderers tell it: already redacted and safe for a terminal.
struct Failure {
    let code: String
    let exit: ExitCode
    let message: String
    let hint: String?
    let path: String?
    let object: String?
    /// Cause and place, shown with `-vv` only.
    let details: String?

    /// Turns whatever was thrown into what is told.
    init(_ error: any Error, secrets: KnownSecrets) {
        let known = Self.vaultError(from: error)
        code = known.code.name
        exit = (error as? Interruption).flatMap { ExitCode(rawValue: $0.exitCode) } ?? ExitCode(known.code)
        message = secrets.redacted(TextSafety.line(known.message))
        hint = known.hint.map { secrets.redacted(TextSafety.line($0)) }
        path = known.path.map(secrets.redacted)
        object = known.object.map(secrets.redacted)
        let cause = known.cause.map { "\($0) at " } ?? ""
        details = secrets.redacted(TextSafety.line(cause + known.location))
    }

    private static func vaultError(from error: any Error) -> VaultError {
        switch error {
        case let error as VaultError: error
        case let error as FormatError: .format(error, "reading")
        case let error as Errno: .io(error, "a system call failed")
        case let error as OutputFailure: error.failure(workIsDone: false)
        case let error as Interruption: VaultError(.cancelled, "stopped by signal \(error.signal)")
        case is CancellationError: VaultError(.cancelled, "stopped")
        case let error as CryptoError:
            VaultError(.internalError, "the cryptographic library failed", hint: reportHint, cause: error)
        default: VaultError(.internalError, "unexpected failure", hint: reportHint, cause: error)
        }
    }

    private static let reportHint = "run it again with -vv and report what it prints"
}
