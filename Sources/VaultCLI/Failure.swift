internal import PKICore
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
    /// What a server said beside its refusal.
    let answer: VaultError.Answer?
    /// Cause and place, shown with `-vv` only.
    let details: String?

    /// Turns whatever was thrown into what is told.
    ///
    /// * `here`: Where the user stands; paths below it are shown as seen from there.
    init(_ error: any Error, secrets: KnownSecrets, here: FilePath? = nil) {
        func told(_ text: String) -> String {
            Self.shortened(Self.relative(secrets.redacted(TextSafety.line(text)), to: here))
        }

        let known = Self.vaultError(from: error)
        code = known.code.name
        exit = (error as? Interruption).flatMap { ExitCode(rawValue: $0.exitCode) } ?? ExitCode(known.code)
        message = told(known.message)
        hint = known.hint.map(told)
        path = known.path.map(secrets.redacted)
        object = known.object.map(secrets.redacted)
        answer = known.answer
        let cause = known.cause.map { "\($0) at " } ?? ""
        details = secrets.redacted(TextSafety.line(cause + known.location))
    }

    /// Longer texts hide what they say; only what the user typed makes them so long.
    private static let longest = 2000

    private static func shortened(_ text: String) -> String {
        text.utf8.count <= longest ? text : text.prefix(longest / 4) + "..."
    }

    /// The text with paths below a folder written without that folder.
    private static func relative(_ text: String, to here: FilePath?) -> String {
        guard let here, here.isAbsolute, !here.components.isEmpty else { return text }
        let base = here.text + "/"
        guard !base.hasPrefix("\"") else { return text }
        // A path begins a sentence, or follows a blank or a quote.
        return [" ", "'", "\""].reduce(text.hasPrefix(base) ? String(text.dropFirst(base.count)) : text) {
            $0.replacing($1 + base, with: $1)
        }
    }

    private static func vaultError(from error: any Error) -> VaultError {
        switch error {
        case let error as VaultError: error
        case let error as PKIError: vaultError(of: error)
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

    /// Both libraries name their errors from one table (spec 10 B.4).
    private static func vaultError(of error: PKIError) -> VaultError {
        VaultError(
            VaultError.Code.all.first { $0.name == error.code.name } ?? .internalError, error.message, hint: error.hint,
            path: error.path, cause: error)
    }

    private static let reportHint = "run it again with -vv and report what it prints"
}
