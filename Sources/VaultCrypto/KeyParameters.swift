import COpenSSL

/// Keys of OpenSSL made from their numbers, so that none of its readers decides what the bytes of a key mean.
enum KeyParameters {
    /// A parameter; the name must be one of OpenSSL's, and is kept as a pointer, so it cannot be a `String`.
    static func parameter(_ name: StaticString, _ type: Int32, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
        unsafe OSSL_PARAM(
            key: UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self), data_type: UInt32(type),
            data: UnsafeMutableRawPointer(mutating: bytes.baseAddress), data_size: bytes.count, return_size: 0)
    }

    /// A key for the caller to free; `invalidKey` where OpenSSL does not take the parts.
    ///
    /// * `kind`: OpenSSL's name of the algorithm.
    /// * `selection`: Which of the parts are there.
    static func makeKey(
        _ kind: String, _ selection: Int32, _ parts: [OSSL_PARAM]
    ) throws(CryptoError) -> OpaquePointer {
        // unsafe: OpenSSL copies what the parameters point to before the call returns, and writes to none of it.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_name(nil, kind, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_fromdata_init(context))
        var handle: OpaquePointer?
        var parameters = unsafe parts + [OSSL_PARAM()]
        let result = unsafe EVP_PKEY_fromdata(context, &handle, selection, &parameters)
        guard result == 1, let handle = unsafe handle else { throw OpenSSL.failure(.invalidKey) }
        return unsafe handle
    }
}
