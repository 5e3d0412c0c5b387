import COpenSSL

/// One message under way in a borrowed context: the calls that sealing and opening, at once and streamed, share.
@safe
struct GCMMessage: ~Copyable {
    /// What becomes of the bytes.
    enum Direction: Int32 {
        case open = 0
        case seal = 1
    }

    /// The most bytes one IV may encrypt: 2^39 - 256 bits (NIST SP 800-38D §5.2.1.1).
    static let maximumCount: UInt64 = (1 << 36) - 32

    /// OpenSSL counts in 32 signed bits; longer input goes in parts.
    private static let partCount = 1 << 30

    private let pool: CipherContextPool
    private let context: OpaquePointer
    /// How many bytes have gone through, the additional ones not counted.
    var processed: UInt64 = 0

    /// Borrows a context and sets the IV, which must have 12 bytes: OpenSSL itself would cut or hash others.
    init(_ direction: Direction, pool: CipherContextPool, iv: Span<UInt8>) throws(CryptoError) {
        guard iv.count == AESGCM.ivCount else { throw CryptoError(.invalidLength) }
        let context = try unsafe pool.take()
        // unsafe: a new IV without a key restarts the context with the key it holds.
        let result = unsafe iv.withUnsafeBufferPointer { iv in
            unsafe EVP_CipherInit_ex2(context, nil, nil, iv.baseAddress, direction.rawValue, nil)
        }
        guard result == 1 else {
            unsafe pool.put(context)
            throw OpenSSL.failure()
        }
        self.pool = pool
        unsafe self.context = context
    }

    deinit {
        unsafe pool.put(context)
    }

    /// Adds data that is authenticated and not encrypted; only before the first ``update(_:into:)``.
    mutating func authenticate(_ bytes: Span<UInt8>) throws(CryptoError) {
        let context = unsafe context
        // unsafe: without an output pointer the input counts as additional data.
        try unsafe bytes.withUnsafeBufferPointer { input throws(CryptoError) in
            var offset = 0
            while offset < input.count {
                let part = min(Self.partCount, input.count - offset)
                var written: Int32 = 0
                let start = unsafe input.baseAddress?.advanced(by: offset)
                try unsafe OpenSSL.check(EVP_CipherUpdate(context, nil, &written, start, Int32(part)))
                offset += part
            }
        }
    }

    /// Sends bytes through the cipher into memory of the same length at `target`.
    @unsafe
    mutating func update(_ bytes: Span<UInt8>, into target: UnsafeMutablePointer<UInt8>) throws(CryptoError) {
        guard UInt64(bytes.count) <= Self.maximumCount - processed else { throw CryptoError(.invalidLength) }
        processed += UInt64(bytes.count)
        let context = unsafe context
        // unsafe: GCM gives as many bytes as it takes; an empty input makes no call, so no pointer is ever null.
        try unsafe bytes.withUnsafeBufferPointer { input throws(CryptoError) in
            var offset = 0
            while offset < input.count {
                let part = min(Self.partCount, input.count - offset)
                var written: Int32 = 0
                let start = unsafe input.baseAddress?.advanced(by: offset)
                try unsafe OpenSSL.check(EVP_CipherUpdate(context, target + offset, &written, start, Int32(part)))
                guard Int(written) == part else { throw CryptoError(.library) }
                offset += part
            }
        }
    }

    /// Ends a message that was sealed and writes its 16-byte tag to `target`.
    @unsafe
    mutating func finish(tagInto target: UnsafeMutablePointer<UInt8>) throws(CryptoError) {
        var written: Int32 = 0
        // unsafe: GCM writes nothing at the end, so the place for the tag serves as the output pointer too.
        try unsafe OpenSSL.check(EVP_CipherFinal_ex(context, target, &written))
        try unsafe OpenSSL.check(
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(AESGCM.tagCount), target))
    }

    /// Ends a message that was opened; throws `authenticationFailed` unless `tag` is the right one.
    mutating func finish(checking tag: Span<UInt8>) throws(CryptoError) {
        // OpenSSL would take shorter tags, down to one byte.
        guard tag.count == AESGCM.tagCount else { throw CryptoError(.invalidLength) }
        let context = unsafe context
        // unsafe: the control call copies 16 bytes from the pointer; its type is not const for historical reasons.
        try unsafe tag.withUnsafeBufferPointer { tag throws(CryptoError) in
            let start = unsafe UnsafeMutableRawPointer(mutating: tag.baseAddress)
            try unsafe OpenSSL.check(
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(AESGCM.tagCount), start))
        }
        var written: Int32 = 0
        var nothing: UInt8 = 0
        try unsafe OpenSSL.check(EVP_CipherFinal_ex(context, &nothing, &written), or: .authenticationFailed)
    }
}
