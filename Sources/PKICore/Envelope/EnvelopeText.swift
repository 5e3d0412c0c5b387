internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// An envelope as it was read: base64 of a JSON object whose binary members are base64 again (08-pki §9).
///
/// The object is parsed once; decryption and signature use the same value. The ciphertext, nearly all of it, stays where
/// it is and never becomes a JSON value. Everything is decoded where it lies, so that the text of an envelope is the one
/// large thing in memory, and becomes the plaintext in the end.
package struct EnvelopeText: ~Copyable, Sendable {
    /// The object; the text of a long ciphertext is replaced by another one.
    let value: JSONValue
    /// The number of bytes in the ciphertext, if it is base64; nil when "c" is absent or no text.
    let ciphertextCount: Int?
    private let ciphertext: CiphertextText?

    /// From this many characters on a text stays where it is.
    private static let longCount = 4096

    /// Reads the outer text.
    /// - Throws: `refused` above the limit, `objectCorrupt`.
    package init(_ bytes: consuming [UInt8]) throws(PKIError) {
        guard bytes.count <= SealedEnvelope.maximumEnvelopeCount else {
            throw PKIError(
                .refused,
                "the envelope is larger than \(SealedEnvelope.maximumEnvelopeCount >> 20) MiB, which is the limit")
        }
        guard Self.decodeOuter(&bytes) else {
            throw PKIError(.objectCorrupt, "the envelope is no base64 text")
        }
        if let range = Self.longText(bytes.span) {
            // Nobody can have put it there, so only this text can stand for the long one.
            let name = try SealedEnvelope.randomBytes(16)
            let placeholder = Hex.encode(name.span)
            let short = Array(bytes[..<range.lowerBound]) + placeholder + bytes[range.upperBound...]
            let value = try Self.object(short)
            if let text = value["c"]?.text, text.utf8.elementsEqual(placeholder) {
                self.value = value
                let ciphertext = CiphertextText(bytes: bytes, range: range)
                ciphertextCount = ciphertext.count
                self.ciphertext = consume ciphertext
                return
            }
        }
        value = try Self.object(bytes)
        guard let text = value["c"]?.text else {
            ciphertextCount = nil
            ciphertext = nil
            return
        }
        let own = Array(text.utf8)
        let ciphertext = CiphertextText(bytes: own, range: own.indices)
        ciphertextCount = ciphertext.count
        self.ciphertext = consume ciphertext
    }

    /// The text of the ciphertext; nil when "c" is absent or no text.
    consuming func takeCiphertext() -> CiphertextText? { ciphertext }

    private static func object(_ inner: [UInt8]) throws(PKIError) -> JSONValue {
        // Below a member there are the recipients of a sealed message, each with two texts.
        let bounds = JSONReader.Bounds(
            depth: PKILimits.jsonDepth, values: 4 * PKILimits.recipients + PKILimits.jsonValues, takesRepeats: false)
        return try PKIDocument.object(inner, bounds: bounds, what: "the envelope")
    }

    /// Replaces the outer text by what it spells, white space at its ends and line breaks left out; false when it is not
    /// base64.
    private static func decodeOuter(_ bytes: inout [UInt8]) -> Bool {
        let text = UTF8Text.stripped(bytes.span)
        var (read, count) = Base64.decode(text, of: &bytes, to: 0)
        if read < text.count {
            let rest = text.lowerBound + read
            var end = rest
            for index in rest..<text.upperBound where bytes[index] != 0x0A && bytes[index] != 0x0D {
                bytes[end] = bytes[index]
                end += 1
            }
            let more = Base64.decode(rest..<end, of: &bytes, to: count)
            guard more.read == end - rest else { return false }
            count += more.written
        }
        bytes.removeLast(bytes.count - count)
        return true
    }

    /// The content of the first text in JSON that is long and the value of a "c"; nil when there is none.
    private static func longText(_ bytes: Span<UInt8>) -> Range<Int>? {
        var index = 0
        while let quote = bytes.firstPlace(of: Self.quote, in: index..<bytes.count) {
            let start = quote + 1
            let (end, isPlain) = endOfText(bytes, from: start)
            guard end < bytes.count else { return nil }
            if isPlain, end - start >= longCount { return isValueOfC(bytes, quote) ? start..<end : nil }
            index = end + 1
        }
        return nil
    }

    private static let quote = UInt8(ascii: "\"")
    private static let escape = UInt8(ascii: "\\")

    /// The place of the quote that ends a text, the length of the bytes when there is none; and whether nothing in the
    /// text is escaped.
    private static func endOfText(_ bytes: Span<UInt8>, from start: Int) -> (end: Int, isPlain: Bool) {
        let end = bytes.firstPlace(of: quote, in: start..<bytes.count) ?? bytes.count
        guard var index = bytes.firstPlace(of: escape, in: start..<end) else { return (end, true) }
        while index < bytes.count, bytes[index] != quote { index += bytes[index] == escape ? 2 : 1 }
        return (min(index, bytes.count), false)
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

/// A ciphertext as base64 in a larger text.
struct CiphertextText: ~Copyable, Sendable {
    private var bytes: [UInt8]
    private let range: Range<Int>
    /// Characters at once: whole groups, and little enough to stay in the processor's cache.
    private static let pieceCount = 1 << 16

    init(bytes: consuming [UInt8], range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// The number of bytes that come out, if the text is base64.
    var count: Int {
        let padding = bytes[range].suffix(2).count { $0 == UInt8(ascii: "=") }
        return range.count / 4 * 3 - padding
    }

    /// Decodes and decrypts where the text lies.
    ///
    /// * `observe`: Sees the bytes of the ciphertext and the tag; what it learns is of use only when this returns.
    /// - Throws: what `observe` throws; `cannotOpen` when the text is not strict base64, or does not end with its tag.
    consuming func decrypt(
        with opener: AESGCMOpener, observe: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) -> [UInt8] {
        do throws(PKIError) {
            try decryptInPlace(with: opener, observe: observe)
        } catch {
            // Nobody vouches for what came out so far.
            bytes.wipe()
            throw error
        }
        return bytes
    }

    private mutating func decryptInPlace(
        with opener: AESGCMOpener, observe: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) {
        let bodyCount = count - AESGCM.tagCount
        guard bodyCount >= 0 else { throw SealedEnvelope.cannotOpen() }
        var (start, place, tag): (Int, Int, [UInt8]) = (range.lowerBound, 0, [])
        while start < range.upperBound {
            let end = min(start + Self.pieceCount, range.upperBound)
            let (read, written) = Base64.decode(start..<end, of: &bytes, to: place)
            // Padding ends the text, so it stands in the last piece or nowhere.
            guard read == end - start, end == range.upperBound || written == read / 4 * 3 else {
                throw SealedEnvelope.cannotOpen()
            }
            try observe(bytes.span.extracting(place..<place + written))
            let count = min(written, bodyCount - place)
            try Self.decrypting { () throws(CryptoError) in
                var target = bytes.mutableSpan
                try opener.update(place..<place + count, of: &target)
            }
            tag += bytes[place + count..<place + written]
            place += count
            start = end
        }
        try Self.decrypting { () throws(CryptoError) in try opener.finish(tag: tag.span) }
        bytes.removeLast(bytes.count - bodyCount)
    }

    private static func decrypting(_ body: () throws(CryptoError) -> Void) throws(PKIError) {
        do throws(CryptoError) {
            try body()
        } catch {
            throw SealedEnvelope.cannotOpen()
        }
    }
}
