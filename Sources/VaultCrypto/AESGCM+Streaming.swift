extension AESGCM {
    /// Starts a message that is sealed piece by piece.
    package func makeSealer(iv: Span<UInt8>) throws(CryptoError) -> AESGCMSealer {
        AESGCMSealer(try GCMMessage(.seal, pool: pool, iv: iv))
    }

    /// Starts a message that is opened piece by piece.
    package func makeOpener(iv: Span<UInt8>) throws(CryptoError) -> AESGCMOpener {
        AESGCMOpener(try GCMMessage(.open, pool: pool, iv: iv))
    }
}

/// A message being sealed piece by piece, up to 2^36 - 32 bytes.
///
/// A call that throws ends the message: what was given out before is then of no use.
package final class AESGCMSealer {
    private var stream: GCMStream

    init(_ message: consuming GCMMessage) {
        stream = GCMStream(message)
    }

    /// Seals the next bytes; `out` is replaced by as many bytes of ciphertext and keeps its capacity.
    package func update(_ plaintext: Span<UInt8>, into out: inout [UInt8]) throws(CryptoError) {
        try stream.update(plaintext, into: &out)
    }

    /// Ends the message and gives its 16-byte tag.
    package func finish() throws(CryptoError) -> [UInt8] {
        var message = try stream.end()
        return try [UInt8](capacity: AESGCM.tagCount) { output throws(CryptoError) in
            // unsafe: exactly 16 bytes are reserved and written.
            try unsafe output.withUnsafeMutableBufferPointer { buffer, initialized throws(CryptoError) in
                guard let start = buffer.baseAddress else { throw CryptoError(.outOfMemory) }
                try unsafe message.finish(tagInto: start)
                initialized = AESGCM.tagCount
            }
        }
    }
}

/// A message being opened piece by piece.
///
/// What ``update(_:into:)`` gives out is not verified: nobody may see or use it before ``finish(tag:)`` has returned,
/// and if that throws it must be thrown away.
package final class AESGCMOpener {
    private var stream: GCMStream

    init(_ message: consuming GCMMessage) {
        stream = GCMStream(message)
    }

    /// Opens the next bytes; `out` is replaced by as many bytes of unverified plaintext and keeps its capacity.
    package func update(_ ciphertext: Span<UInt8>, into out: inout [UInt8]) throws(CryptoError) {
        try stream.update(ciphertext, into: &out)
    }

    /// Opens the next bytes where they lie; what they become is not verified.
    package func update(_ range: Range<Int>, of bytes: inout MutableSpan<UInt8>) throws(CryptoError) {
        try stream.update(range, of: &bytes)
    }

    /// Ends the message; throws `authenticationFailed` unless the 16-byte tag is the right one.
    package func finish(tag: Span<UInt8>) throws(CryptoError) {
        var message = try stream.end()
        try message.finish(checking: tag)
    }
}

/// A message that may have ended: after the end or a failure every further call is refused.
private struct GCMStream: ~Copyable {
    private var message: GCMMessage?

    init(_ message: consuming GCMMessage) {
        self.message = consume message
    }

    /// Sends bytes through the cipher; `out` holds the result and nothing else.
    mutating func update(_ bytes: Span<UInt8>, into out: inout [UInt8]) throws(CryptoError) {
        var message = try end()
        // Only a first or a longer piece costs a fill; pieces of one length reuse the bytes that are there.
        if out.count > bytes.count {
            out.removeLast(out.count - bytes.count)
        } else if out.count < bytes.count {
            out.append(contentsOf: repeatElement(0, count: bytes.count - out.count))
        }
        // unsafe: the array now has exactly the length of the input.
        try unsafe out.withUnsafeMutableBufferPointer { target throws(CryptoError) in
            guard let start = target.baseAddress else { return }
            try unsafe message.update(bytes, into: start)
        }
        self.message = consume message
    }

    /// Sends bytes through the cipher where they lie.
    mutating func update(_ range: Range<Int>, of bytes: inout MutableSpan<UInt8>) throws(CryptoError) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { throw CryptoError(.invalidLength) }
        var message = try end()
        // unsafe: the cipher takes input and output at one place; the memory is the span's for the length of the call.
        try unsafe bytes.withUnsafeMutableBufferPointer { buffer throws(CryptoError) in
            guard let start = unsafe buffer.baseAddress?.advanced(by: range.lowerBound) else { return }
            let part = unsafe UnsafeBufferPointer(start: start, count: range.count)
            try unsafe message.update(Span(_unsafeElements: part), into: start)
        }
        self.message = consume message
    }

    /// Takes the message out, so that it is over unless it is put back.
    mutating func end() throws(CryptoError) -> GCMMessage {
        guard let message = message.take() else { throw CryptoError(.invalidParameter) }
        return message
    }
}
