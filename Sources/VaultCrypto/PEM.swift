import CSodium

/// The text form of keys (RFC 7468), read strictly, written in lines of 64 characters.
///
/// Accepted beyond what is written: CR LF, lines of any length, other text before and after, no final newline
/// (08-pki §2.1). The base64 goes through libsodium, which works in constant time and refuses paddings and final bits
/// that are not canonical.
enum PEM {
    /// What a block holds.
    enum Label: String, CaseIterable {
        case publicKey = "PUBLIC KEY"
        case privateKey = "PRIVATE KEY"
        case encryptedPrivateKey = "ENCRYPTED PRIVATE KEY"
        /// ECPrivateKey of SEC 1, as `openssl ecparam -genkey` writes it.
        case ecPrivateKey = "EC PRIVATE KEY"
        /// RSAPrivateKey of PKCS#1, as older programs write it.
        case rsaPrivateKey = "RSA PRIVATE KEY"

        /// The blocks that a private key can be read from.
        static let privateKeys = allCases.filter { $0 != .publicKey }

        var beginLine: [UInt8] { Array("-----BEGIN \(rawValue)-----".utf8) }
        var endLine: [UInt8] { Array("-----END \(rawValue)-----".utf8) }
    }

    private static let anyMark = Array("-----".utf8)
    private static let anyBegin = Array("-----BEGIN ".utf8)
    private static let procType = Array("Proc-Type:".utf8)
    private static let anyPrivateMark = Array("PRIVATE KEY-----".utf8)
    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineCount = 64

    /// The content of the first private key block that is not encrypted; other blocks are passed over.
    static func privateKey(in text: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        let block = try privateKey([.privateKey], in: text)
        return block.content
    }

    /// The content of the first block with one of the labels, and its label; other blocks are passed over.
    ///
    /// A block that is encrypted in the way before PKCS#8, with header lines, is `unsupported`.
    static func privateKey(_ labels: [Label], in text: Span<UInt8>) throws(CryptoError) -> PrivateBlock {
        let (label, range) = try bodyRange(labels, in: text)
        guard !starts(with: procType, range, in: text) else { throw CryptoError(.unsupported) }
        let body = text.extracting(range)
        var count = 0
        let decoded = try SecretBytes(count: maximumDecodedCount(body)) { output throws(CryptoError) in
            count = try decodeBase64(body, into: &output)
        }
        return try decoded.withBytes { bytes throws(CryptoError) in
            PrivateBlock(label: label, content: try SecretBytes(copying: bytes.extracting(first: count)))
        }
    }

    /// A private key block as it was read.
    struct PrivateBlock: ~Copyable {
        let label: Label
        let content: SecretBytes
    }

    /// The content of the first block, which must be a public key.
    ///
    /// Text that holds a private key anywhere is refused: it is not to be passed around as a public one.
    static func publicKey(in text: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        guard !contains(anyPrivateMark, in: text) else { throw CryptoError(.invalidKey) }
        let body = text.extracting(try bodyRange([.publicKey], in: text).range)
        var decoded = [UInt8](repeating: 0, count: maximumDecodedCount(body))
        var output = decoded.mutableSpan
        let count = try decodeBase64(body, into: &output)
        decoded.removeLast(decoded.count - count)
        return decoded
    }

    /// A private key block as text, ended by a newline.
    static func privateKey(_ content: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        try SecretBytes(count: count(.privateKey, content)) { output in write(.privateKey, content, to: &output) }
    }

    /// A public key block as text, ended by a newline.
    static func publicKey(_ content: Span<UInt8>) -> [UInt8] {
        block(.publicKey, content)
    }

    /// A block whose content is no secret as text, ended by a newline.
    static func block(_ label: Label, _ content: Span<UInt8>) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: count(label, content))
        var output = text.mutableSpan
        write(label, content, to: &output)
        return text
    }

    private static func characterCount(_ content: Span<UInt8>) -> Int {
        (content.count + 2) / 3 * 4
    }

    /// The length of a block as it is written.
    private static func count(_ label: Label, _ content: Span<UInt8>) -> Int {
        let characters = characterCount(content)
        let breaks = (characters + lineCount - 1) / lineCount
        return label.beginLine.count + 1 + characters + breaks + label.endLine.count + 1
    }

    private static func write(_ label: Label, _ content: Span<UInt8>, to output: inout MutableSpan<UInt8>) {
        // The base64 is put at the end of the text, with the zero byte that libsodium adds, and from there in lines
        // to its place: no second copy of a private key is made. What is read always lies behind what is written.
        let characters = characterCount(content)
        let source = output.count - characters - 1
        // unsafe: there is room for the characters and the zero byte behind `source`.
        unsafe content.withUnsafeBufferPointer { bytes in
            unsafe output.withUnsafeMutableBytes { target in
                guard let start = unsafe target.baseAddress?.advanced(by: source) else { return }
                _ = unsafe sodium_bin2base64(
                    start.assumingMemoryBound(to: CChar.self), characters + 1, bytes.baseAddress, bytes.count,
                    sodium_base64_VARIANT_ORIGINAL)
            }
        }
        var position = 0
        func put(_ byte: UInt8, _ output: inout MutableSpan<UInt8>) {
            output[position] = byte
            position += 1
        }
        for byte in label.beginLine { put(byte, &output) }
        put(newline, &output)
        for index in 0..<characters {
            put(output[source + index], &output)
            if (index + 1) % lineCount == 0 || index + 1 == characters { put(newline, &output) }
        }
        for byte in label.endLine { put(byte, &output) }
        put(newline, &output)
    }

    /// Where the base64 of the first block with one of the labels lies; a public key must be the first block of all.
    private static func bodyRange(
        _ labels: [Label], in text: Span<UInt8>
    ) throws(CryptoError) -> (label: Label, range: Range<Int>) {
        let marks = labels.map { ($0, $0.beginLine, $0.endLine) }
        var found: (label: Label, endLine: [UInt8], bodyStart: Int)?
        var position = 0
        while position < text.count {
            let line = line(at: position, in: text)
            if let found {
                if starts(with: anyMark, line, in: text) {
                    guard equals(found.endLine, line, in: text) else { break }
                    return (found.label, found.bodyStart..<position)
                }
            } else if starts(with: anyBegin, line, in: text) {
                if let (label, _, endLine) = marks.first(where: { equals($0.1, line, in: text) }) {
                    found = (label, endLine, next(after: line, in: text))
                } else if labels.contains(.publicKey) {
                    break
                }
            }
            position = next(after: line, in: text)
        }
        throw CryptoError(.invalidKey)
    }

    private static func maximumDecodedCount(_ body: Span<UInt8>) -> Int {
        body.count / 4 * 3 + 3
    }

    /// Decodes lines of base64, each ended by a newline; gives the number of bytes, which is not 0.
    private static func decodeBase64(
        _ body: Span<UInt8>, into output: inout MutableSpan<UInt8>
    ) throws(CryptoError) -> Int {
        // libsodium looks characters up in the C string of those to skip, and so would skip zero bytes as well.
        for index in body.indices where body[index] == 0 {
            throw CryptoError(.invalidKey)
        }
        var count = 0
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
        return count
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
