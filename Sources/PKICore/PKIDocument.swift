internal import VaultFormat

/// The JSON of small files: one object, no member twice, bounded.
enum PKIDocument {
    /// The object that the bytes spell.
    ///
    /// * `what`: Names the document, as in "the bundle".
    /// - Throws: `objectCorrupt`.
    static func object(_ bytes: [UInt8], limit: Int, what: String) throws(PKIError) -> JSONValue {
        guard bytes.count <= limit else {
            throw PKIError(.objectCorrupt, "\(what) is larger than \(limit) bytes")
        }
        let bounds = JSONReader.Bounds(
            depth: PKILimits.jsonDepth, values: PKILimits.jsonValues, takesRepeats: false)
        return try object(bytes, bounds: bounds, what: what)
    }

    static func object(_ bytes: [UInt8], bounds: JSONReader.Bounds, what: String) throws(PKIError) -> JSONValue {
        do throws(FormatError) {
            let value = try JSONReader.parse(bytes.span, bounds: bounds)
            guard value.members != nil else { throw FormatError.malformed("no JSON object") }
            return value
        } catch {
            throw PKIError(.objectCorrupt, "\(what) is damaged: \(error.detail)", cause: error)
        }
    }

    /// The text of a member that may be absent or null; nil for both.
    /// - Throws: `objectCorrupt` when it is anything but a string.
    static func optionalText(_ value: JSONValue, _ name: StaticString, what: String) throws(PKIError) -> String? {
        guard let member = value[name], !member.isNull else { return nil }
        guard let text = member.text else {
            throw PKIError(.objectCorrupt, "\(what) is damaged: \"\(name)\" is no text")
        }
        return text
    }

    /// The text of a member that has to be there.
    static func text(_ value: JSONValue, _ name: StaticString, what: String) throws(PKIError) -> String {
        guard let text = value[name]?.text else {
            throw PKIError(.objectCorrupt, "\(what) is damaged: \"\(name)\" is missing or no text")
        }
        return text
    }
}
