internal import VaultCrypto
internal import VaultFormat

/// The text of an envelope under construction, spelled as the reference does: base64 of `{"v": 2, "w": "…"}`.
///
/// Everything goes piece by piece through both layers of base64, and with an output away from here.
struct EnvelopeObject {
    private var text: [UInt8] = []
    private var outer = Base64Stream()
    private var isEmpty = true
    private let output: PieceOutput?
    /// How many bytes the output has taken.
    private var takenCount = 0

    /// Bytes of text that the output is given at once.
    private static let outputCount = 1 << 18

    /// * `plaintextCount`: About how many bytes will be encrypted; room for them is kept.
    /// * `output`: Takes the text; without one it is what ``finish()`` gives.
    init(reserving plaintextCount: Int, output: PieceOutput?) {
        self.output = output
        text.reserveCapacity(
            output == nil ? Base64.encodedCount(Base64.encodedCount(plaintextCount) + 4096) : Self.outputCount * 3 / 2)
        put("{")
    }

    /// How many bytes the text has so far.
    var count: Int { takenCount + text.count }

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
        _ name: StaticString, encrypting message: Message, key: borrowing SecretBytes, iv: [UInt8],
        observe: (Span<UInt8>) throws(PKIError) -> Void
    ) throws(PKIError) {
        let sealer = try crypto("encrypting") { () throws(CryptoError) in
            try key.withBytes { key throws(CryptoError) in try AESGCM(key: key).makeSealer(iv: iv.span) }
        }
        begin(name)
        put("\"")
        var inner = Base64Stream()
        var (piece, characters): ([UInt8], [UInt8]) = ([], [])
        try message.forEachPiece { (plaintext) throws(PKIError) in
            do throws(CryptoError) {
                try sealer.update(plaintext, into: &piece)
            } catch {
                throw PKIError(.internalError, "encrypting failed", cause: error)
            }
            try observe(piece.span)
            characters.removeAll(keepingCapacity: true)
            inner.append(piece.span, to: &characters)
            put(characters.span)
            try flush()
        }
        let tag = try crypto("encrypting") { () throws(CryptoError) in try sealer.finish() }
        try observe(tag.span)
        characters.removeAll(keepingCapacity: true)
        inner.append(tag.span, to: &characters)
        inner.finish(to: &characters)
        put(characters.span)
        put("\"")
    }

    /// Ends the object and gives the text, as far as no output has taken it; to be called once.
    /// - Throws: `refused` above the limit.
    mutating func finish() throws(PKIError) -> [UInt8] {
        put("}")
        outer.finish(to: &text)
        guard count <= SealedEnvelope.maximumEnvelopeCount else { throw SealedEnvelope.tooLarge() }
        guard let output else { return text }
        takenCount += text.count
        try output.take(text)
        text = []
        return []
    }

    /// Gives the output what is there, when it is enough.
    private mutating func flush() throws(PKIError) {
        guard let output, text.count >= Self.outputCount else { return }
        takenCount += text.count
        try output.take(text)
        text = []
        text.reserveCapacity(Self.outputCount * 3 / 2)
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
