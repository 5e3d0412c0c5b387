internal import VaultCrypto
package import VaultSystem

extension PKIError {
    /// The error of a failed system call: `what` names the action and its object, as in "cannot read a.sig".
    package static func io(
        _ errno: Errno, _ what: String, path: FilePath? = nil, file: StaticString = #fileID, line: UInt = #line
    ) -> PKIError {
        let code: Code
        switch errno {
        case .noSuchFile: code = .pathNotFound
        case .noSpace, .quotaExceeded: code = .noSpace
        case .permissionDenied, .notPermitted: code = .permissionDenied
        case .readOnlyFileSystem: code = .readOnlyFilesystem
        default: code = .ioError
        }
        return PKIError(code, "\(what): \(errno)", path: path?.text, cause: errno, file: file, line: line)
    }

    /// The error of a key that was not read: `what` names it, as in "the signing key of sha256:…".
    static func key(
        _ error: CryptoError, _ what: String, file: StaticString = #fileID, line: UInt = #line
    ) -> PKIError {
        let (code, reason, hint): (Code, String, String?) =
            switch error.code {
            case .invalidKey: (.objectCorrupt, "is not a key of the kind that is needed, or is damaged", nil)
            case .unsupported:
                (.formatUnsupported, "is encrypted in a way that is not supported", "encrypt it with PBES2")
            case .passphraseMissing: (.keyMissing, "is encrypted, and no passphrase was given", nil)
            case .passphraseUnexpected: (.keyWrong, "has no passphrase, and one was given", nil)
            case .authenticationFailed: (.keyWrong, "does not open with this passphrase", nil)
            case .cancelled: (.cancelled, "was not made, as the work was interrupted", nil)
            default: (.internalError, "could not be used", nil)
            }
        return PKIError(code, "\(what) \(reason)", hint: hint, cause: error, file: file, line: line)
    }
}

/// Throws `cancelled` when the cancellation asks for it, or the task of the caller was cancelled.
func checkStop(_ cancellation: any Cancellation) throws(PKIError) {
    do throws(Interruption) {
        try cancellation.check()
    } catch {
        throw PKIError(.cancelled, "stopped", cause: error)
    }
    if Task.isCancelled { throw PKIError(.cancelled, "stopped") }
}

extension File {
    /// Reads the next bytes into a piece; none are left when it gives 0.
    func read(into piece: inout [UInt8], name: String) throws(PKIError) -> Int {
        do throws(Errno) {
            var target = piece.mutableSpan
            return try read(filling: &target)
        } catch {
            throw PKIError.io(error, "cannot read \(name)")
        }
    }
}

/// Runs a system call and turns its error into one that says what was tried.
func attempt<T: ~Copyable>(
    _ what: @autoclosure () -> String, path: FilePath? = nil, file: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(Errno) -> T
) throws(PKIError) -> T {
    do throws(Errno) {
        return try body()
    } catch {
        throw .io(error, what(), path: path, file: file, line: line)
    }
}

/// Reads or uses a key and turns a failure into one that names the key.
func readingKey<T: ~Copyable>(
    _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(CryptoError) -> T
) throws(PKIError) -> T {
    do throws(CryptoError) {
        return try body()
    } catch {
        throw .key(error, what(), file: file, line: line)
    }
}

/// Runs a step of the crypto layer whose failure means a broken library or machine.
func crypto<T: ~Copyable>(
    _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(CryptoError) -> T
) throws(PKIError) -> T {
    do throws(CryptoError) {
        return try body()
    } catch {
        throw PKIError(.internalError, "\(what()) failed", cause: error, file: file, line: line)
    }
}
