internal import VaultCrypto
internal import VaultFormat

/// The outer form of every envelope: base64 of a JSON object whose binary members are base64 again (08-pki §9).
enum EnvelopeText {
    /// The object inside, parsed once; decryption and signature use the same value.
    /// - Throws: `refused` above the limit, `objectCorrupt`.
    static func object(_ bytes: [UInt8]) throws(PKIError) -> JSONValue {
        guard bytes.count <= SealedEnvelope.maximumEnvelopeCount else {
            throw PKIError(
                .refused,
                "the envelope is larger than \(SealedEnvelope.maximumEnvelopeCount >> 20) MiB, which is the limit")
        }
        guard let inner = Base64.decode(unwrapped(bytes).span) else {
            throw PKIError(.objectCorrupt, "the envelope is no base64 text")
        }
        // Below a member there are the recipients of a sealed message, each with two texts.
        let bounds = JSONReader.Bounds(
            depth: PKILimits.jsonDepth, values: 4 * PKILimits.recipients + PKILimits.jsonValues, takesRepeats: false)
        return try PKIDocument.object(inner, bounds: bounds, what: "the envelope")
    }

    /// The text without white space at its ends and without line breaks.
    private static func unwrapped(_ bytes: [UInt8]) -> [UInt8] {
        let range = UTF8Text.stripped(bytes.span)
        let text = bytes[range]
        guard text.contains(0x0A) || text.contains(0x0D) else {
            return range == bytes.indices ? bytes : Array(text)
        }
        return text.filter { $0 != 0x0A && $0 != 0x0D }
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

    /// The outer text of an object.
    static func text(_ inner: [UInt8]) throws(PKIError) -> [UInt8] {
        guard Base64.encodedCount(inner.count) <= SealedEnvelope.maximumEnvelopeCount else {
            throw SealedEnvelope.tooLarge()
        }
        return Base64.encode(inner.span)
    }
}

/// The object of an envelope under construction, spelled as the reference does: `{"v": 2, "w": "…"}`.
///
/// The large member goes straight from its bytes into the text, without a copy as a JSON value.
struct EnvelopeObject {
    private(set) var bytes: [UInt8] = Array("{".utf8)

    init(reserving count: Int) {
        bytes.reserveCapacity(count)
    }

    mutating func add(_ name: StaticString, number: Int) {
        begin(name)
        bytes += Array(String(number).utf8)
    }

    mutating func add(_ name: StaticString, base64 value: Span<UInt8>) {
        begin(name)
        bytes.append(UInt8(ascii: "\""))
        Base64.append(value, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    mutating func add(_ name: StaticString, base64 value: [UInt8]) {
        add(name, base64: value.span)
    }

    mutating func add(_ name: StaticString, _ value: JSONValue) {
        begin(name)
        JSONWriter.append(value, .python, to: &bytes)
    }

    consuming func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private mutating func begin(_ name: StaticString) {
        if bytes.count > 1 { bytes += Array(", ".utf8) }
        bytes.append(UInt8(ascii: "\""))
        bytes += Array(name.description.utf8)
        bytes += Array("\": ".utf8)
    }
}
