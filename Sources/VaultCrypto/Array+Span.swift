import COpenSSL

extension [UInt8] {
    /// The bytes of a span as an array of their own, copied in one go.
    package init(copying bytes: Span<UInt8>) {
        // unsafe: the span's memory is lent for one call.
        self = unsafe bytes.withUnsafeBytes { buffer in unsafe [UInt8](buffer) }
    }
}

extension [UInt8] {
    /// Appends the bytes of a span, copied in one go.
    package mutating func append(copying bytes: Span<UInt8>) {
        // unsafe: the span's memory is lent for one call.
        unsafe bytes.withUnsafeBytes { buffer in unsafe append(contentsOf: buffer) }
    }
}

extension [UInt8] {
    /// Clears the bytes where they lie, for what had to pass through ordinary memory; nothing else may share them.
    package mutating func wipe() {
        // unsafe: the memory is the array's own for the length of the call.
        unsafe withUnsafeMutableBytes { buffer in unsafe OPENSSL_cleanse(buffer.baseAddress, buffer.count) }
    }
}
