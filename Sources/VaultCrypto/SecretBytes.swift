import COpenSSL
import CSodium

/// Bytes that must not outlive their use: keys, passphrases, private halves.
///
/// The memory comes from libsodium: locked where the system allows it, left out of core dumps, between pages that
/// nothing may touch, and zeroed when the value goes out of scope. The type cannot be copied by accident, has no
/// description and is not `Codable`; its bytes are reachable only inside ``withBytes(_:)``. An allocation costs several
/// system calls, so plaintext of objects does not belong here.
@safe
public struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory is written before the initialiser returns and only read afterwards.
    private let memory: UnsafeMutableRawPointer
    /// The number of bytes.
    public let count: Int

    /// True once libsodium is ready; its allocator needs that.
    private static let isReady: Bool = sodium_init() >= 0

    /// Copies bytes that lie somewhere else; the original is the caller's to clear.
    package init(copying bytes: Span<UInt8>) throws(CryptoError) {
        try self.init(count: bytes.count) { target throws(CryptoError) in
            for index in bytes.indices {
                target[index] = bytes[index]
            }
        }
    }

    /// Makes `count` bytes, zero at first, and lets `body` fill them in place.
    package init(
        count: Int, initializingWith body: (inout MutableSpan<UInt8>) throws(CryptoError) -> Void
    ) throws(CryptoError) {
        guard count >= 0 else { throw CryptoError(.invalidLength) }
        guard Self.isReady, let memory = unsafe sodium_malloc(count) else { throw CryptoError(.outOfMemory) }
        // unsafe: the bytes are `count` long and ours alone until this initialiser returns.
        unsafe sodium_memzero(memory, count)
        let bytes = unsafe memory.bindMemory(to: UInt8.self, capacity: count)
        do throws(CryptoError) {
            var span = unsafe UnsafeMutableBufferPointer(start: bytes, count: count).mutableSpan
            try body(&span)
        } catch {
            unsafe sodium_free(memory)
            throw error
        }
        unsafe self.memory = memory
        self.count = count
    }

    deinit {
        unsafe sodium_free(memory)  // unsafe: the pointer came from sodium_malloc; zeroes before it unmaps
    }

    /// Lets `body` read the bytes; the span cannot leave it.
    public borrowing func withBytes<R: ~Copyable, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        // unsafe: the memory lives as long as `self`, which is borrowed for the whole call.
        let bytes = unsafe memory.assumingMemoryBound(to: UInt8.self)
        return try body(unsafe UnsafeBufferPointer(start: bytes, count: count).span)
    }

    /// A second value with the same bytes.
    package borrowing func copy() throws(CryptoError) -> SecretBytes {
        try withBytes { bytes throws(CryptoError) in try SecretBytes(copying: bytes) }
    }

    /// True if both hold the same bytes; the time depends on the lengths only.
    package borrowing func isEqual(to other: borrowing SecretBytes) -> Bool {
        withBytes { left in other.withBytes { right in ConstantTime.equal(left, right) } }
    }
}

extension SecretBytes {
    /// Random bytes of the kind that keys are made of, drawn straight into this memory.
    package init(random count: Int) throws(CryptoError) {
        try OpenSSL.start()
        try self.init(count: count) { output throws(CryptoError) in
            // unsafe: RAND_priv_bytes fills exactly `count` bytes or fails.
            try unsafe output.withUnsafeMutableBufferPointer { buffer throws(CryptoError) in
                guard buffer.count <= Int(Int32.max) else { throw CryptoError(.invalidLength) }
                try unsafe OpenSSL.check(RAND_priv_bytes(buffer.baseAddress, Int32(buffer.count)))
            }
        }
    }
}
