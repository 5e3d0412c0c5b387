internal import VaultCrypto
package import VaultFormat
package import VaultSystem

extension VaultError {
    /// The error of a failed system call: `what` names the action and its object, as in "cannot read config.json".
    package static func io(
        _ errno: Errno, _ what: String, path: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) -> VaultError {
        let code: Code
        let hint: String?
        switch errno {
        case .noSpace, .quotaExceeded: (code, hint) = (.noSpace, "free some space and run the command again")
        case .permissionDenied, .notPermitted: (code, hint) = (.permissionDenied, nil)
        case .readOnlyFileSystem: (code, hint) = (.readOnlyFilesystem, nil)
        default: (code, hint) = (.ioError, nil)
        }
        return VaultError(code, "\(what): \(errno)", hint: hint, path: path, cause: errno, file: file, line: line)
    }

    /// The error of stored bytes that do not read as they should.
    package static func format(
        _ error: FormatError, _ what: String, object: String? = nil, file: StaticString = #fileID, line: UInt = #line
    ) -> VaultError {
        let code: Code =
            switch error.code {
            case .unsupported: .formatUnsupported
            case .decryptFailed: .decryptFailed
            case .idMismatch, .malformed, .limitExceeded: .objectCorrupt
            case .unsafePath: .unsafePath
            case .invalidKey: .keyWrong
            case .signatureInvalid: .signatureBad
            case .crypto: .internalError
            }
        return VaultError(code, "\(what): \(error.detail)", object: object, cause: error, file: file, line: line)
    }
}

extension VaultError {
    /// The disk is full or fails: nothing more should be written to it now, and another try may succeed.
    var isOfTheDisk: Bool {
        code == .noSpace || (code == .ioError && cause == "\(Errno.ioError)")
    }
}

/// Runs a system call and turns its error into a `VaultError` that says what was tried.
func attempt<T: ~Copyable>(
    _ what: @autoclosure () -> String, path: @autoclosure () -> String? = nil, file: StaticString = #fileID,
    line: UInt = #line, _ body: () throws(Errno) -> T
) throws(VaultError) -> T {
    do throws(Errno) {
        return try body()
    } catch {
        throw .io(error, what(), path: path(), file: file, line: line)
    }
}

/// Runs a step of the format layer and turns its error into a `VaultError`.
func decoding<T: ~Copyable>(
    _ what: @autoclosure () -> String, object: @autoclosure () -> String? = nil, file: StaticString = #fileID,
    line: UInt = #line, _ body: () throws(FormatError) -> T
) throws(VaultError) -> T {
    do throws(FormatError) {
        return try body()
    } catch {
        throw .format(error, what(), object: object(), file: file, line: line)
    }
}

/// Runs a step of the crypto layer, whose failures here mean a broken library or machine.
func crypto<T: ~Copyable>(
    _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line,
    _ body: () throws(CryptoError) -> T
) throws(VaultError) -> T {
    do throws(CryptoError) {
        return try body()
    } catch {
        throw VaultError(.internalError, "\(what()) failed", cause: error, file: file, line: line)
    }
}

extension String {
    /// The ASCII or UTF-8 bytes as an array, for names of files.
    var bytes: [UInt8] { Array(utf8) }
}
