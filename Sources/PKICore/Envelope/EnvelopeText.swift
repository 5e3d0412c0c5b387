internal import VaultCrypto
internal import VaultFormat

/// An envelope as it was read: base64 of a JSON object whose binary members are base64 again (08-pki §9).
///
/// The object is parsed once; decryption and signature use the same value. The ciphertext, nearly all of it, stays where
/// it is and never becomes a JSON value.
struct EnvelopeText {
    /// The object; the text of a long ciphertext is replaced by another one.
    let value: JSONValue
    /// The text of the ciphertext; nil when "c" is absent or no text.
    let ciphertext: CiphertextText?

    /// From this many characters on a text stays where it is.
    private static let longCount = 4096

    /// Reads the outer text.
    /// - Throws: `refused` above the limit, `objectCorrupt`.
    init(_ bytes: [UInt8]) throws(PKIError) {
        guard bytes.count <= SealedEnvelope.maximumEnvelopeCount else {
            throw PKIError(
                .refused,
                "the envelope is larger than \(SealedEnvelope.maximumEnvelopeCount >> 20) MiB, which is the limit")
        }
        guard let inner = Self.inner(bytes) else {
            throw PKIError(.objectCorrupt, "the envelope is no base64 text")
        }
        if let range = Self.longText(inner) {
            // Nobody can have put it there, so only this text can stand for the long one.
            let name = try SealedEnvelope.randomBytes(16)
            let placeholder = Hex.encode(name.span)
            let short = Array(inner[..<range.lowerBound]) + placeholder + inner[range.upperBound...]
            let value = try Self.object(short)
            if let text = value["c"]?.text, text.utf8.elementsEqual(placeholder) {
                self.value = value
                ciphertext = CiphertextText(bytes: inner, range: range)
                return
            }
        }
        value = try Self.object(inner)
        ciphertext = value["c"]?.text.map { text in
            let bytes = Array(text.utf8)
            return CiphertextText(bytes: bytes, range: bytes.indices)
        }
    }

    private static func object(_ inner: [UInt8]) throws(PKIError) -> JSONValue {
        // Below a member there are the recipients of a sealed message, each with two texts.
        let bounds = JSONReader.Bounds(
            depth: PKILimits.jsonDepth, values: 4 * PKILimits.recipients + PKILimits.jsonValues, takesRepeats: false)
        return try PKIDocument.object(inner, bounds: bounds, what: "the envelope")
    }

    /// What the outer text spells, without white space at its ends and line breaks; nil when it is not base64.
    private static func inner(_ bytes: [UInt8]) -> [UInt8]? {
        let range = UTF8Text.stripped(bytes.span)
        if let inner = Base64.decode(bytes.span.extracting(range)) { return inner }
        let text = bytes[range].filter { $0 != 0x0A && $0 != 0x0D }
        return text.count < range.count ? Base64.decode(text.span) : nil
    }

    /// The content of the first text in JSON that is long and the value of a "c"; nil when there is none.
    private static func longText(_ inner: [UInt8]) -> Range<Int>? {
        let bytes = inner.span
        var index = 0
        while true {
            while index < bytes.count, bytes[index] != 0x22 { index += 1 }
            guard index < bytes.count else { return nil }
            let start = index + 1
            let (end, isPlain) = endOfText(bytes, from: start)
            guard end < bytes.count else { return nil }
            if isPlain, end - start >= longCount { return isValueOfC(bytes, start - 1) ? start..<end : nil }
            index = end + 1
        }
    }

    /// The place of the quote that ends a text, the length of the bytes when there is none; and whether nothing in the
    /// text is escaped.
    private static func endOfText(_ bytes: Span<UInt8>, from start: Int) -> (end: Int, isPlain: Bool) {
        let (quote, escape) = (UInt8(0x22), UInt8(0x5C))
        var (index, isPlain) = (start, true)
        while index < bytes.count {
            // Long texts have neither in them: a block at once, without a branch for each byte.
            while index + 64 <= bytes.count {
                var found: UInt8 = 0
                for offset in 0..<64 {
                    let byte = bytes[index &+ offset]
                    found |= (byte == quote ? 1 : 0) | (byte == escape ? 1 : 0)
                }
                if found != 0 { break }
                index += 64
            }
            guard index < bytes.count, bytes[index] != quote else { break }
            if bytes[index] == escape {
                isPlain = false
                index += 1
            }
            index += 1
        }
        return (min(index, bytes.count), isPlain)
    }

    /// Whether `"c":` stands before a place, with or without white space.
    private static func isValueOfC(_ bytes: Span<UInt8>, _ place: Int) -> Bool {
        var before = place
        func skipSpace() {
            while before > 0, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[before - 1]) { before -= 1 }
        }
        skipSpace()
        guard before > 0, bytes[before - 1] == UInt8(ascii: ":") else { return false }
        before -= 1
        skipSpace()
        return before >= 3 && bytes[before - 1] == 0x22 && bytes[before - 2] == UInt8(ascii: "c")
            && bytes[before - 3] == 0x22
    }

    /// The bytes of a member in strict base64; nil when it is absent, no text or not base64.
    static func bytes(_ value: JSONValue, _ name: StaticString) -> [UInt8]? {
        guard case .string(let text)? = value[name] else { return nil }
        return bytes(text)
    }

    static func bytes(_ text: String) -> [UInt8]? {
        var text = text
        text.makeContiguousUTF8()
        return Base64.decode(text.utf8.span)
    }
}

/// A ciphertext as base64 in a larger text, decoded piece by piece.
struct CiphertextText {
    private let bytes: [UInt8]
    private let range: Range<Int>
    /// Characters at once: whole groups, and little enough to stay in the processor's cache.
    private static let pieceCount = 1 << 16

    init(bytes: [UInt8], range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// The number of bytes that come out, if the text is base64.
    var count: Int {
        let padding = bytes[range].suffix(2).count { $0 == UInt8(ascii: "=") }
        return range.count / 4 * 3 - padding
    }

    /// Hands out all bytes in order, the first pieces before the last was looked at.
    /// - Throws: what `body` throws; `cannotOpen` when the text turns out not to be strict base64.
    func forEachPiece(_ body: (Span<UInt8>) throws(PKIError) -> Void) throws(PKIError) {
        var piece: [UInt8] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(start + Self.pieceCount, range.upperBound)
            // Padding ends the text, so it stands in the last piece or nowhere.
            guard Base64.decode(bytes.span.extracting(start..<end), into: &piece),
                end == range.upperBound || piece.count == (end - start) / 4 * 3
            else { throw SealedEnvelope.cannotOpen() }
            try body(piece.span)
            start = end
        }
    }
}
