internal import VaultFormat

/// Base64 of bytes that come in pieces.
struct Base64Stream {
    /// What is left of a group: up to two bytes.
    private var rest: [UInt8] = []

    /// Appends the characters of all whole groups.
    mutating func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        var start = 0
        if !rest.isEmpty {
            while rest.count < 3, start < bytes.count {
                rest.append(bytes[start])
                start += 1
            }
            guard rest.count == 3 else { return }
            Base64.append(rest.span, to: &output)
            rest.removeAll(keepingCapacity: true)
        }
        let end = bytes.count - (bytes.count - start) % 3
        Base64.append(bytes.extracting(start..<end), to: &output)
        for index in end..<bytes.count { rest.append(bytes[index]) }
    }

    /// Appends the characters of the last group, padded.
    mutating func finish(to output: inout [UInt8]) {
        Base64.append(rest.span, to: &output)
        rest.removeAll(keepingCapacity: true)
    }
}
