extension [UInt8] {
    /// The bytes of a span as an array of their own.
    init(copying bytes: Span<UInt8>) {
        self.init(capacity: bytes.count) { output in
            for index in bytes.indices {
                output.append(bytes[index])
            }
        }
    }
}
