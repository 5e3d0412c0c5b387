import COpenSSL

extension RSAPrivateKey {
    /// How far the making of a key has come.
    package enum GenerationStep: Sendable {
        /// Another candidate for a prime was drawn or tested.
        case candidate
        /// A prime was found; a key needs two.
        case prime
    }

    /// Makes a new random key with exponent 65537 and two primes: seconds of work at 4096 bits.
    ///
    /// * `bits`: The length of the modulus.
    /// * `observe`: Called now and then on this thread; false ends the work with `cancelled`.
    package static func generate(
        bits: Int, observe: (GenerationStep) -> Bool = { _ in true }
    ) throws(CryptoError) -> RSAPrivateKey {
        guard RSAEncoding.modulusBits.contains(bits) else { throw CryptoError(.invalidParameter) }
        try OpenSSL.start()
        // unsafe: context, key and encoding are freed in this scope, the encoding cleared first.
        let context = try unsafe OpenSSL.check(EVP_PKEY_CTX_new_from_name(nil, "RSA", nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.check(EVP_PKEY_keygen_init(context))
        try unsafe OpenSSL.check(EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits)))
        var made: OpaquePointer?
        defer { unsafe EVP_PKEY_free(made) }
        var wasStopped = false
        let result = withoutActuallyEscaping(observe) { observe in
            let watch = GenerationWatch(observe)
            // The context keeps the pointer no longer than the call below; the object lives through it.
            return withExtendedLifetime(watch) {
                unsafe EVP_PKEY_CTX_set_app_data(context, Unmanaged.passUnretained(watch).toOpaque())
                unsafe EVP_PKEY_CTX_set_cb(context) { context in
                    guard let data = unsafe EVP_PKEY_CTX_get_app_data(context) else { return 0 }
                    let watch = unsafe Unmanaged<GenerationWatch>.fromOpaque(data).takeUnretainedValue()
                    return unsafe watch.goesOn(at: EVP_PKEY_CTX_get_keygen_info(context, 0)) ? 1 : 0
                }
                let result = unsafe EVP_PKEY_generate(context, &made)
                wasStopped = watch.wasStopped
                watch.forget()
                return result
            }
        }
        if wasStopped {
            ERR_clear_error()
            throw CryptoError(.cancelled)
        }
        try OpenSSL.check(result)

        var encoding: UnsafeMutablePointer<UInt8>?
        let count = Int(unsafe i2d_PrivateKey(made, &encoding))
        guard count > 0, let start = unsafe encoding else { throw OpenSSL.failure() }
        defer { unsafe CRYPTO_clear_free(encoding, count, nil, 0) }
        let pkcs8 = try RSAEncoding.pkcs8(
            rsaPrivateKey: unsafe UnsafeBufferPointer(start: start, count: count).span)
        return try RSAPrivateKey(owning: pkcs8, check: .arithmetic)
    }
}

/// What OpenSSL's callback talks to while it looks for primes.
private final class GenerationWatch {
    private var observe: ((RSAPrivateKey.GenerationStep) -> Bool)?
    private(set) var wasStopped = false

    init(_ observe: @escaping (RSAPrivateKey.GenerationStep) -> Bool) {
        self.observe = observe
    }

    /// Passes an event on; 3 is OpenSSL's number for a prime that was found.
    func goesOn(at event: Int32) -> Bool {
        // OpenSSL may ask once more while it gives up.
        guard !wasStopped, let observe, observe(event == 3 ? .prime : .candidate) else {
            wasStopped = true
            return false
        }
        return true
    }

    /// Lets the closure go, which must not outlive the call it was given to.
    func forget() { observe = nil }
}
