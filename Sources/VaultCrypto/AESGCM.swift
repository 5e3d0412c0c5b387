import COpenSSL

/// AES-256-GCM with 12-byte IVs and 16-byte tags under one key; no other sizes are taken.
///
/// The caller chooses the IV and must never use one twice for different messages under one key. One value may be used
/// by any number of threads.
package final class AESGCM: @unchecked Sendable {
    // Sendable: the only state is the pool, which guards itself.

    /// The length of a key in bytes.
    package static let keyCount = 32
    /// The length of an IV in bytes.
    package static let ivCount = 12
    /// The length of a tag in bytes.
    package static let tagCount = 16

    let pool: CipherContextPool

    /// Takes a key of exactly 32 bytes; another length is `invalidKey`.
    package init(key: Span<UInt8>) throws(CryptoError) {
        pool = try CipherContextPool(key: key)
    }

    /// Seals a message: `prefix` zero bytes for the caller's use, then IV, ciphertext and tag, in one allocation.
    package func seal(
        _ plaintext: Span<UInt8>, iv: Span<UInt8>, aad: Span<UInt8>? = nil, prefix: Int = 0
    ) throws(CryptoError) -> [UInt8] {
        guard prefix >= 0 else { throw CryptoError(.invalidParameter) }
        var message = try GCMMessage(.seal, pool: pool, iv: iv)
        if let aad { try message.authenticate(aad) }
        let count = prefix + Self.ivCount + plaintext.count + Self.tagCount
        return try [UInt8](capacity: count) { output throws(CryptoError) in
            output.append(repeating: 0, count: prefix)
            for index in iv.indices {
                output.append(iv[index])
            }
            // unsafe: `count` bytes are reserved, and all of them are written before they count as initialised.
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                guard let start = buffer.baseAddress else { throw CryptoError(.outOfMemory) }
                let body = unsafe start + prefix + Self.ivCount
                try unsafe message.update(plaintext, into: body)
                try unsafe message.finish(tagInto: body + plaintext.count)
                initialized = count
            }
        }
    }

    /// Opens IV, ciphertext and tag; a wrong tag is `authenticationFailed` and gives nothing away.
    package func open(_ sealed: Span<UInt8>, aad: Span<UInt8>? = nil) throws(CryptoError) -> [UInt8] {
        let count = sealed.count - Self.ivCount - Self.tagCount
        guard count >= 0 else { throw CryptoError(.invalidLength) }
        var message = try GCMMessage(.open, pool: pool, iv: sealed.extracting(first: Self.ivCount))
        if let aad { try message.authenticate(aad) }
        let ciphertext = sealed.extracting(Self.ivCount..<Self.ivCount + count)
        let tag = sealed.extracting(last: Self.tagCount)
        guard count > 0 else {
            try message.finish(checking: tag)
            return []
        }
        return try [UInt8](capacity: count) { output throws(CryptoError) in
            // unsafe: `count` bytes are reserved and written; they are cleared again unless the tag is right.
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                guard let start = buffer.baseAddress else { throw CryptoError(.outOfMemory) }
                do throws(CryptoError) {
                    try unsafe message.update(ciphertext, into: start)
                    try message.finish(checking: tag)
                } catch {
                    unsafe OPENSSL_cleanse(start, count)
                    throw error
                }
                initialized = count
            }
        }
    }
}
