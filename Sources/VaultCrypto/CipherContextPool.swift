import COpenSSL

/// OpenSSL cipher contexts that hold one AES-256-GCM key, ready for a new IV.
///
/// Setting up a context costs more than sealing a small object, so contexts are lent out and taken back. The pool
/// makes a new one when none is free and keeps a few; that lets any number of threads work under one key.
@safe
final class CipherContextPool: @unchecked Sendable {
    // Sendable: `free` is read and written under `lock` only; `key` never changes.
    private let lock: UnsafeMutableRawPointer
    private var free: [OpaquePointer] = unsafe []
    private let key: SecretBytes

    /// How many idle contexts are kept; more than the workers of a process are never of use.
    private static let capacity = 8

    /// The cipher, looked up once per process; nil when this OpenSSL has none.
    nonisolated(unsafe) private static let cipher: OpaquePointer? = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

    /// Takes a key of exactly 32 bytes.
    init(key: Span<UInt8>) throws(CryptoError) {
        guard key.count == AESGCM.keyCount else { throw CryptoError(.invalidKey) }
        try OpenSSL.start()
        self.key = try SecretBytes(copying: key)
        unsafe lock = try OpenSSL.check(CRYPTO_THREAD_lock_new(), or: .outOfMemory)
        // A key that does not work is reported here and not at the first message.
        try unsafe put(makeContext())
    }

    deinit {
        // unsafe: whoever has borrowed a context holds the pool too, so all of them are back. Freeing clears the key.
        while let context = unsafe free.popLast() {
            unsafe EVP_CIPHER_CTX_free(context)
        }
        unsafe CRYPTO_THREAD_lock_free(lock)
    }

    /// Lends a context; ``put(_:)`` takes it back.
    func take() throws(CryptoError) -> OpaquePointer {
        unsafe CRYPTO_THREAD_write_lock(lock)
        let context = unsafe free.popLast()
        unsafe CRYPTO_THREAD_unlock(lock)
        if let context = unsafe context { return unsafe context }
        return try unsafe makeContext()
    }

    /// Takes a context back, in whatever state: the next user starts with a new IV, which resets it.
    func put(_ context: OpaquePointer) {
        unsafe CRYPTO_THREAD_write_lock(lock)
        let keep = unsafe free.count < Self.capacity
        if keep { unsafe free.append(context) }
        unsafe CRYPTO_THREAD_unlock(lock)
        if !keep { unsafe EVP_CIPHER_CTX_free(context) }
    }

    private func makeContext() throws(CryptoError) -> OpaquePointer {
        let cipher = try unsafe OpenSSL.check(Self.cipher)
        let context = try unsafe OpenSSL.check(EVP_CIPHER_CTX_new(), or: .outOfMemory)
        let result = key.withBytes { key in
            unsafe key.withUnsafeBufferPointer { unsafe EVP_EncryptInit_ex2(context, cipher, $0.baseAddress, nil, nil) }
        }
        guard result == 1 else {
            unsafe EVP_CIPHER_CTX_free(context)
            throw OpenSSL.failure()
        }
        return unsafe context
    }
}
