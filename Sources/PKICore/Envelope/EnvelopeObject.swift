internal import VaultCrypto
internal import VaultFormat

/// The text of an envelope under construction, spelled as the reference does: base64 of `{"v": 2, "w": "…"}`.
///
/// Everything goes piece by piece through both layers of base64, so that a large message is held twice: as it was
/// given, and as the text that comes out.
struct EnvelopeObject {
    private var text: [UInt8] = []
    private var outer = Base64Stream()
    private var isEmpty = true

    /// Bytes of plaintext at once: whole groups of both layers of base64, and few enough for the processor's cache.
    private static let pieceCount = 9 << 12

    /// * `count`: About how many bytes the object will have.
    init(reserving count: Int) {
        text.reserveCapacity(Base64.encodedCount(count))
        put("{")
    }

    mutating func add(_ name: StaticString, number: Int) {
        begin(name)
        put(Array(String(number).utf8).span)
    }

    mutating func add(_ name: StaticString, base64 value: [UInt8]) {
        add(name, .string(Base64.text(value.span)))
    }

    mutating func add(_ name: StaticString, _ value: JSONValue) {
        begin(name)
        let bytes = JSONWriter.bytes(value, .python)
        put(bytes.span)
    }

    /// Encrypts a message and adds ciphertext and tag as a member.
    ///
    /// * `observe`: Sees the bytes of the member, before base64.
    mutating func add(
        _ name: StaticString, encrypting plaintext: [UInt8], key: borrowing SecretBytes, iv: [UInt8],
        observe: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) {
        let sealer = try crypto("encrypting") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in try AESGCM(key: key).makeSealer(iv: iv.span) }
        }
        begin(name)
        put("\"")
        var inner = Base64Stream()
        var (piece, characters): ([UInt8], [UInt8]) = ([], [])
        var start = 0
        while start < plaintext.count {
            let end = min(start + Self.pieceCount, plaintext.count)
            do throws(CryptoError) {
                try sealer.update(plaintext.span.extracting(start..<end), into: &piece)
            } catch {
                throw PKIError(.internalError, "encrypting failed", cause: error)
            }
            try observe(piece.span)
            characters.removeAll(keepingCapacity: true)
            inner.append(piece.span, to: &characters)
            put(characters.span)
            start = end
        }
        let tag = try crypto("encrypting") { () throws(CryptoError) in try sealer.finish() }
        try observe(tag.span)
        characters.removeAll(keepingCapacity: true)
        inner.append(tag.span, to: &characters)
        inner.finish(to: &characters)
        put(characters.span)
        put("\"")
    }

    /// Ends the object and gives the whole text; to be called once.
    /// - Throws: `refused` above the limit.
    mutating func finish() throws(PKIError) -> [UInt8] {
        put("}")
        outer.finish(to: &text)
        guard text.count <= SealedEnvelope.maximumEnvelopeCount else { throw SealedEnvelope.tooLarge() }
        return text
    }

    private mutating func begin(_ name: StaticString) {
        if !isEmpty { put(", ") }
        isEmpty = false
        put("\"")
        put(name)
        put("\": ")
    }

    private mutating func put(_ bytes: Span<UInt8>) {
        outer.append(bytes, to: &text)
    }

    private mutating func put(_ literal: StaticString) {
        let bytes = Array(literal.description.utf8)
        put(bytes.span)
    }
}

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
