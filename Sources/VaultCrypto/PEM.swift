import CSodium

/// The text form of keys (RFC 7468), read strictly, written in lines of 64 characters.
///
/// Accepted beyond what is written: CR LF, lines of any length, other text before and after, no final newline
/// (08-pki §2.1). The base64 goes through libsodium, which works in constant time and refuses paddings and final bits
/// that are not canonical.
enum PEM {
    /// What a block holds.
    enum Label: String {
        case publicKey = "PUBLIC KEY"
        case privateKey = "PRIVATE KEY"

        fileprivate var beginLine: [UInt8] { Array("-----BEGIN \(rawValue)-----".utf8) }
        fileprivate var endLine: [UInt8] { Array("-----END \(rawValue)-----".utf8) }
    }

    private static let anyMark = Array("-----".utf8)
    private static let anyBegin = Array("-----BEGIN ".utf8)
    private static let anyPrivateMark = Array("PRIVATE KEY-----".utf8)
    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineCount = 64

    /// The content of the first block with the label.
    ///
    /// A public key must be the first block of all, and text that holds a private key anywhere is refused as one: it is
    /// not to be passed around.
    static func decode(_ label: Label, from text: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        guard label == .privateKey || !contains(anyPrivateMark, in: text) else { throw CryptoError(.invalidKey) }
        let (beginLine, endLine) = (label.beginLine, label.endLine)
        var bodyStart: Int?
        var position = 0
        while position < text.count {
            let line = line(at: position, in: text)
            if let bodyStart {
                if starts(with: anyMark, line, in: text) {
                    guard equals(endLine, line, in: text) else { break }
                    return try decodeBase64(text.extracting(bodyStart..<position))
                }
            } else if equals(beginLine, line, in: text) {
                bodyStart = next(after: line, in: text)
            } else if label == .publicKey, starts(with: anyBegin, line, in: text) {
                break
            }
            position = next(after: line, in: text)
        }
        throw CryptoError(.invalidKey)
    }

    /// A block as text, ended by a newline.
    static func encode(_ label: Label, _ content: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        let characters = (content.count + 2) / 3 * 4
        let base64 = try SecretBytes(count: characters + 1) { output throws(CryptoError) in
            // unsafe: libsodium writes the characters and a final zero byte, for which there is room.
            unsafe content.withUnsafeBufferPointer { bytes in
                unsafe output.withUnsafeMutableBytes { target in
                    guard let start = unsafe target.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
                    _ = unsafe sodium_bin2base64(
                        start, target.count, bytes.baseAddress, bytes.count, sodium_base64_VARIANT_ORIGINAL)
                }
            }
        }
        let (beginLine, endLine) = (label.beginLine, label.endLine)
        let breaks = (characters + lineCount - 1) / lineCount
        let total = beginLine.count + 1 + characters + breaks + endLine.count + 1
        return try SecretBytes(count: total) { output throws(CryptoError) in
            var writer = 0
            func put(_ byte: UInt8, _ output: inout MutableSpan<UInt8>) {
                output[writer] = byte
                writer += 1
            }
            for byte in beginLine { put(byte, &output) }
            put(newline, &output)
            base64.withBytes { base64 in
                for index in 0..<characters {
                    put(base64[index], &output)
                    if (index + 1) % lineCount == 0 || index + 1 == characters { put(newline, &output) }
                }
            }
            for byte in endLine { put(byte, &output) }
            put(newline, &output)
        }
    }

    /// Decodes lines of base64, each ended by a newline.
    private static func decodeBase64(_ body: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        // libsodium looks characters up in the C string of those to skip, and so would skip zero bytes as well.
        for index in body.indices where body[index] == 0 {
            throw CryptoError(.invalidKey)
        }
        var count = 0
        let decoded = try SecretBytes(count: body.count / 4 * 3 + 3) { output throws(CryptoError) in
            // unsafe: libsodium writes no more than the length given; without an end pointer all input must be used.
            let result = unsafe body.withUnsafeBytes { text in
                unsafe output.withUnsafeMutableBufferPointer { target in
                    guard let source = unsafe text.baseAddress?.assumingMemoryBound(to: CChar.self),
                        let start = target.baseAddress
                    else { return Int32(-1) }
                    return unsafe sodium_base642bin(
                        start, target.count, source, text.count, "\r\n", &count, nil, sodium_base64_VARIANT_ORIGINAL)
                }
            }
            guard result == 0, count > 0 else { throw CryptoError(.invalidKey) }
        }
        return try decoded.withBytes { bytes throws(CryptoError) in
            try SecretBytes(copying: bytes.extracting(first: count))
        }
    }

    /// The range of the line that begins at `start`, without its end.
    private static func line(at start: Int, in text: Span<UInt8>) -> Range<Int> {
        var end = start
        while end < text.count, text[end] != newline { end += 1 }
        if end < text.count, end > start, text[end - 1] == carriageReturn { end -= 1 }
        return start..<end
    }

    /// Where the line after this one begins.
    private static func next(after line: Range<Int>, in text: Span<UInt8>) -> Int {
        var end = line.upperBound
        while end < text.count, text[end] != newline { end += 1 }
        return min(end + 1, text.count)
    }

    private static func starts(with mark: [UInt8], _ range: Range<Int>, in text: Span<UInt8>) -> Bool {
        guard range.count >= mark.count else { return false }
        return mark.indices.allSatisfy { text[range.lowerBound + $0] == mark[$0] }
    }

    private static func equals(_ mark: [UInt8], _ range: Range<Int>, in text: Span<UInt8>) -> Bool {
        range.count == mark.count && starts(with: mark, range, in: text)
    }

    private static func contains(_ mark: [UInt8], in text: Span<UInt8>) -> Bool {
        guard text.count >= mark.count else { return false }
        for start in 0...(text.count - mark.count)
        where starts(with: mark, start..<text.count, in: text) {
            return true
        }
        return false
    }
}
