/// The content of a public key object (02-objects §9).
package enum KeyObject {
    /// The PEM of a public key.
    ///
    /// - Throws: `.malformed` when the plaintext is anything else, a private key of an old vault included.
    package static func decode(_ plaintext: Span<UInt8>) throws(FormatError) -> [UInt8] {
        guard plaintext.count <= Limits.keyPlaintext else { throw .limit("the key object is too large") }
        let record = try JSONReader.parse(plaintext)
        guard record["type"]?.text == "public", let pem = record["pem"]?.text, contains(pem, "PUBLIC KEY") else {
            throw .malformed("not a public key object")
        }
        return Array(pem.utf8)
    }

    /// The plaintext of the object that holds a public key.
    package static func encode(pem: [UInt8]) -> [UInt8] {
        JSONWriter.bytes(
            .record(["type": .string("public"), "pem": .string(String(decoding: pem, as: UTF8.self))]), .python)
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        var rest = text.utf8[...]
        while let start = rest.firstIndex(where: { $0 == part.utf8.first }) {
            if rest[start...].starts(with: part.utf8) { return true }
            rest = rest[rest.index(after: start)...]
        }
        return false
    }
}
