import VaultCrypto

/// Runs `body` and turns a failure of the cryptographic library into this module's error.
func withCryptoErrors<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(FormatError) -> R {
    do {
        return try body()
    } catch {
        throw .crypto(error.code)
    }
}

extension FormatError {
    /// The library's failure as this module's error.
    static func crypto(_ code: CryptoError.Code) -> FormatError {
        switch code {
        case .authenticationFailed:
            FormatError(code: .decryptFailed, detail: "the data does not open with this key")
        default: FormatError(code: .crypto, detail: "cryptographic library: \(code)")
        }
    }
}

extension RandomSource {
    /// Random bytes, exactly `count` of them.
    func formatBytes(_ count: Int) throws(FormatError) -> [UInt8] {
        let result = try withCryptoErrors { () throws(CryptoError) in try self.bytes(count) }
        guard result.count == count else { throw .crypto(.library) }
        return result
    }
}
