import COpenSSL

/// The one place where OpenSSL's return values become errors, and where the library is started.
enum OpenSSL {
    /// True once the library is initialised without having read its configuration file.
    ///
    /// Reading `openssl.cnf` costs every short command half a millisecond and would let a file decide which
    /// implementation runs. A process that had OpenSSL initialised earlier keeps what it has.
    private static let isReady: Bool = {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1
    }()

    /// Starts the library; to be called before the first call of any other function of it.
    static func start() throws(CryptoError) {
        guard isReady else { throw failure() }
    }

    /// Passes on success, which for OpenSSL is 1 and nothing else: 0 and negative numbers both mean failure.
    @inline(__always)
    static func check(_ result: Int32, or code: CryptoError.Code = .library) throws(CryptoError) {
        guard result == 1 else { throw failure(code) }
    }

    /// Passes on a pointer that is not null.
    @inline(__always)
    static func check<Pointer>(_ pointer: Pointer?, or code: CryptoError.Code = .library) throws(CryptoError) -> Pointer
    {
        guard let pointer else { throw failure(code) }
        return pointer
    }

    /// Makes the error for a failed call and empties the error queue, so that no later call finds stale entries.
    static func failure(_ code: CryptoError.Code = .library) -> CryptoError {
        let number = UInt(ERR_peek_last_error())
        ERR_clear_error()
        // The reason is the low part of the number, see ERR_GET_REASON (a macro, which Swift does not see).
        let isMemory = number & 0x7F_FFFF == UInt(ERR_R_MALLOC_FAILURE)
        return CryptoError(isMemory ? .outOfMemory : code, libraryCode: number)
    }
}
